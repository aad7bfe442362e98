"""Limits, repeats and tools set aside: what counts is what was really run."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from reactext import (
    Action,
    Engine,
    ExecutionContext,
    Hook,
    Moment,
    Piece,
    ScriptedModel,
    Tool,
    Turn,
    Usage,
    tool,
)

DONE = " I know.\nFinal Answer: done"


def run(tools: list[Tool], *calls: str, **options: Any) -> ExecutionContext:
    replies = [f" Go.\nAction: {call}" for call in calls]
    return Engine(ScriptedModel([*replies, DONE]), tools, **options).run("Go")


def statuses(context: ExecutionContext) -> list[list[str]]:
    return [[each.status for each in step.observations] for step in context.steps[:-1]]


@tool(idempotent=True)
def show(
    value: Any = None,
    number: int = 3,
    when: datetime.date | None = None,
    names: list[str] | None = None,
) -> str:
    """Show a value."""
    return f"{type(value).__name__} {value} {number}"


SAME = [
    ("show(value=1)", "show(value=1)", True),
    ("show(value=1)", "show(value=true)", False),
    ("show(value=0)", "show(value=false)", False),
    ("show(value=1)", 'show(value="1")', False),
    ("show(number=1)", 'show(number="1")', True),
    ("show(number=1)", "show(number=1.0)", True),
    ("show(number=3)", "show()", True),
    ("show(number=3)", "show(when=null)", True),
    ("show(number=3)", "show(number=4)", False),
    ('show(when="2025-01-02")', 'show(when="2025-01-02")', True),
    ('show(when="2025-01-02")', 'show(when="2025-01-03")', False),
    ('show(names=["a"])', 'show(names="a")', True),
    ('show(value={"a": 1, "b": 2})', 'show(value={"b": 2, "a": 1})', True),
    ("show(value=[1, 2])", "show(value=[2, 1])", False),
    ("show(value=1)", "show(1)", True),
]


@pytest.mark.parametrize(("one", "other", "same"), SAME)
def test_calls_are_the_same_as_the_tool_gets_them(one: str, other: str, same: bool) -> None:
    assert statuses(run([show], one, other)) == [["ok"], ["repeated" if same else "ok"]]
    context = run([tool(show.function, name="show")], *[one, other] * 3)
    assert (context.stop_reason == "repeating") is same or not same


def test_runs_with_one_id_do_not_share_what_was_called() -> None:
    replies = [" Go.\nAction: show(value=1)"] * 3 + [DONE]
    engine = Engine(ScriptedModel(replies * 2), [tool(show.function, name="show")])
    for _ in range(2):
        assert engine.run("Go", run_id="same").status == "finished"


@tool(idempotent=True)
def square(number: int) -> int:
    """Square."""
    return number**2


@tool
def fail(number: int = 0) -> str:
    """Fail."""
    raise RuntimeError("no")


CALLS = [
    (1, ["square(number=1) || square(number=2)"], [["ok", "skipped"]]),
    (2, ["square(number=1)", "square(number=1) || square(number=2)"], [["ok"], ["repeated", "ok"]]),
    (1, ["square(number=x) || square(number=2)"], [["error", "ok"]]),
    (1, ["unknown(a=1) || square(number=2)"], [["error", "ok"]]),
    (1, ["unknown(a=1)", "square(number=2)"], [["error"], ["ok"]]),
    (2, ["fail() || square(number=2) || square(number=3)"], [["error", "ok", "skipped"]]),
    (
        4,
        ["fail()", "fail()", "fail()", "fail() || square(number=1)"],
        [["error"], ["error"], ["error"], ["skipped", "ok"]],
    ),
]


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize(("most", "calls", "expected"), CALLS)
def test_calls_that_were_really_started_count(
    most: int, calls: list[str], expected: list[list[str]], eager: bool
) -> None:
    context = run([square, fail], *calls, max_tool_calls=most, eager=eager)
    observed = [[each.status for each in step.observations] for step in context.steps]
    assert observed[: len(expected)] == expected


class Adds(Hook):
    def after_turn(self, moment: Moment, turn: Turn) -> Turn:
        if turn.answer is not None:
            return turn
        mine = Action(id="mine", tool="square", kwargs={"number": 7})
        return turn.model_copy(update={"actions": (*turn.actions, mine)})


def test_calls_that_a_hook_adds_count_whatever_their_id() -> None:
    context = run([square], "square(number=1)", max_tool_calls=1, hooks=[Adds()])
    assert [each.status for each in context.steps[0].observations] == ["ok", "skipped"]
    context = run([square], "square(number=1)", hooks=[Adds()])
    assert [each.text for each in context.steps[0].observations] == ["1", "49"]


ASIDE = [
    (["fail() || fail() || fail()", "fail()"], [["error"] * 3, ["error"]]),
    (["fail(a=1)", "fail(b=1)", "fail(c=1)", "fail()"], [["error"]] * 4),
    (["fail()", "fail()", "fail(x=1)", "fail()", "fail()"], [["error"]] * 4 + [["skipped"]]),
    (["fail()", "fail()", "square(number=1)", "fail()", "fail()"], None),
    (["fail()"] * 3 + ["fail(number=1)"] * 2, [["error"]] * 3 + [["skipped"]] * 2),
    (["nosuch(a=1)"] * 4, [["error"]] * 4),
]


@pytest.mark.parametrize(("calls", "expected"), ASIDE)
def test_a_tool_is_set_aside_after_three_steps_of_failing(
    calls: list[str], expected: list[list[str]] | None
) -> None:
    observed = statuses(run([square, fail], *calls))
    assert observed == (expected or [["error"], ["error"], ["ok"], ["error"], ["skipped"]])


def test_a_tool_that_works_in_between_is_not_set_aside() -> None:
    results = iter([False, False, True, False, False, False])

    @tool
    def at_times(number: int) -> str:
        """Work at times."""
        if not next(results):
            raise RuntimeError("no")
        return "yes"

    calls = [f"at_times(number={number})" for number in range(7)]
    observed = [each for [each] in statuses(run([at_times], *calls))]
    assert observed == ["error", "error", "ok", "error", "error", "error", "skipped"]


@pytest.mark.parametrize(
    ("usage", "status"),
    [(None, "finished"), (Usage(), "finished"), (Usage(prompt_tokens=9), "forced")],
)
def test_tokens_are_limited_where_the_server_counts_them(usage: Usage | None, status: str) -> None:
    piece = Piece(" Go.\nAction: show(value=1)", usage=usage)
    context = Engine(ScriptedModel([[piece], DONE]), [show], max_tokens=1).run("Go")
    assert context.status == status


@pytest.mark.parametrize("text", [" word", "Final Answer: word\nword"])
@pytest.mark.parametrize("max_seconds", [None, 1e-9])  # the second asks for the answer at once
def test_a_text_that_never_ends_is_ended_by_the_tokens_of_a_step(
    text: str, max_seconds: float | None
) -> None:
    def for_ever(prompt: str) -> Iterator[str]:
        return itertools.chain([" I know.\n"], itertools.repeat(text))

    engine = Engine(for_ever, step_tokens=16, max_seconds=max_seconds, max_corrections=0)
    context = engine.run("Go")
    is_answer = text != " word" and max_seconds is None
    assert context.status == ("finished" if is_answer else "forced")
    assert len(context.answer or "") < 5000
