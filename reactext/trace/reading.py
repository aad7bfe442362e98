"""Builds runs again from the lines of a trace, also from one that was cut anywhere."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from reactext.errors import SetupError
from reactext.jsonl import read_objects
from reactext.models import Action, Correction, Observation, Turn, Usage
from reactext.trace.values import Asked, Called, TracedRun, TracedStep
from reactext.tracing import FORMAT


def read_trace(path: str | os.PathLike[str]) -> tuple[TracedRun, ...]:
    """Return the runs that a trace tells of, in the order in which they began.

    ``path`` is a file, or a directory of such. A line that cannot be read (the last one of a
    process that was killed) is counted and passed over. Raises SetupError when there is no file,
    or when a newer version wrote it.
    """
    place = Path(path)
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    runs: list[TracedRun] = []
    for file in files:
        try:
            runs += _runs(read_objects(file))
        except OSError as error:
            raise SetupError(f"there is no trace to read at {str(file)!r}: {error}") from error
    return tuple(sorted(runs, key=lambda run: run.started))


def _runs(lines: Iterable[dict[str, Any] | None]) -> Iterator[TracedRun]:
    """Tell the runs of one file apart; a run id that begins again is another run."""
    told: list[_Run] = []
    latest: dict[str, _Run] = {}
    unreadable = 0
    for line in lines:
        _refuse_later_format(line)
        try:
            event, run_id, at = _head(line)
            if event == "start" or run_id not in latest:
                latest[run_id] = _Run(run_id)
                told.append(latest[run_id])
            latest[run_id].take(event, at, line or {})
        except (KeyError, TypeError, SetupError):
            unreadable += 1
    for run in told:
        yield run.built(unreadable)


def _head(line: dict[str, Any] | None) -> tuple[str, str, float]:
    if line is None:
        raise TypeError("not an object")
    event, run_id, at = line["event"], line["run"], line["at"]
    if not 0 <= at < math.inf:
        raise TypeError(f"{at!r} is no time")
    return _checked(event, str), _checked(run_id, str), at


def _refuse_later_format(line: dict[str, Any] | None) -> None:
    written = (line or {}).get("format")
    if isinstance(written, int | float) and written > FORMAT:
        raise SetupError(
            f"this trace has format {written} and was written by reactext "
            f"{(line or {}).get('reactext')}; read it with that version"
        )


@dataclass(slots=True)
class _Asking:
    """A prompt while the pieces of its completion are read."""

    asked: Asked
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)

    def take(self, at: float, line: dict[str, Any]) -> None:
        pieces = self.thinking if line.get("channel") == "thinking" else self.text
        pieces.append(_checked(line["text"], str))
        self.changes.setdefault("first", at)
        self.changes["last"] = at
        if "usage" in line:  # what was counted so far: the latest counts
            self.changes["usage"] = Usage(**line["usage"])
        if "finish" in line:
            self.changes["finish"] = _checked(line["finish"], str)

    def built(self) -> Asked:
        text, thinking = "".join(self.text), "".join(self.thinking)
        return self.asked.model_copy(update={**self.changes, "text": text, "thinking": thinking})


@dataclass(slots=True)
class _Step:
    """A step while its lines are read."""

    number: int
    begun: float
    ended: float | None = None
    asking: list[_Asking] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    turn: Turn | None = None
    calls: dict[str, Called] = field(default_factory=dict)

    def built(self) -> TracedStep:
        return TracedStep(
            number=self.number,
            begun=self.begun,
            ended=self.ended,
            asked=tuple(each.built() for each in self.asking),
            corrections=tuple(self.corrections),
            turn=self.turn,
            calls=tuple(self._in_order()),
        )

    def _in_order(self) -> Iterator[Called]:
        """The calls as the model wrote them, not as they began."""
        written = self.turn.actions if self.turn else ()
        for action in written:
            yield self.calls.get(action.id) or Called(action=action)
        ids = {action.id for action in written}
        yield from (call for key, call in self.calls.items() if key not in ids)


class _Run:
    """A run while its lines are read."""

    def __init__(self, run_id: str) -> None:
        self._run = TracedRun(run_id=run_id)
        self._steps: dict[int, _Step] = {}
        self._seconds = 0.0

    def take(self, event: str, at: float, line: dict[str, Any]) -> None:
        """Take one line in; events of other names are those of a later version."""
        take = {
            "start": self._start,
            "prompt": self._prompt,
            "text": self._text,
            "turn": self._turn,
            "correction": self._correction,
            "action": self._action,
            "observation": self._observation,
            "step": self._end_of_step,
            "end": self._end,
        }.get(event)
        if take is not None:
            take(at, line)
        self._seconds = max(self._seconds, at)

    def built(self, unreadable: int) -> TracedRun:
        steps = tuple(step.built() for step in self._steps.values())
        usage = self._run.usage
        if self._run.status == "running":
            usage = sum((asked.usage for step in steps for asked in step.asked), Usage())
        return self._run.model_copy(
            update={
                "steps": steps,
                "usage": usage,
                "seconds": self._seconds,
                "unreadable": unreadable,
            }
        )

    def _start(self, _: float, line: dict[str, Any]) -> None:
        self._learn(
            task=line["task"],
            started=line["time"],
            version=line["reactext"],
            tools=line["tools"],
        )

    def _end(self, _: float, line: dict[str, Any]) -> None:
        self._learn(**{name: line[name] for name in ("status", "stop_reason", "answer", "usage")})

    def _learn(self, **facts: Any) -> None:
        self._run = TracedRun(**{**dict(self._run), **facts})

    def _prompt(self, at: float, line: dict[str, Any]) -> None:
        asked = Asked(
            model=line["model"],
            sha256=line["sha256"],
            characters=line["characters"],
            prompt=line.get("text"),
            begun=at,
        )
        self._step(line, at).asking.append(_Asking(asked))

    def _text(self, at: float, line: dict[str, Any]) -> None:
        asking = self._latest(at).asking
        if not asking:
            asking.append(_Asking(Asked(begun=at)))
        asking[-1].take(at, line)

    def _turn(self, at: float, line: dict[str, Any]) -> None:
        self._step(line, at).turn = Turn(**line["turn"])

    def _correction(self, at: float, line: dict[str, Any]) -> None:
        self._step(line, at).corrections.append(Correction(**line["correction"]))

    def _action(self, at: float, line: dict[str, Any]) -> None:
        action = Action(**line["action"])
        self._latest(at).calls[action.id] = Called(action=action, begun=at)

    def _observation(self, at: float, line: dict[str, Any]) -> None:
        observation = Observation(**line["observation"])
        key = observation.action_id
        begun = (step for step in reversed(self._steps.values()) if key in step.calls)
        step = next(begun, None) or self._latest(at)
        if step.ended is not None:  # a tool may return after its run has given it up
            return
        call = step.calls.get(key) or Called(action=_written(step, observation))
        step.calls[key] = call.model_copy(update={"observation": observation, "ended": at})

    def _end_of_step(self, at: float, line: dict[str, Any]) -> None:
        step = self._step(line, at)
        step.ended = at
        if "turn" in line:
            step.turn = Turn(**line["turn"])

    def _step(self, line: dict[str, Any], at: float) -> _Step:
        number = _checked(line["step"], int)
        return self._steps.setdefault(number, _Step(number, at))

    def _latest(self, at: float) -> _Step:
        if not self._steps:
            return self._step({"step": 1}, at)
        return next(reversed(self._steps.values()))


_Kind = TypeVar("_Kind", str, int)


def _checked(value: Any, kind: type[_Kind]) -> _Kind:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _written(step: _Step, observation: Observation) -> Action:
    """The action of an observation that came without being run, as the turn has it."""
    for action in step.turn.actions if step.turn else ():
        if action.id == observation.action_id:
            return action
    return Action(id=observation.action_id, tool=observation.tool)
