"""Which turns the constraint allows, by cue, toolbox, protocol and limits."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from matching import checked, matches
from pydantic import BaseModel

from reactext.completion import GrammarDialect
from reactext.constrain import turn_grammar
from reactext.errors import SetupError
from reactext.protocol import CallSyntax, Labels, Protocol
from reactext.tools import Tool, Toolbox, tool

DIALECTS: list[GrammarDialect] = ["gbnf", "ebnf", "lark", "llguidance"]


@tool
def get_weather(city: str, days: int = 1, unit: Literal["C", "F"] = "C") -> str:
    """Weather forecast for a city."""
    return ""


@tool
def now() -> str:
    """The time."""
    return ""


class Item(BaseModel):
    sku: str
    count: int = 1


@tool
def order(items: list[Item], note: str | None = None) -> str:
    """Order some items."""
    return ""


BOX = Toolbox([get_weather, now, order])


def allowed(text: str, toolbox: Toolbox = BOX, **options: Any) -> bool:
    return matches(checked(turn_grammar(toolbox, dialect="gbnf", **options), "gbnf"), text)


TURNS: list[tuple[str, str, str, bool]] = [
    ("a call", "Thought:", ' I look.\nAction: now()', True),
    ("a line break after it", "Thought:", ' I look.\nAction: now()\n', True),
    ("two line breaks", "Thought:", ' I look.\nAction: now()\n\n', False),
    ("text after it", "Thought:", ' I look.\nAction: now() please', False),
    ("an invented observation", "Thought:", ' I look.\nAction: now()\nObservation: 5', False),
    ("several calls", "Thought:", ' a\nAction: now() || get_weather(city="Oslo") || now()', True),
    ("too many calls", "Thought:", ' a\nAction: now() || now() || now() || now() || now()', False),
    ("a separator at the end", "Thought:", ' a\nAction: now() ||', False),
    ("a tool that is not there", "Thought:", ' a\nAction: search(q="x")', False),
    ("no thought", "Thought:", '\nAction: now()', False),
    ("a blank thought", "Thought:", '  \nAction: now()', False),
    ("no space", "Thought:", 'a\nAction: now()', False),
    ("a second line of thought", "Thought:", ' a\nb\nAction: now()', False),
    ("a thought alone", "Thought:", ' a\n', False),
    ("a thought that begins like a label", "Thought:", ' Action: none\nAction: now()', False),
    ("one that begins like a fence", "Thought:", ' ```\nAction: now()', False),
    ("a colon later on", "Thought:", ' I now write this, Action: now()\nAction: now()', True),
    ("signs and brackets", "Thought:", ' 1 < 2 <= [3], [a b]\nAction: now()', True),
    ("a mark of reasoning", "Thought:", ' I <think>\nAction: now()', False),
    ("a native call", "Thought:", ' I [TOOL_CALLS]\nAction: now()', False),
    ("an answer", "Thought:", ' I know.\nFinal Answer: 42', True),
    ("an empty answer", "Thought:", ' I know.\nFinal Answer: ', False),
    ("both", "Thought:", ' a\nAction: now()\nFinal Answer: 42', False),
    ("all arguments", "Action:", ' get_weather(city="Oslo", days=2, unit="F")', True),
    ("one left out", "Action:", ' get_weather(city="Oslo", unit="F")', True),
    ("a required one left out", "Action:", ' get_weather(days=2)', False),
    ("out of order", "Action:", ' get_weather(days=2, city="Oslo")', False),
    ("by position", "Action:", ' get_weather("Oslo")', False),
    ("unknown", "Action:", ' get_weather(city="Oslo", when="now")', False),
    ("of the wrong type", "Action:", ' get_weather(city="Oslo", days="2")', False),
    ("not of the enum", "Action:", ' get_weather(city="Oslo", unit="K")', False),
    ("nested", "Action:", ' order(items=[{"sku": "a"}, {"sku": "b", "count": 2}])', True),
    ("nullable", "Action:", ' order(items=[], note=null)', True),
    ("nested, and wrong", "Action:", ' order(items=[{"count": 2}])', False),
    ("an answer of one line", "Final Answer:", " It is 42.", True),
    ("an answer of a letter", "Final Answer:", " A", True),
    ("some lines of letters", "Final Answer:", " A\nQ\n\nT\nand so on", True),
    ("a label first", "Final Answer:", " Action: now()", False),
    ("an answer of many lines", "Final Answer:", " It is:\n\n- 42\n  so\n\n```\nf()\n```\n", True),
    ("empty lines", "Final Answer:", " a\n\n\nb", False),
    ("a label in the answer", "Final Answer:", " a\nAction: now()", False),
    ("another answer", "Final Answer:", " a\n\nFinal Answer: b", False),
    ("another answer begins", "Final Answer:", " a\n\nFinal Answer:", True),
    ("not quite a label", "Final Answer:", " a\nActions:\nA\nFinal\nFinal Answers: b\nO", True),
    ("a label within a line", "Final Answer:", " a, then Action: now()\n Action: now()", True),
    ("the next question begins", "Final Answer:", " a\nQuestion:", True),
    ("the next question", "Final Answer:", " a\nQuestion: b", False),
    ("an observation begins", "Final Answer:", " a\n\nObservation:", True),
    ("no cue", "", "Thought: a\nAction: now()", True),
    ("no cue, no thought", "", "Action: now()", False),
    ("a cue of several lines", "Thought: I must.\nFinal Answer:", " 42", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cue", "text", "is_allowed"), [each[1:] for each in TURNS], ids=[each[0] for each in TURNS]
)
def test_turn(cue: str, text: str, is_allowed: bool) -> None:
    assert allowed(text, cue=cue) == is_allowed


def test_without_tools_there_is_only_the_answer() -> None:
    assert allowed(" a\nFinal Answer: b", Toolbox())
    assert not allowed(" a\nAction: now()", Toolbox())
    with pytest.raises(SetupError, match="no turn can follow a prompt that ends in 'Action:'"):
        turn_grammar(Toolbox(), dialect="gbnf", cue="Action:")


def test_a_cue_must_end_in_a_label() -> None:
    with pytest.raises(SetupError, match="let it end in one of 'Thought:', 'Action:', 'Final"):
        turn_grammar(BOX, dialect="gbnf", cue="Observation:")


def test_limits() -> None:
    assert allowed(" " + "a" * 160 + "\nAction: now()")
    assert not allowed(" " + "a" * 161 + "\nAction: now()")
    assert allowed(" abc\nAction: now()", thought_chars=3)
    assert not allowed(" abcd\nAction: now()", thought_chars=3)
    assert allowed(" " + "中" * 3000, cue="Final Answer:")
    assert allowed(" abc", cue="Final Answer:", answer_chars=3)
    assert not allowed(" abcd", cue="Final Answer:", answer_chars=3)
    assert allowed(' get_weather(city="123")', cue="Action:", string_chars=3)
    assert not allowed(' get_weather(city="1234")', cue="Action:", string_chars=3)
    assert not allowed(' order(items=[{"sku": ""}, {"sku": ""}])', cue="Action:", array_items=1)
    assert not allowed(" now() || now()", cue="Action:", parallel=False)
    assert allowed(" " + " || ".join(["now()"] * 30), cue="Action:", max_calls=30)


@pytest.mark.parametrize("count", [1, 9, 999, 1999, 2000, 5000, 10**7])
def test_any_limit_makes_a_grammar_that_servers_take(count: int) -> None:
    names = ("max_calls", "thought_chars", "answer_chars", "string_chars", "array_items")
    for dialect in DIALECTS:
        checked(turn_grammar(BOX, dialect=dialect, **dict.fromkeys(names, count)), dialect)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["max_calls", "thought_chars", "answer_chars", "string_chars"])
def test_a_limit_is_at_least_one(name: str) -> None:
    with pytest.raises(SetupError, match=f"{name}=0 must be at least 1"):
        turn_grammar(BOX, dialect="gbnf", **{name: 0})  # type: ignore[arg-type]


SPANISH = Protocol(
    labels=Labels(thought=("Pensamiento",), action=("Acción",), answer=("Respuesta final",))
)
CHINESE = Protocol(
    labels=Labels(
        thought=("任务思考",), action=("行动",), answer=("最终答案",), observation=("观察",)
    ),
    colon="：",
)
ODD = Protocol(labels=Labels(thought=('^A-Z] /"\\*',), action=("^A-Z] /x",), answer=("[z",)))


@pytest.mark.parametrize(
    ("protocol", "text", "is_allowed"),
    [
        (SPANISH, "Pensamiento: a\nAcción: now()", True),
        (SPANISH, "Pensamiento: a\nRespuesta final: Acciones\nThought: b", True),
        (SPANISH, "Pensamiento: a\nRespuesta final: b\nAcción: now()", False),
        (SPANISH, "Thought: a\nAcción: now()", False),
        (CHINESE, "任务思考：我看\n行动：now()", True),
        (CHINESE, "任务思考： 我看\n最终答案： 四十二\n行动很好", True),
        (CHINESE, "任务思考：我看\n最终答案：四十二\n行动：now()", False),
        (ODD, '^A-Z] /"\\*: a\n^A-Z] /x: now()', True),
        (ODD, '^A-Z] /"\\*: a\n[z: b\n^A-Z] /y\n-\n^A-Z]', True),
        (ODD, '^A-Z] /"\\*: a\n[z: b\n^A-Z] /x: now()', False),
    ],
)
def test_labels_are_those_of_the_protocol(protocol: Protocol, text: str, is_allowed: bool) -> None:
    for dialect in DIALECTS:
        source = checked(turn_grammar(BOX, dialect=dialect, protocol=protocol, cue=""), dialect)
        assert matches(source, text) == is_allowed


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        (CallSyntax(call="{tool}[{arguments}]"), 'get_weather[city="Oslo", unit="C"]'),
        (
            CallSyntax(argument="{name}: {value}", comma="; "),
            'get_weather(city: "Oslo"; unit: "C")',
        ),
        (
            CallSyntax(call="{{{arguments}}} -> {tool}", separator=" & "),
            '{city="a"} -> get_weather & {} -> now',
        ),
        (CallSyntax(argument="{value}"), 'get_weather("Oslo", 2)'),
    ],
)
def test_calls_are_those_of_the_protocol(syntax: CallSyntax, text: str) -> None:
    assert allowed(f" a\nAction: {text}", protocol=Protocol(calls=syntax))
    assert not allowed(f" a\nAction: {text}")


def test_values_by_position_cannot_skip_one() -> None:
    protocol = Protocol(calls=CallSyntax(argument="{value}"))
    assert not allowed(' get_weather("Oslo", "F")', cue="Action:", protocol=protocol)


@pytest.mark.parametrize(
    "name", ["天气 查询", "get.weather", "a-b", "root", "x/y#z", "Ünï", "a::b"]
)
def test_tools_of_any_name(name: str) -> None:
    box = Toolbox([Tool(name, "", (), lambda: None), Tool(name + "2", "", (), lambda: None)])
    for dialect in DIALECTS:
        source = checked(turn_grammar(box, dialect=dialect, cue="Action:"), dialect)
        assert matches(source, f" {name}() || {name}2()")
        assert not matches(source, f" {name}3()")


def test_many_tools_and_options_stay_small() -> None:
    def sizes(counts: tuple[int, ...], make: Any) -> list[int]:
        return [len(turn_grammar(make(count), dialect="gbnf")) for count in counts]

    few, more, most = sizes((30, 60, 120), many_tools)
    assert most - more < 3 * (more - few)
    few, more, most = sizes((30, 60, 120), many_options)
    assert most - more < 3 * (more - few)


def many_tools(count: int) -> Toolbox:
    parameters = get_weather.parameters
    return Toolbox(Tool(f"tool_{n}", "", parameters, lambda: None) for n in range(count))


def many_options(count: int) -> Toolbox:
    options = tuple(
        type(each)(f"option_{n}", each.schema, required=False)
        for n, each in enumerate([get_weather.parameters[0]] * count)
    )
    return Toolbox([Tool("f", "", options, lambda: None)])


def test_any_of_many_options() -> None:
    source = checked(turn_grammar(many_options(30), dialect="gbnf", cue="Action:"), "gbnf")
    for text in ("f()", 'f(option_29="a")', 'f(option_3="a", option_7="b", option_28="c")'):
        assert matches(source, " " + text)
    for text in (
        'f(option_7="a", option_3="b")',
        'f(option_3="a", )',
        'f(option_3="a", option_3="b")',
    ):
        assert not matches(source, " " + text)


WHOLE = r"""root ::= turn
turn ::= " " calls
calls ::= call (" || " call){0,3} "\n"?
call ::= "get_weather(" get-weather | "now()"
get-weather ::= "city=" string (", " ("days=" integer (", " rest)? | rest))? ")"
string ::= "\"" character{0,500} "\""
character ::= [^"\\\x00-\x1f] | "\\" (["\\bfnrt] | "u00" [01] [0-9a-f])
integer ::= "-"? ("0" | [1-9] [0-9]{0,18})
rest ::= "unit=" choice
choice ::= "\"C\"" | "\"F\""
"""


def test_a_grammar_can_be_read() -> None:
    assert turn_grammar(Toolbox([get_weather, now]), dialect="gbnf", cue="Action:") == WHOLE
