"""A protocol of one's own is written and read, and checked before it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from texts import TOOLS, short

from reactext import (
    Action,
    Engine,
    ScriptedModel,
    SetupError,
    Turn,
    TurnError,
    TurnReader,
    parse,
)
from reactext.canonical import turn_text
from reactext.protocol import CallSyntax, Labels, Protocol

SPANISH = Protocol(labels=Labels(thought=("Pensamiento",), answer=("Respuesta final",)))
CHINESE = Protocol(
    labels=Labels(thought=("任务思考",), action=("任务行动",), answer=("结论",)), colon="："
)
ARROW = Protocol(colon=" ->")
COLON_CALLS = """
// get_weather: city="Oslo", unit="c"
call: callee ":" [arguments]
callee: NAME
NAME: /[^\\W\\d]\\w*/
%import reactext.calls (arguments)
"""
OWN_CALLS = Protocol(
    calls=CallSyntax(call="{tool}: {arguments}", separator=" + ", grammar=COLON_CALLS)
)
BRACES = Protocol(calls=CallSyntax(call="{tool}{{{arguments}}}", grammar="""
call: callee "{" [arguments] "}"
%import reactext.calls (callee, arguments)
"""))  # fmt: skip

TURN = Turn(
    thought="look",
    actions=(
        Action(id="c1.1", tool="get_weather", kwargs={"city": "a || b + c", "unit": "c"}),
        Action(id="c1.2", tool="search", kwargs={"query": 'say "hi"'}),
    ),
)


@pytest.mark.parametrize(
    "protocol", [Protocol(), SPANISH, CHINESE, ARROW, OWN_CALLS, BRACES],
    ids=["ours", "Spanish", "Chinese", "arrow", "own calls", "braces"],
)  # fmt: skip
def test_a_turn_is_read_as_it_is_written(protocol: Protocol) -> None:
    text = turn_text(TURN, protocol)
    assert text.startswith(protocol.label("thought"))
    read = parse(text, TOOLS, protocol=protocol)
    assert short(read) == short(TURN) and read.thought == "look"
    answer = Turn(thought="done", answer="Twelve.")
    assert parse(turn_text(answer, protocol), TOOLS, protocol=protocol).answer == "Twelve."


def test_our_labels_and_calls_are_read_besides() -> None:
    text = 'Thought: x\nAction: get_weather(city="Oslo")'
    for protocol in (SPANISH, CHINESE, OWN_CALLS, BRACES):
        assert short(parse(text, TOOLS, protocol=protocol)) == [("get_weather", {"city": "Oslo"})]


def test_a_grammar_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "colon_calls.lark"
    path.write_text(COLON_CALLS, encoding="utf-8")
    protocol = Protocol(calls=CallSyntax(call="{tool}: {arguments}", grammar=str(path)))
    read = parse('Action: search: query="x"', TOOLS, protocol=protocol)
    assert short(read) == [("search", {"query": "x"})]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"labels": {"thought": ()}}, "labels.thought has no text"),
        ({"labels": {"thought": (" ",)}}, "labels.thought has no text"),
        ({"labels": {"answer": ("Answer\n",)}}, "labels.answer has 'Answer\\n'"),
        ({"labels": {"answer": ("42",)}}, "labels.answer has '42'"),
        ({"labels": {"thought": ("Plan",), "action": ("plan",)}}, "stands in labels.thought"),
        ({"colon": " "}, "colon is ' '"),
        ({"calls": {"call": "{tool}"}}, "must hold {arguments}"),
        ({"calls": {"argument": "{name}"}}, "must hold {value}"),
        ({"calls": {"separator": " "}}, "must not be blank"),
    ],
)
def test_what_cannot_work_is_told_at_once(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(SetupError) as failure:
        Protocol(**wrong)  # type: ignore[arg-type]
    assert told in str(failure.value)


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (CallSyntax(grammar="call: foo"), "calls.grammar cannot be used: Rule 'foo' used but"),
        (CallSyntax(grammar="call: ("), "calls.grammar cannot be used"),
        (CallSyntax(grammar='call: "a"\n%import nowhere.calls (x)'), "cannot be used"),
        (CallSyntax(grammar="missing.lark"), "missing.lark cannot be read"),
        (CallSyntax(grammar=COLON_CALLS), 'does not read \'tool(first="text"'),
        (
            CallSyntax(call="{tool}: {arguments}", comma="; ", grammar=COLON_CALLS),
            'does not read \'tool: first="text"; second',
        ),
    ],
)
def test_a_broken_grammar_is_told_before_anything_is_read(calls: CallSyntax, told: str) -> None:
    with pytest.raises(SetupError) as failure:
        TurnReader(TOOLS, protocol=Protocol(calls=calls))
    assert told in str(failure.value)


@pytest.mark.parametrize(
    "calls",
    [
        CallSyntax(call="{tool}!{arguments}"),
        CallSyntax(argument="{name}~{value}"),
    ],
)
def test_calls_that_ours_does_not_read_want_a_grammar(calls: CallSyntax) -> None:
    with pytest.raises(SetupError, match="is not read as those two calls .* give calls.grammar"):
        Engine(ScriptedModel([]), TOOLS, protocol=Protocol(calls=calls))


@pytest.mark.parametrize(
    "calls",
    [CallSyntax(call="{tool}[{arguments}]"), CallSyntax(argument="{value}"), OWN_CALLS.calls],
)
def test_calls_that_are_read_are_taken(calls: CallSyntax) -> None:
    Engine(ScriptedModel([]), TOOLS, protocol=Protocol(calls=calls))


def test_the_remedy_is_written_in_the_protocol() -> None:
    with pytest.raises(TurnError) as failure:
        parse("Thought: hm", TOOLS, protocol=CHINESE)
    assert failure.value.remedy.startswith("任务行动： get_weather(city=")
    with pytest.raises(TurnError) as failure:
        parse("Thought: hm", TOOLS, protocol=OWN_CALLS)
    assert failure.value.remedy.startswith("Action: get_weather: city=")
