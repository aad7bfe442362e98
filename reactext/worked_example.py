"""The worked example of the prompt, which small models copy, so that it matters more than the rest.

With several tools it is a neutral pair of look-ups by a tool that is not registered: an addition
in it makes models add, a comparison makes them compare. An only tool that says what its own example
gives is the example; one without a result is not, since models copy the words that stand for it.
"""

from __future__ import annotations

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
        question="How many people live in Oslo and in Lima?",
        thought="I look up both cities.",
        action='population(city="Oslo") || population(city="Lima")',
        observation="709000 || 10092000",
        conclusion="I know the answer.",
        answer="Oslo 709000, Lima 10092000.",
    ),
    "zh": Example(
        question="奥斯陆和利马各有多少人口？",
        thought="我查询两个城市的人口。",
        action='population(city="奥斯陆") || population(city="利马")',
        observation="709000 || 10092000",
        conclusion="我知道答案了。",
        answer="奥斯陆709000，利马10092000。",
    ),
}

_ONE_CALL = {
    "en": Example(
        question="How many people live in Oslo?",
        thought="I look up the city.",
        action='population(city="Oslo")',
        observation="709000",
        conclusion="I know the answer.",
        answer="Oslo 709000.",
    ),
    "zh": Example(
        question="奥斯陆有多少人口？",
        thought="我查询这个城市的人口。",
        action='population(city="奥斯陆")',
        observation="709000",
        conclusion="我知道答案了。",
        answer="奥斯陆709000。",
    ),
}


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
