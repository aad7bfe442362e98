"""One call of a tool from the arguments to the observation: validated, limited, tried again."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import monotonic

from reactext.arguments import ArgumentError, call_arguments, validate
from reactext.cancellation import Cancellation
from reactext.canonical import call_text
from reactext.given import Limit, checked
from reactext.models import Action, Observation, ObservationStatus
from reactext.observing import error_text
from reactext.running.attempts import NOT_RUN, Progress, attempted
from reactext.running.gate import Gate, Place
from reactext.running.outcomes import Outcome
from reactext.running.places import launch_for
from reactext.tools import (
    RunContext,
    Tool,
    Toolbox,
    example_call,
    unknown_tool_text,
)

ASKED_RETRIES = 2
"""So often a call is tried again because its tool raises `Retry`, if ``retries`` says no more."""

LONGEST_DELAY = 30.0
"""A tool that asks for more seconds than these until its next attempt is not tried again."""


@checked
@dataclass(frozen=True, slots=True)
class CallLimits:
    """What holds for every call of an engine, where its tool says nothing else.

    ``tool_timeout`` is in seconds; None is no limit. ``backoff`` are the seconds before a second
    attempt, more before a third. With ``debug`` the model is shown tracebacks.
    """

    tool_timeout: Limit | None = 30.0
    backoff: float = 0.5
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of an engine, their limits, and a gate for each, shared by all runs."""

    toolbox: Toolbox
    limits: CallLimits
    gates: Mapping[str, Gate] = field(init=False)

    def __post_init__(self) -> None:
        gates = {tool.name: Gate(tool.max_concurrency) for tool in self.toolbox}
        object.__setattr__(self, "gates", gates)


def perform(workshop: Workshop, action: Action, context: RunContext) -> Observation:
    """Run an action; whatever is wrong with it or its tool becomes the observation."""
    tool = workshop.toolbox.get(action.tool)
    if tool is None:
        return _refused(action, unknown_tool_text(action.tool, workshop.toolbox))
    if action.problem is not None:
        return _refused(action, _problem_text(tool, action.problem))
    return _tried(workshop, tool, action, context)


def can_run(toolbox: Toolbox, action: Action) -> bool:
    """Whether there is such a tool and it takes these arguments."""
    tool = toolbox.get(action.tool)
    if tool is None or action.problem is not None:
        return False
    try:
        validate(tool, action.kwargs, action.args)
    except Exception:  # whatever `perform` makes of it
        return False
    return True


def _refused(action: Action, text: str) -> Observation:
    return Observation(action_id=action.id, tool=action.tool, text=text, status="error", attempts=0)


def _problem_text(tool: Tool, problem: str) -> str:
    right = example_call(tool)
    if right in problem:
        return problem
    return f"{problem.rstrip('. ')}. Write it like this: {right}"


def _tried(workshop: Workshop, tool: Tool, action: Action, context: RunContext) -> Observation:
    """Attempt a call, again where that is allowed, and tell of it in one observation."""
    began = monotonic()
    attempts = 0
    while True:
        outcome = _attempt(workshop, tool, action, context)
        attempts += outcome.ending not in ("skipped", "refused")
        delay = _delay(workshop.limits.backoff, tool, outcome, attempts)
        if delay is None or context.cancellation.wait(delay):
            break
    return _observation(workshop.limits, tool, action, outcome, attempts, monotonic() - began)


def _attempt(workshop: Workshop, tool: Tool, action: Action, context: RunContext) -> Outcome:
    """Run the tool once, with arguments of its own: an earlier attempt may have changed others."""
    try:
        values = validate(tool, action.kwargs, action.args)
        written = action.text or call_text(tool.name, action.args, action.kwargs)
    except ArgumentError as error:
        return Outcome("refused", str(error).removeprefix(f"{tool.name} "))
    except Exception as error:  # values can be nested deeper than Python likes
        return Outcome("refused", f"was not run: {error_text(error)}")
    gate, place = workshop.gates[tool.name], Place()
    entered = gate.enter(place, context.cancellation)
    if entered == "cancelled":
        return NOT_RUN
    if entered == "refused":
        which = "call of it is" if gate.overdue == 1 else "calls of it are"
        which = f"{gate.overdue} earlier {which}"
        return Outcome("refused", f"was not run: {which} past the time limit and still at work")
    told = Cancellation()
    positional, named = call_arguments(tool, values, replace(context, cancellation=told))
    launch = launch_for(tool, positional, named, written, context)
    progress = Progress(lambda: gate.leave(place))
    limit = workshop.limits.tool_timeout if tool.timeout is None else tool.timeout
    seconds = math.inf if limit is None else limit
    outcome = attempted(launch, progress, seconds, context.cancellation)
    if outcome.ending in ("timeout", "cancelled"):
        told.cancel(context.cancellation.reason or "time is up")
        gate.give_up(place)
    return outcome


def _delay(backoff: float, tool: Tool, outcome: Outcome, attempts: int) -> float | None:
    """Return the seconds until the next attempt, or None if there is none to be."""
    asked = outcome.again_after
    retries = tool.retries if asked is None else max(tool.retries, ASKED_RETRIES)
    if (
        outcome.ending != "error"
        or attempts > retries
        or not (tool.idempotent or asked is not None)
    ):
        return None
    if asked is not None and asked > LONGEST_DELAY:
        return None
    # spread, so that calls that failed together do not come back together
    return max(asked or 0.0, backoff * 2.0 ** (attempts - 1) * random.uniform(0.5, 1.5))


_STATUSES: dict[str, ObservationStatus] = {
    "ok": "ok",
    "error": "error",
    "timeout": "timeout",
    "cancelled": "error",
    "skipped": "skipped",
    "refused": "error",
}


def _observation(
    limits: CallLimits, tool: Tool, action: Action, outcome: Outcome, attempts: int, seconds: float
) -> Observation:
    text = outcome.text
    if outcome.ending != "ok":
        text = f"{tool.name} {text}" if outcome.detail is None else f"{tool.name} failed: {text}"
        if attempts > 1:
            text += f" ({attempts} attempts)"
        if limits.debug and outcome.detail is not None:
            text += f"\n{outcome.detail}"
    return Observation(
        action_id=action.id,
        tool=action.tool,
        text=text,
        status=_STATUSES[outcome.ending],
        seconds=seconds,
        attempts=attempts,
        detail=outcome.detail,
    )
