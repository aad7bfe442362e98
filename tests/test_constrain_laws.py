"""What the constraint allows is read as exactly that, and what we write is allowed."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matching import matches
from pydantic import BaseModel
from shape_samples import sample

from reactext.canonical import call_text
from reactext.constrain import turn_grammar
from reactext.protocol import Labels, Protocol
from reactext.reader import TurnReader, parse
from reactext.reading.strings import PATH_INSIDE
from reactext.tools import Toolbox, tool
from reactext.turn_shapes import TurnLimits, turn_shape


class Item(BaseModel):
    sku: str
    count: int = 1
    tags: list[str] = []


@tool
def get_weather(city: str, days: int = 1, unit: Literal["C", "F", "°"] = "C") -> str:
    """Weather forecast for a city."""
    return ""


@tool
def now() -> str:
    """The time."""
    return ""


@tool
def order(items: list[Item], note: str | None = None, extra: Any = None) -> str:
    """Order some items."""
    return ""


@tool(name="天气.查询 2")
def chinese(城市: str, 比例: float = 1.0, 详细: bool = False) -> str:  # noqa: N803
    """Weather, in Chinese."""
    return ""


BOX = Toolbox([get_weather, now, order, chinese])
ENGLISH = Protocol()
PROTOCOLS = {
    "English": ENGLISH,
    "Spanish": Protocol(
        labels=Labels(thought=("Pensamiento",), action=("Acción",), answer=("Respuesta final",))
    ),
    "Chinese": Protocol(
        labels=Labels(
            question=("问题",),
            thought=("任务思考",),
            action=("行动",),
            observation=("观察",),
            answer=("最终答案",),
        ),
        colon="：",
    ),
}
FRAGMENTS = [
    *("Action:", "Action: now()", "Final Answer:", "Final Answer: 3", "Observation:", "Question:"),
    *(
        "Thought:",
        "Action Input: {}",
        "行动：",
        "**",
        "***Answer:**",
        "- ",
        "#",
        "1. ",
        "> ",
        "```",
    ),
    *(
        "<think>",
        "</think>",
        "<tool_call>",
        "<|im_end|>",
        "[TOOL_CALLS]",
        "[INST]",
        "◁think▷",
        "<s>",
    ),
    *(
        "now()",
        'get_weather(city="x")',
        " || ",
        "||",
        "\\n",
        "\\",
        '"',
        "'",
        "{",
        "}",
        "(",
        ")",
        "=",
    ),
    *(
        "None",
        "Finish[3]",
        "finish(3)",
        "<",
        "[",
        "：",
        ":",
        "`",
        "~~~",
        "...",
        "…",
        "\u2028",
        "\x85",
    ),
]
DRESSED = re.compile(r"[^\w\n]+(\n|.*[:：]|\Z)")
LABELS = {label for protocol in PROTOCOLS.values() for _, (label, *_) in protocol.labels}
ALONE = re.compile(rf"({'|'.join(LABELS)})\W*?(\n|\[|:|：|\Z)")
"""What an answer does not begin with: a fence alone, a label behind some signs, or one alone."""
seeds = st.integers(0, 2**64)
LIMITS = TurnLimits(thought=60)


Calls = list[tuple[str, dict[str, Any]]]


def calls_in(text: str) -> Calls:
    """Read canonical calls strictly, with nothing but JSON."""
    decoder = json.JSONDecoder()
    calls: Calls = []
    while text:
        name, _, text = text.partition("(")
        arguments = {}
        while not text.startswith(")"):
            key, _, text = text.partition("=")
            arguments[key], end = decoder.raw_decode(text)
            text = text[end:].removeprefix(", ")
        calls.append((name, arguments))
        text = text[1:].removeprefix(" || ")
    return calls


def written(text: str, protocol: Protocol, cue: str) -> tuple[str, Calls, str | None]:
    """Return the thought, the calls and the answer of a canonical text, by its labels alone."""
    label = {name: protocol.label(name) for name in ("thought", "action", "answer")}
    text = cue + text
    thought = ""
    if text.startswith(label["thought"]):
        thought, text = text.removeprefix(label["thought"]).split("\n", 1)
    if text.startswith(label["action"]):
        return thought.strip(), calls_in(text.removeprefix(label["action"]).strip()), None
    return thought.strip(), [], text.removeprefix(label["answer"]).strip()


def sampled(protocol: Protocol, cue: str, seed: int) -> str:
    text = sample(turn_shape(BOX, protocol, cue, LIMITS), Random(seed), FRAGMENTS)
    answer = written(text, protocol, cue)[2] or ""
    assume(not any((PATH_INSIDE.search(text), DRESSED.match(answer), ALONE.match(answer))))
    assume(not answer or not protocol.label("observation").startswith(answer))  # a cut stop
    return text


@pytest.mark.parametrize("cue_name", ["", "thought", "action", "answer"])
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
@given(seed=seeds, knows_tools=st.booleans())
@settings(max_examples=25)
def test_what_is_allowed_is_read_as_it_is_written(
    protocol: Protocol, cue_name: str, seed: int, knows_tools: bool
) -> None:
    cue = protocol.label(cue_name) if cue_name else ""
    text = sampled(protocol, cue, seed)
    thought, calls, answer = written(text, protocol, cue)
    turn = parse(text, BOX if knows_tools else None, cue=cue, protocol=protocol)
    assert [(each.tool, each.kwargs) for each in turn.actions] == calls
    assert turn.thought == thought
    if answer is None:
        assert turn.answer is None
    else:  # what a stop would have cut, a lone fence and a template's last token are not of it
        assert turn.answer and answer.startswith(turn.answer.rstrip())


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
@given(seed=seeds, cuts=st.lists(st.floats(0, 1), max_size=6))
@settings(max_examples=20)
def test_it_is_read_so_in_any_pieces(protocol: Protocol, seed: int, cuts: list[float]) -> None:
    cue = protocol.label("thought")
    text = sampled(protocol, cue, seed)
    whole = parse(text, BOX, cue=cue, protocol=protocol)
    reader = TurnReader(BOX, cue=cue, protocol=protocol)
    ends = [*sorted(round(each * len(text)) for each in cuts), len(text)]
    for start, end in zip([0, *ends], ends, strict=False):
        reader.feed(text[start:end])
    assert reader.close() == whole


string = st.text(st.characters(codec="utf-8"), max_size=20)
item = st.builds(
    lambda sku, count, tags: {"sku": sku, **count, **tags},
    string,
    st.just({}) | st.fixed_dictionaries({"count": st.integers(-(10**9), 10**9)}),
    st.just({}) | st.fixed_dictionaries({"tags": st.lists(string, max_size=3)}),
)


def ordered(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Put arguments into the order of the signature, in which calls are written."""
    found = BOX.get(name)
    assert found is not None
    return {each.name: arguments[each.name] for each in found.parameters if each.name in arguments}


ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "get_weather": st.fixed_dictionaries(
        {"city": string},
        optional={"days": st.integers(-(10**18), 10**18), "unit": st.sampled_from("CF°")},
    ),
    "now": st.just({}),
    "order": st.fixed_dictionaries(
        {"items": st.lists(item, max_size=4)},
        optional={
            "note": st.none() | string,
            "extra": st.none()
            | st.booleans()
            | string
            | st.dictionaries(string, st.lists(string, max_size=9), max_size=9),
        },
    ),
    "天气.查询 2": st.fixed_dictionaries(
        {"城市": string}, optional={"比例": st.floats(-1e9, 1e9), "详细": st.booleans()}
    ),
}
call = st.sampled_from(sorted(ARGUMENTS)).flatmap(
    lambda name: ARGUMENTS[name].map(
        lambda arguments: call_text(name, kwargs=ordered(name, arguments))
    )
)
words = st.text("abc defghij, klmnopq. rstuvwxyz 中文，。", min_size=1, max_size=100).filter(
    str.strip
)


GRAMMAR = turn_grammar(BOX, dialect="gbnf", cue="")


@given(
    thought=words, calls=st.lists(call, min_size=1, max_size=4), ending=st.sampled_from(["", "\n"])
)
@settings(max_examples=50)
def test_calls_are_allowed_as_we_write_them(thought: str, calls: list[str], ending: str) -> None:
    turn = f"Thought: {thought.strip()}\nAction: {' || '.join(calls)}{ending}"
    assert matches(GRAMMAR, turn)


@given(thought=words, answer=words)
@settings(max_examples=50)
def test_answers_are_allowed_as_we_write_them(thought: str, answer: str) -> None:
    turn = f"Thought: {thought.strip()}\nFinal Answer: {answer.strip()}"
    assert matches(GRAMMAR, turn)
