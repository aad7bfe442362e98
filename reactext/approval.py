"""A person decides on an action before it is run: as it is, changed, not at all, or answered."""

from __future__ import annotations

import difflib
import fnmatch
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from reactext.canonical import call_text
from reactext.errors import SetupError
from reactext.given import Such, checked
from reactext.hooks import Hook, Moment, Proceed
from reactext.models import Action, Observation
from reactext.running.calls import can_run
from reactext.running.forks import ForkLock


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
"""A function that decides on each action, or patterns of tool names (``"delete_*"``): True asks on
the terminal, False lets it run, a function decides. Names that no pattern fits are run; the first
pattern that fits counts."""


@checked
class Approval(Hook):
    """Asks before an action is run; the other actions of its turn go on meanwhile.

    True and False as a decision mean `Approved` and `Rejected`.
    """

    def __init__(self, approve: Approve) -> None:
        if callable(approve):
            approve = {"*": approve}
        self._askers = [(pattern, _asker(each)) for pattern, each in approve.items()]

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Run the action, or what it was changed to, or say why it was not run.

        A call that cannot be run as it is written is answered with what is wrong, and nobody is
        asked.
        """
        if not can_run(moment.toolbox, action):
            return proceed(action)
        ask = next(
            (ask for name, ask in self._askers if fnmatch.fnmatchcase(action.tool, name)), None
        )
        decision = Approved() if ask is None else _decision(ask(action, moment))
        match decision:
            case Approved():
                return proceed(action)
            case Edited():
                edited = action.model_copy(
                    update={
                        "tool": decision.tool or action.tool,
                        "args": (),
                        "kwargs": dict(decision.kwargs),
                        "problem": None,
                    }
                )
                observation = proceed(edited)
                tool = moment.toolbox.get(edited.tool)
                if tool is not None and tool.return_direct:
                    return observation
                call = call_text(edited.tool, kwargs=edited.kwargs)
                told = f"(the call was changed to {call}) {observation.text}"
                return observation.model_copy(update={"text": told})
            case Rejected():
                told = decision.message or "do it another way, or answer without it"
                return _instead(action, f"This call was not allowed: {told}", "denied")
            case Answered():
                return _instead(action, decision.text, "ok")


def _asker(given: bool | Ask) -> Ask:
    if given is True:
        return ask_on_terminal
    if given is False:
        return lambda _action, _moment: Approved()
    return given


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
    return Observation(action_id=action.id, tool=action.tool, text=text, status=status)


_TERMINAL = ForkLock()


def ask_on_terminal(action: Action, moment: Moment) -> Decision:
    """Ask a person on the terminal; rejects when there is none to ask.

    One question at a time, though the actions of a turn run side by side.
    """
    if not sys.stdin.isatty():
        return Rejected("it needs a person's approval and nobody is there to give it")
    with _TERMINAL:
        _say(f"\nRun {call_text(action.tool, action.args, action.kwargs)} ?")
        while not moment.cancellation.cancelled:
            _say("  [y]es  [n]o  [e]dit the arguments  [a]nswer in its place: ", end="")
            match input().strip().lower()[:1]:
                case "y":
                    return Approved()
                case "n":
                    _say("  why (the model reads it): ", end="")
                    return Rejected(input().strip())
                case "a":
                    _say("  the result: ", end="")
                    return Answered(input().strip())
                case "e":
                    edited = _edit(action)
                    if edited is not None:
                        return edited
    return Rejected("the run was cancelled")


def _edit(action: Action) -> Edited | None:
    before = json.dumps(action.kwargs, ensure_ascii=False, indent=2)
    _say(f"  the arguments now, as JSON:\n{before}\n  write them anew, on one line: ", end="")
    try:
        kwargs = json.loads(input())
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
    return Edited(kwargs) if input().strip().lower().startswith("y") else None


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)
