"""Our own hooks: the limits of a run, repeated calls, tools that keep failing, direct results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from reactext.errors import LimitReached
from reactext.given import Count, Limit, checked
from reactext.hooks import AnswerNow, FinishRun, Hook, Moment, Proceed
from reactext.models import Action, Observation

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

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Run the action unless that would go beyond a limit."""
        late = self.max_seconds is not None and moment.seconds >= self.max_seconds
        if late or (
            self.max_tool_calls is not None
            and _calls_done(moment) + _place(action) > self.max_tool_calls
        ):
            limit = "time" if late else "tool calls"
            return Observation(
                action_id=action.id,
                tool=action.tool,
                text=f"Not run: the limit of {limit} for this question is reached.",
                status="skipped",
            )
        return proceed(action)

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


def _calls_done(moment: Moment) -> int:
    return sum(
        observation.status not in ("skipped", "denied", "repeated")
        for step in moment.context.steps
        for observation in step.observations
    )


def _place(action: Action) -> int:
    """The place of an action in its turn, counted from 1: its id ends in it."""
    return int(action.id.rpartition(".")[2])


class RepeatGuard(Hook):
    """Answers a repeated call with its earlier result, and ends a run that only repeats itself.

    Only an idempotent tool's earlier result stands for a new one; other tools are run again. A
    tool marked ``repeatable`` (a clock, a poll) may be called with the same arguments as often as
    it likes. After ``most`` repeats the model is asked for its answer.
    """

    def __init__(self, most: int = 4) -> None:
        self.most = most
        self._runs: dict[str, _Repeats] = {}

    def before_step(self, moment: Moment) -> None:
        """Raise `AnswerNow` when the run repeats itself."""
        context = moment.context
        repeats = self._runs.setdefault(context.run_id, _Repeats())
        for step in context.steps[repeats.steps :]:
            keys = {_key(each) for each in step.turn.actions if not _may_repeat(moment, each)}
            repeats.count += len(keys & repeats.seen)
            repeats.seen |= keys
            repeats.steps += 1
        if repeats.count >= self.most:
            raise AnswerNow("repeating")

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Return the earlier result of the same call, if there is one that stands."""
        tool = moment.toolbox.get(action.tool)
        if tool is None or not tool.idempotent or tool.repeatable:
            return proceed(action)
        for earlier, observation in _history(moment):
            if observation.status == "ok" and _same(earlier, action):
                return observation.model_copy(
                    update={
                        "action_id": action.id,
                        "status": "repeated",
                        "text": f"(the same call gave this before) {observation.text}",
                        "seconds": 0.0,
                    }
                )
        return proceed(action)

    def at_end(self, moment: Moment) -> None:
        """Forget the run."""
        self._runs.pop(moment.context.run_id, None)


@dataclass
class _Repeats:
    """What was called in one run, looked at up to so many steps."""

    steps: int = 0
    count: int = 0
    seen: set[str] = field(default_factory=set)


def _may_repeat(moment: Moment, action: Action) -> bool:
    tool = moment.toolbox.get(action.tool)
    return tool is not None and tool.repeatable


def _key(action: Action) -> str:
    """The canonical form of a call: the same for the same tool with equal arguments."""
    named = json.dumps(action.kwargs, sort_keys=True, ensure_ascii=False, default=repr)
    return f"{action.tool} {json.dumps(action.args, ensure_ascii=False, default=repr)} {named}"


def _same(one: Action, other: Action) -> bool:
    return one.tool == other.tool and one.kwargs == other.kwargs and one.args == other.args


def _history(moment: Moment) -> Iterator[tuple[Action, Observation]]:
    """All calls of the run so far with their observations, the latest first."""
    for step in reversed(moment.context.steps):
        yield from zip(reversed(step.turn.actions), reversed(step.observations), strict=False)


@dataclass(frozen=True)
class SetAside(Hook):
    """Stops running a tool that has failed so many times in a row, and says so."""

    failures: int = 3

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Run the action unless its tool has only been failing."""
        own = (seen.status for _, seen in _history(moment) if seen.tool == action.tool)
        lately = list(islice(own, self.failures))
        if len(lately) == self.failures and set(lately) <= {"error", "timeout", "skipped"}:
            return Observation(
                action_id=action.id,
                tool=action.tool,
                text=(
                    f"Not run: {action.tool} failed {self.failures} times in a row and is set "
                    "aside. Go on without it, or answer from what is known."
                ),
                status="skipped",
            )
        return proceed(action)


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
