"""Models that fail at the format write nothing but valid turns under the constraint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from matching import matches

from reactext.backends.embedded import EmbeddedModel
from reactext.completion import Completion, GrammarDialect, Piece
from reactext.constrain import check, turn_grammar
from reactext.protocol import Protocol
from reactext.reader import parse
from reactext.tools import Toolbox, tool

pytestmark = pytest.mark.real_model


@tool
def get_weather(city: str, days: int = 1, unit: Literal["C", "F"] = "C") -> str:
    """Weather forecast for a city."""
    return ""


@tool
def calculator(expression: str) -> str:
    """Calculate."""
    return ""


@tool
def order(items: list[str], note: str | None = None) -> str:
    """Order some items."""
    return ""


BOX = Toolbox([get_weather, calculator, order])
PROMPT = """Answer the question. Tools: get_weather(city, days, unit), calculator(expression), \
order(items, note)

Write:
Thought: what you need to know next
Action: tool(name="value")
or:
Thought: I know the answer.
Final Answer: the answer

Question: {}
Thought:"""
QUESTIONS = [
    "What is the weather in Oslo and in Lima?",
    "What is 17 * 23?",
    "Order three apples and two pears, ripe ones.",
    "北京今天天气怎么样？",
    "Hello!",
    "",
]


@pytest.fixture(scope="module", params=["smollm2-135m", "qwen2.5-coder-0.5b"])
def model(request: pytest.FixtureRequest) -> Iterator[EmbeddedModel]:
    with EmbeddedModel(request.param, window=2048) as running:
        yield running


@pytest.mark.parametrize("dialect", ["gbnf", "llguidance"])
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_every_turn_is_valid(
    model: EmbeddedModel, dialect: GrammarDialect, temperature: float
) -> None:
    limits = {"max_calls": 2, "thought_chars": 80, "answer_chars": 80, "string_chars": 60}
    grammar = turn_grammar(BOX, dialect=dialect, array_items=3, **limits)  # type: ignore[arg-type]
    check(grammar, dialect)
    for seed, question in enumerate(QUESTIONS):
        options = Completion(max_tokens=1500, temperature=temperature, seed=seed, grammar=grammar)
        pieces = list(model.complete(PROMPT.format(question), stop=(), options=options))
        text = "".join(pieces)
        last = pieces[-1]
        assert isinstance(last, Piece) and last.finish == "eos", text
        assert matches(turn_grammar(BOX, dialect="lark", array_items=3, **limits), text)  # type: ignore[arg-type]
        turn = parse(text, BOX, cue="Thought:")
        assert turn.answer or turn.actions
        assert all(each.problem is None and BOX.get(each.tool) for each in turn.actions)


@pytest.mark.parametrize("dialect", ["gbnf", "llguidance"])
def test_any_protocol_is_kept(model: EmbeddedModel, dialect: GrammarDialect) -> None:
    protocol = Protocol(
        labels={"thought": ("任务思考",), "action": ("行动",), "answer": ("最终答案",)}, colon="："
    )
    grammar = turn_grammar(
        BOX,
        dialect=dialect,
        protocol=protocol,
        cue="行动：",
        max_calls=1,
        string_chars=20,
        array_items=2,
    )
    options = Completion(max_tokens=200, grammar=grammar)
    text = "".join(model.complete("北京天气？\n任务思考：查询\n行动：", stop=(), options=options))
    (action,) = parse(text, BOX, cue="行动：", protocol=protocol).actions
    assert action.tool in BOX
