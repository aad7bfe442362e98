"""A person decides on an action before it is run: as it is, changed, not at all, or answered."""

from __future__ import annotations

import difflib
import fnmatch
import inspect
import json
import select
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from reactext.arguments import copied
from reactext.cancellation import Cancellation
from reactext.canonical import call_text
from reactext.errors import SetupError
from reactext.forking import ForkLock
from reactext.given import Such, checked, shown
from reactext.hooks import Hook, Moment, Proceed, handed
from reactext.models import Action, Observation
from reactext.running.calls import can_run
from reactext.running.places import is_async
from reactext.tools import Toolbox
from reactext.visible import visible


@checked
@dataclass(frozen=True, slots=True)
class Approved:
    """Run the action as the model wrote it."""


@checked
@dataclass(frozen=True, slots=True)
class Edited:
    """Run it with other arguments, or another tool; they are validated like the model's own."""

    kwargs: Mapping[str, Any]
    tool: str | None = None


@checked
@dataclass(frozen=True, slots=True)
class Rejected:
    """Do not run it; the model reads the message."""

    message: str = ""


@checked
@dataclass(frozen=True, slots=True)
class Answered:
    """Do not run it; the model reads this text as its result."""

    text: str


Decision = Approved | Edited | Rejected | Answered
Ask = Callable[[Action, Moment], Decision | bool]
Approve = Annotated[
    Ask | Mapping[str, bool | Ask],
    Such('a function of an action and a moment, or a mapping such as {"delete_*": True}'),
]
"""A function of an action and a `Moment` that decides on each call, or patterns of tool names
(``"delete_*"``): True asks on the terminal, False lets it run, a function decides. Names that no
pattern fits are run; the first pattern that fits counts."""


@checked
class Approval(Hook):
    """Asks before an action is run; the other actions of its turn go on meanwhile.

    True and False as a decision mean `Approved` and `Rejected`.
    """

    def __init__(self, approve: Approve, toolbox: Toolbox) -> None:
        if callable(approve):
            approve = {"*": approve}
        for pattern, each in approve.items():
            _check_pattern(pattern, toolbox)
            if not isinstance(each, bool) and not _takes_two(each):
                raise SetupError(
                    f"the approve function {shown(each)} must take two arguments: the action and "
                    "the moment"
                )
            if not isinstance(each, bool) and is_async(each):
                raise SetupError(
                    f"the approve function {shown(each)} is async; it is called in a thread of "
                    "the action's own and may wait there: write it without async"
                )
        self._askers = [(pattern, _asker(each)) for pattern, each in approve.items()]

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Run the action, or what it was changed to, or say why it was not run.

        A call that cannot be run as it is written is answered with what is wrong, and nobody is
        asked. Who has approved one tool has not approved another: what was changed to a call of
        another tool is put to that tool's own pattern too, each pattern once.
        """
        asked: set[str] = set()
        current = action
        while can_run(moment.toolbox, current):
            pattern, ask = self._asker_of(current.tool)
            if pattern in asked:
                break
            asked.add(pattern)
            match _decision(ask(handed(current), moment)):
                case Approved():
                    break
                case Edited() as edited:
                    current = _edited(current, edited)
                case Rejected() as rejected:
                    told = rejected.message or "do it another way, or answer without it"
                    return _instead(action, f"This call was not allowed: {told}", "denied")
                case Answered() as answered:
                    return _instead(action, answered.text, "ok")
        observation = proceed(current)
        tool = moment.toolbox.get(current.tool)
        if current is action or (tool is not None and tool.return_direct):
            return observation
        call = call_text(current.tool, kwargs=current.kwargs)
        told = f"(the call was changed to {call}) {observation.text}"
        return observation.model_copy(update={"text": told})

    def _asker_of(self, tool: str) -> tuple[str, Ask]:
        fitting = (each for each in self._askers if fnmatch.fnmatchcase(tool, each[0]))
        return next(fitting, ("", _asker(False)))


def _check_pattern(pattern: str, toolbox: Toolbox) -> None:
    """Raise SetupError for a pattern that fits no tool: it would guard nothing."""
    if pattern == "*" or any(fnmatch.fnmatchcase(name, pattern) for name in toolbox.names):
        return
    alike = toolbox.nearest(pattern.strip("*?"))
    guess = f"; did you mean {' or '.join(alike)}?" if alike else "."
    raise SetupError(
        f"approve has the pattern {pattern!r}, which fits no tool{guess} The tools are: "
        f"{', '.join(toolbox.names) or 'none'}"
    )


def _edited(action: Action, edited: Edited) -> Action:
    return action.model_copy(
        update={
            "tool": edited.tool or action.tool,
            "args": (),
            "kwargs": copied(dict(edited.kwargs)),
            "problem": None,
        }
    )


def _asker(given: bool | Ask) -> Ask:
    if given is True:
        return ask_on_terminal
    if given is False:
        return lambda _action, _moment: Approved()
    return given


def _takes_two(ask: Ask) -> bool:
    try:
        inspect.signature(ask).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # some functions written in C have no signature
        return True
    return True


def _decision(given: Decision | bool) -> Decision:
    if isinstance(given, bool):
        return Approved() if given else Rejected()
    if isinstance(given, Approved | Edited | Rejected | Answered):
        return given
    raise SetupError(
        f"the approve function returned {given!r}; return Approved(), Edited(…), Rejected(…), "
        "Answered(…), True or False"
    )


def _instead(action: Action, text: str, status: Any) -> Observation:
    return Observation(action_id=action.id, tool=action.tool, text=text, status=status, attempts=0)


_TERMINAL = ForkLock()


def ask_on_terminal(action: Action, moment: Moment) -> Decision:
    """Ask a person on the terminal; rejects when there is none to ask, or who ends
    the input, and when the run ends meanwhile.

    One question at a time, though the actions of a turn run side by side.
    """
    if not _is_there():
        return Rejected("it needs a person's approval and nobody is there to give it")
    try:
        return _asked(action, moment)
    except EOFError:
        if moment.cancellation.cancelled:  # the program may be ending: nothing is written to it
            return Rejected("the run was cancelled")
        _say("\n  no decision: the call is not run")
        return Rejected("the person who was asked did not approve it")


def _is_there() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # a program without one, or that has closed it
        return False


def _asked(action: Action, moment: Moment) -> Decision:
    run = moment.cancellation
    with _TERMINAL:
        if run.cancelled:
            raise EOFError
        _say(f"\nRun {call_text(action.tool, action.args, action.kwargs)} ?")
        while True:
            _say("  [y]es  [n]o  [e]dit the arguments  [a]nswer in its place: ", end="")
            match _line(run).lower()[:1]:
                case "y":
                    return Approved()
                case "n":
                    _say("  why (the model reads it): ", end="")
                    return Rejected(_line(run))
                case "a":
                    _say("  the result: ", end="")
                    return Answered(_line(run))
                case "e":
                    edited = _edit(action, run)
                    if edited is not None:
                        return edited


def _line(run: Cancellation) -> str:
    """Return the line that the person writes; EOFError on Ctrl-D, and when the run is cancelled.

    It is read when it is there. A thread that waits in the reading itself would wait on when the
    run has ended, and the interpreter cannot end in peace while one does.
    """
    while not _is_written():
        if run.wait(0.05):
            raise EOFError
    return input().strip()


def _is_written() -> bool:
    try:
        return bool(select.select([sys.stdin], [], [], 0)[0])
    except (OSError, ValueError, TypeError):  # not to be known: on Windows, of no file
        return True


def _edit(action: Action, run: Cancellation) -> Edited | None:
    before = json.dumps(action.kwargs, ensure_ascii=False, indent=2)
    _say(f"  the arguments now, as JSON:\n{before}\n  write them anew, on one line: ", end="")
    try:
        kwargs = json.loads(_line(run))
    except ValueError as error:
        _say(f"  this is not JSON: {error}")
        return None
    if not isinstance(kwargs, dict):
        _say("  the arguments are an object: {name: value}")
        return None
    after = json.dumps(kwargs, ensure_ascii=False, indent=2)
    for line in difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=9):
        if not line.startswith(("---", "+++", "@@")):
            _say(f"    {line}")
    _say("  run it like this? [y]es: ", end="")
    return Edited(kwargs) if _line(run).lower().startswith("y") else None


def _say(text: str, end: str = "\n") -> None:
    """Tell the person; a text that shows as another would be approved for what it is not."""
    print(visible(text), end=end, file=sys.stderr, flush=True)
