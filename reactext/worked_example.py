"""The worked example of the prompt, which small models copy, so that it matters more than the rest.

With several tools it is a neutral pair of look-ups by a tool that is not registered: an addition
in it makes models add, a comparison makes them compare. An only tool that says what its own example
gives is the example; one without a result is not, since models copy the words that stand for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reactext.grammar import rewritten
from reactext.models import Value
from reactext.protocol import CallSyntax
from reactext.tools import Tool, Toolbox, example_call


class Example(Value):
    """A worked example: one step with its call and result, and the answer."""

    question: str
    thought: str
    action: str
    observation: str
    conclusion: str
    answer: str


_NEUTRAL = {
    "en": Example(
        question="How many people live in Turku and in Cusco?",
        thought="I look up both cities.",
        action='population(city="Turku") || population(city="Cusco")',
        observation="206035 || 428450",
        conclusion="I know the answer.",
        answer="Turku 206035, Cusco 428450.",
    ),
    "zh": Example(
        question="图尔库和库斯科各有多少人口？",
        thought="我查询两个城市的人口。",
        action='population(city="图尔库") || population(city="库斯科")',
        observation="206035 || 428450",
        conclusion="我知道答案了。",
        answer="图尔库206035，库斯科428450。",
    ),
}

_ONE_CALL = {
    "en": Example(
        question="How many people live in Turku?",
        thought="I look up the city.",
        action='population(city="Turku")',
        observation="206035",
        conclusion="I know the answer.",
        answer="Turku 206035.",
    ),
    "zh": Example(
        question="图尔库有多少人口？",
        thought="我查询这个城市的人口。",
        action='population(city="图尔库")',
        observation="206035",
        conclusion="我知道答案了。",
        answer="图尔库206035。",
    ),
}

_FIGURES = re.findall(r"\d+", _NEUTRAL["en"].observation)


def is_copied(answer: str, known: Iterable[str]) -> bool:
    """Whether an answer tells a figure of the neutral example that none of the known texts holds.

    Small models do that where they do not know what to answer.
    """
    copied = [figure for figure in _FIGURES if figure in answer]
    return bool(copied) and not any(figure in text for text in known for figure in copied)


def example_for(
    toolbox: Toolbox, language: str, *, parallel: bool, syntax: CallSyntax | None = None
) -> Example:
    """Return the example that fits these tools; languages without one of their own get English.

    Its calls are written in the syntax that is given.
    """
    example = _fitting(toolbox, language, parallel=parallel)
    return example if syntax is None else _in_syntax(example, syntax)


def _fitting(toolbox: Toolbox, language: str, *, parallel: bool) -> Example:
    tools = list(toolbox)
    if len(tools) == 1 and tools[0].example is not None and tools[0].example_result is not None:
        return _of_tool(tools[0], tools[0].example_result, language)
    table = _NEUTRAL if parallel else _ONE_CALL
    example = table.get(language, table["en"])
    return _renamed(example) if "population" in toolbox else example


def _in_syntax(example: Example, syntax: CallSyntax) -> Example:
    """Return the example with its calls in this syntax, and their results joined as they are."""
    action = rewritten(example.action, syntax)
    return example.model_copy(
        update={
            "action": action,
            "question": example.question.replace(example.action, action),
            "observation": syntax.separator.join(example.observation.split(" || "))
            if " || " in example.action
            else example.observation,
        }
    )


def _renamed(example: Example) -> Example:
    """Return the example with a tool that is not registered, where ours happens to be."""
    action = example.action.replace("population(", "count_inhabitants(")
    return example.model_copy(update={"action": action})


def _of_tool(tool: Tool, result: str, language: str) -> Example:
    call = example_call(tool)
    if language == "zh":
        return Example(
            question=f"{call} 得到什么？",
            thought=f"我调用 {tool.name}。",
            action=call,
            observation=result,
            conclusion="我知道答案了。",
            answer=result,
        )
    return Example(
        question=f"What does {call} give?",
        thought=f"I call {tool.name}.",
        action=call,
        observation=result,
        conclusion="I know the answer.",
        answer=result,
    )
