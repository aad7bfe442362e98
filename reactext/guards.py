"""Our own hooks: the limits of a run, repeated calls, tools that keep failing, direct results."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reactext.arguments import ArgumentError, validate
from reactext.errors import LimitReached
from reactext.given import Count, Limit, checked
from reactext.hooks import AnswerNow, FinishRun, Hook, Moment, Proceed
from reactext.models import Action, Observation, Turn
from reactext.running.calls import can_run
from reactext.tools import Parameter, Tool

OnLimit = Literal["answer", "error"]


@checked
@dataclass(frozen=True)
class Limits(Hook):
    """Ends a run that has taken enough steps, seconds, tokens or tool calls.

    ``on_limit="answer"`` asks the model for its answer, "error" raises `LimitReached`. Limits are
    looked at before work is begun; what runs is let finish.
    """

    max_steps: Count = 10
    max_seconds: Limit | None = None
    max_tokens: Count | None = None
    max_tool_calls: Count | None = None
    on_limit: OnLimit = "answer"

    def before_step(self, moment: Moment) -> None:
        """Raise `AnswerNow` or `LimitReached` when a limit is reached."""
        reason = self._reached(moment)
        if reason and self.on_limit == "error":
            raise LimitReached(
                f"the run reached its {reason} ({getattr(self, reason)}) after "
                f"{len(moment.context.steps)} steps; raise the limit, or let the model answer "
                'from what is known with on_limit="answer"'
            )
        if reason:
            raise AnswerNow(reason)

    def after_turn(self, moment: Moment, turn: Turn) -> Turn:
        """Decide, in the order of the calls, which of them may still be started."""
        for action in turn.actions:
            self._is_within(moment, action)
        return turn

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Run the action unless that would go beyond a limit."""
        if self.max_seconds is not None and moment.seconds >= self.max_seconds:
            return _not_run(action, "Not run: the limit of time for this question is reached.")
        if not self._is_within(moment, action):
            limit = "Not run: the limit of tool calls for this question is reached."
            return _not_run(action, limit)
        return proceed(action)

    def _is_within(self, moment: Moment, action: Action) -> bool:
        if self.max_tool_calls is None or not _would_run(moment, action):
            return True
        plan: _Plan = moment.memory.setdefault(_Plan, _Plan())
        return plan.admits(moment, action, self.max_tool_calls)

    def _reached(self, moment: Moment) -> str:
        usage = moment.context.usage
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        for name, used in (
            ("max_steps", len(moment.context.steps)),
            ("max_seconds", moment.seconds),
            ("max_tokens", tokens),
            ("max_tool_calls", _calls_done(moment)),
        ):
            limit = getattr(self, name)
            if limit is not None and used >= limit:
                return name
        return ""


@dataclass
class _Plan:
    """Which calls of a step may be started, since they are within the number of calls."""

    step: int = -1
    started: int = 0
    admitted: dict[str, bool] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def admits(self, moment: Moment, action: Action, most: int) -> bool:
        with self.lock:  # one that is started early asks in a thread of its own
            if self.step != len(moment.context.steps):
                self.step, self.admitted = len(moment.context.steps), {}
                self.started = _calls_done(moment)
            if action.id not in self.admitted:
                self.admitted[action.id] = self.started < most
                self.started += self.admitted[action.id]
            return self.admitted[action.id]


def _calls_done(moment: Moment) -> int:
    """The calls for which a tool was really run."""
    return sum(seen.attempts > 0 for step in moment.context.steps for seen in step.observations)


def _would_run(moment: Moment, action: Action) -> bool:
    """Whether a call starts its tool, as far as our own guards know."""
    return (
        can_run(moment.toolbox, action)
        and _Repeats.of(moment).earlier(moment, action) is None
        and not _is_set_aside(moment, action.tool)
    )


def _not_run(action: Action, text: str) -> Observation:
    return Observation(
        action_id=action.id, tool=action.tool, text=text, status="skipped", attempts=0
    )


class RepeatGuard(Hook):
    """Answers a repeated call with its earlier result, and ends a run that only repeats itself.

    Calls are the same when their tool and their arguments are, as the tool would be given them.
    Only an idempotent tool's earlier result stands for a new one; other tools are run again. A
    tool marked ``repeatable`` (a clock, a poll) may be called with the same arguments as often as
    it likes. After ``most`` repeats the model is asked for its answer.
    """

    def __init__(self, most: int = 4) -> None:
        self.most = most

    def before_step(self, moment: Moment) -> None:
        """Raise `AnswerNow` when the run repeats itself."""
        repeats = _Repeats.of(moment)
        repeats.look_at(moment)
        if repeats.count >= self.most:
            raise AnswerNow("repeating")

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Return the earlier result of the same call, if there is one that stands."""
        observation = _Repeats.of(moment).earlier(moment, action)
        if observation is None:
            return proceed(action)
        return observation.model_copy(
            update={
                "action_id": action.id,
                "status": "repeated",
                "text": f"(the same call gave this before) {observation.text}",
                "seconds": 0.0,
                "attempts": 0,
            }
        )


@dataclass
class _Repeats:
    """What was called in one run, looked at up to so many steps."""

    steps: int = 0
    count: int = 0
    seen: set[str] = field(default_factory=set)
    results: dict[str, Observation] = field(default_factory=dict)

    @staticmethod
    def of(moment: Moment) -> _Repeats:
        repeats: _Repeats = moment.memory.setdefault(_Repeats, _Repeats())
        return repeats

    def look_at(self, moment: Moment) -> None:
        """Take the steps into account that are new."""
        for step in moment.context.steps[self.steps :]:
            keys = set()
            for action, seen in zip(step.turn.actions, step.observations, strict=False):
                tool = moment.toolbox.get(action.tool)
                if tool is None or not tool.repeatable:
                    keys.add(key := _key(tool, action))
                    if tool is not None and tool.idempotent and seen.status == "ok":
                        self.results[key] = seen
            self.count += len(keys & self.seen)
            self.seen |= keys
            self.steps += 1

    def earlier(self, moment: Moment, action: Action) -> Observation | None:
        """Return the result that stands for that of a call, if there is one."""
        tool = moment.toolbox.get(action.tool)
        if tool is None or not tool.idempotent or tool.repeatable or not self.results:
            return None
        return self.results.get(_key(tool, action))


def _key(tool: Tool | None, action: Action) -> str:
    """The canonical form of a call: the same for all ways to write the same arguments."""
    try:
        return f"{action.tool} {json.dumps(_arguments(tool, action), sort_keys=True)}"
    except Exception:  # the values of the caller's types, and their serializers, can be anything
        return f"{action.tool} {action.args!r} {action.kwargs!r}"


def _arguments(tool: Tool | None, action: Action) -> Any:
    if tool is None:
        return [action.args, action.kwargs]
    try:
        values = validate(tool, action.kwargs, action.args)
    except ArgumentError:
        return [action.args, action.kwargs]
    return {each.name: _plain(each, values) for each in tool.parameters}


def _plain(parameter: Parameter, values: Mapping[str, Any]) -> Any:
    """Return an argument, or the default where it was left out, as JSON has it."""
    value = values.get(parameter.name, parameter.default)
    if parameter.adapter is None:
        return value
    return parameter.adapter.dump_python(value, mode="json", warnings=False)


FAILURES = 3
"""A tool that has only failed in so many steps in a row is set aside."""


class SetAside(Hook):
    """Stops running a tool that keeps failing, and says so."""

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Run the action unless its tool has only been failing."""
        if not _is_set_aside(moment, action.tool):
            return proceed(action)
        return _not_run(
            action,
            f"Not run: {action.tool} failed {FAILURES} times in a row and is set aside. Go on "
            "without it, or answer from what is known.",
        )


def _is_set_aside(moment: Moment, tool: str) -> bool:
    """Whether a tool has failed in all of the latest steps in which it was really run.

    By steps, since calls of one step fail together, before the model has read of it; and a call
    that was refused is no failure of the tool.
    """
    failures = 0
    for step in reversed(moment.context.steps):
        own = {each.status for each in step.observations if each.tool == tool and each.attempts}
        if own and not own <= {"error", "timeout"}:
            return False
        failures += bool(own)
        if failures == FAILURES:
            return True
    return False


class ReturnDirect(Hook):
    """Ends the run with the result of a tool that is marked ``return_direct``."""

    def before_step(self, moment: Moment) -> None:
        """Raise `FinishRun` after a step in which such a tool was called."""
        if not moment.context.steps:
            return
        for observation in moment.context.steps[-1].observations:
            tool = moment.toolbox.get(observation.tool)
            if tool is not None and tool.return_direct and observation.status == "ok":
                answer = observation.text if observation.full is None else observation.full
                raise FinishRun(answer, f"return_direct: {tool.name}")
