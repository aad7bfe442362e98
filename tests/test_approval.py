"""A decision is of one call and one tool; what stands in place of a result is a text like it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from reactext import (
    Action,
    Answered,
    Approved,
    Edited,
    Engine,
    ExecutionContext,
    Moment,
    Rejected,
    ScriptedModel,
    SetupError,
    tool,
)

DONE = " Done.\nFinal Answer: done"


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"read {path}"


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@tool
def archive(path: str) -> str:
    """Move a file away."""
    return f"archived {path}"


def run(call: str, approve: Any) -> tuple[ExecutionContext, ScriptedModel]:
    model = ScriptedModel([f" Go.\nAction: {call}", DONE])
    return Engine(model, [read, delete, archive], approve=approve).run("Go"), model


def test_the_approval_of_one_tool_is_none_of_another() -> None:
    asked: list[tuple[str, str]] = []

    def ask_read(action: Action, moment: Moment) -> Edited:
        asked.append(("read", action.tool))
        return Edited({"path": "b"}, tool="delete")

    def ask_delete(action: Action, moment: Moment) -> Rejected:
        asked.append(("delete", f"{action.tool} {action.kwargs['path']}"))
        return Rejected("never")

    context, _ = run('read(path="a")', {"read": ask_read, "del*": ask_delete})
    assert asked == [("read", "read"), ("delete", "delete b")]
    [seen] = context.steps[0].observations
    assert (seen.status, seen.text) == ("denied", "This call was not allowed: never")


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["read", "delete", "archive"], ["read", "delete", "archive"]),
        (["[rd]*", "archive"], ["read"]),
        (["*"], ["read"]),
        (["read"], ["read"]),
    ],
)
def test_each_pattern_is_asked_once(patterns: list[str], expected: list[str]) -> None:
    asked: list[str] = []
    turns = {"read": "delete", "delete": "archive", "archive": "read"}

    def ask(action: Action, moment: Moment) -> Edited:
        asked.append(action.tool)
        return Edited({"path": action.kwargs["path"] + action.tool[0]}, tool=turns[action.tool])

    context, _ = run('read(path="")', dict.fromkeys(patterns, ask))
    assert asked == expected
    [seen] = context.steps[0].observations
    path = "".join(each[0] for each in expected)
    assert seen.text.startswith(f'(the call was changed to {turns[expected[-1]]}(path="{path}"))')


def test_a_tool_that_no_pattern_fits_is_free_to_be_changed_to() -> None:
    context, _ = run('delete(path="a")', {"delete": lambda *_: Edited({"path": "a"}, tool="read")})
    assert context.steps[0].observations[0].text.endswith("read a")


def test_what_was_changed_to_a_wrong_call_is_not_asked_about() -> None:
    def ask(action: Action, moment: Moment) -> Edited:
        assert action.tool == "read"
        return Edited({"paths": 3}, tool="delete")

    context, _ = run('read(path="a")', ask)
    assert context.steps[0].observations[0].status == "error"


HALF = "half \ud83d of a \udc00"
LONG = "x" * 100_000


@pytest.mark.parametrize(
    "decision", [Answered(HALF), Rejected(HALF), Answered(LONG), Rejected(LONG)]
)
def test_what_a_person_says_is_bounded_and_can_be_stored(decision: Any) -> None:
    context, model = run('read(path="a")', lambda *_: decision)
    model.prompts[1].encode()
    assert len(model.prompts[1]) < len(model.prompts[0]) + 6000
    assert ExecutionContext.model_validate_json(context.model_dump_json()) == context


@pytest.mark.parametrize("said", ["", "  \n"])
def test_an_empty_answer_is_said_to_be_one(said: str) -> None:
    context, _ = run('read(path="a")', lambda *_: Answered(said))
    assert context.steps[0].observations[0].text == "(an empty text was returned)"


PATTERNS = [
    ({"delte": True}, "'delte', which fits no tool; did you mean delete? The tools are: read,"),
    ({"remove_*": True}, "'remove_*', which fits no tool. The tools are: read, delete, archive"),
    ({"read": True, "Delete": False}, "'Delete', which fits no tool; did you mean delete?"),
]


@pytest.mark.parametrize(("approve", "says"), PATTERNS)
def test_a_pattern_that_guards_nothing_is_told(approve: Any, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        Engine(ScriptedModel([]), [read, delete, archive], approve=approve)
    assert says in str(caught.value)


@pytest.mark.parametrize("approve", [lambda action: True, lambda: True, {"*": lambda a: True}])
def test_a_function_of_other_arguments_is_told(approve: Any) -> None:
    with pytest.raises(SetupError, match="must take two arguments: the action and the moment"):
        Engine(ScriptedModel([]), [read], approve=approve)


@pytest.mark.parametrize("patterns", [False, True])
def test_a_function_that_cannot_decide_at_once_is_told(patterns: bool) -> None:
    async def decide(action: Action, moment: Moment) -> bool:
        return True

    class Decides:
        async def __call__(self, action: Action, moment: Moment) -> bool:
            return True

    for each in (decide, Decides()):
        approve: Any = {"*": each} if patterns else each
        with pytest.raises(SetupError, match="is async; .* write it without async"):
            Engine(ScriptedModel([]), [read], approve=approve)


def test_the_names_of_edited_arguments_are_texts() -> None:
    with pytest.raises(SetupError, match="the key of kwargs=5 must be a text"):
        Edited({5: 1})  # type: ignore[dict-item]


def test_a_function_may_decide_though_there_is_no_tool_yet() -> None:
    assert Engine(ScriptedModel([DONE]), approve=lambda *_: Approved()).run("Go").answer == "done"
    assert Engine(ScriptedModel([DONE]), approve={"*": True}).run("Go").answer == "done"


@pytest.mark.parametrize("gone", ["sys.stdin.close()", "sys.stdin = None"])
def test_without_a_stdin_nobody_is_asked(gone: str) -> None:
    program = f"""
import sys
from reactext import Engine, ScriptedModel, tool

@tool
def act() -> str:
    "Act."
    return "done"

{gone}
model = ScriptedModel([" x\\nAction: act()", " x\\nFinal Answer: 4"])
context = Engine(model, [act], approve={{"act": True}}).run("Go")
print(context.steps[0].observations[0].status)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.strip() == "denied"
