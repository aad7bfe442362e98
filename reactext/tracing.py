"""Writes what happens in a run to a file, line by line, while it happens.

Each line is a JSON object and is in the file before the run goes on, so that a process that is
killed leaves all that happened until then. `reactext.trace` reads such files. Nothing of a model's
options (keys, headers) and nothing of a run's ``deps`` is ever written.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reactext._version import __version__
from reactext.completion import Piece
from reactext.errors import SetupError
from reactext.forking import ForkLock
from reactext.given import checked
from reactext.hooks import Event, Hook, Moment, Proceed
from reactext.jsonl import append, line_of
from reactext.models import Action, Correction, Observation, Step, Turn, Value

FORMAT = 1
"""The number of the format, in the first line of each run."""

_LONGEST_NAME = 150

logger = logging.getLogger("reactext")


@dataclass(slots=True)
class _Running:
    """What is remembered of a run until it ends: where it goes, and what its step has written."""

    path: Path
    steps: int = 0
    turn: Turn | None = None
    observations: dict[str, Observation] = field(default_factory=dict)
    over: bool = False


@checked
class Trace(Hook):
    """Writes every run of its engine to a file as it happens; shared freely by threads.

    ``path`` is a directory, which then gets one file a run, named by its run id; or a file, to
    which all runs are appended. A path that does not exist yet is a file if its name has an
    ending, such as ``runs.jsonl``. With ``prompts=True`` each prompt is written whole, else only
    its length and its SHA-256.

    Give it as the first of the hooks: it then sees what the others make of an action. A trace
    that cannot be written does not end the run: a warning is logged, once, and the rest of the
    run is left out.
    """

    only_watches = True

    def __init__(self, path: str | os.PathLike[str], *, prompts: bool = False) -> None:
        self._path = Path(path)
        self._directory = _is_directory(os.fspath(path), self._path)
        self._prompts = prompts
        self._runs: dict[tuple[str, float], _Running] = {}
        self._lock = ForkLock()
        self._warned = False
        try:
            _try_out(self._path, is_directory=self._directory)
        except OSError as error:
            raise SetupError(f"traces cannot be written to {str(path)!r}: {error}") from error

    def before_step(self, moment: Moment) -> None:
        """Write that the run has begun, if this is its first step."""
        self._begin(moment)

    def before_prompt(self, moment: Moment, prompt: str) -> str:
        """Write what is asked of which model."""
        self._begin(moment)
        data = prompt.encode("utf-8", "surrogatepass")
        self._write(
            moment,
            "prompt",
            step=_number(moment),
            model=moment.card.name,
            sha256=hashlib.sha256(data).hexdigest(),
            characters=len(prompt),
            **({"text": prompt} if self._prompts else {}),
        )
        return prompt

    def on_piece(self, moment: Moment, piece: str) -> None:
        """Write a piece of the model's text, with what its server told."""
        told: dict[str, Any] = {}
        if isinstance(piece, Piece):
            told = {
                "channel": None if piece.channel == "text" else piece.channel,
                "usage": piece.usage,
                "finish": piece.finish,
            }
        told = {name: value for name, value in told.items() if value is not None}
        if piece or told:
            self._write(moment, "text", text=str(piece), **told)

    def after_turn(self, moment: Moment, turn: Turn) -> Turn:
        """Write the turn as it was read."""
        running = self._runs.get(_key(moment))
        if running is not None:
            running.turn = turn
        self._write(moment, "turn", step=_number(moment), turn=turn)
        return turn

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Write that an action begins, and what came of it."""
        self._write(moment, "action", action=action)
        observation = proceed(action)
        self._observed(moment, observation)
        return observation

    def on_event(self, moment: Moment, event: Event) -> None:
        """Write corrections and steps, and observations that did not come by `around_action`."""
        if isinstance(event, Observation):
            self._observed(moment, event)
        elif isinstance(event, Correction):
            self._write(moment, "correction", step=_number(moment), correction=event)
        elif isinstance(event, Step):
            self._stepped(moment)

    def at_end(self, moment: Moment) -> None:
        """Write how the run ended, and forget it."""
        self._begin(moment)
        self._stepped(moment)
        context = moment.context
        self._write(
            moment,
            "end",
            status=context.status,
            stop_reason=context.stop_reason,
            answer=context.answer,
            steps=len(context.steps),
            usage=context.usage,
        )
        with self._lock:
            self._runs.pop(_key(moment), None)

    def _begin(self, moment: Moment) -> None:
        """Write the first line of a run that is not known yet."""
        with self._lock:
            if _key(moment) in self._runs:
                return
            path = self._path
            if self._directory:
                path = self._path / f"{_file_name(moment.context.run_id)}.jsonl"
            self._runs[_key(moment)] = _Running(path, len(moment.context.steps))
        self._write(
            moment,
            "start",
            format=FORMAT,
            reactext=__version__,
            task=moment.context.task,
            tools=list(moment.toolbox.names),
        )

    def _observed(self, moment: Moment, observation: Observation) -> None:
        """Write an observation, unless the same was written for its action."""
        running = self._runs.get(_key(moment))
        if running is None:
            return
        written = running.observations
        with self._lock:  # what the run has made of a call comes after what the call itself said
            if written.get(observation.action_id) != observation:
                written[observation.action_id] = observation
                self._write(moment, "observation", observation=observation)

    def _stepped(self, moment: Moment) -> None:
        """Write the end of each step that is new, and of its parts what was not written yet.

        The step at which a run was stopped comes by no event: it is found here at the end.
        """
        running = self._runs.get(_key(moment))
        if running is None:
            return
        for number, step in enumerate(moment.context.steps[running.steps :], running.steps + 1):
            for observation in step.observations:
                self._observed(moment, observation)
            turn = {} if step.turn == running.turn else {"turn": step.turn}
            self._write(moment, "step", step=number, usage=step.usage, **turn)
            running.steps, running.turn, running.observations = number, None, {}

    def _write(self, moment: Moment, event: str, **facts: Any) -> None:
        running = self._runs.get(_key(moment))
        if running is None:  # a tool may return after its run has ended
            return
        head = {
            "event": event,
            "run": moment.context.run_id,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "at": round(moment.seconds, 6),
        }
        try:
            line = line_of(head | {name: _plain(value) for name, value in facts.items()})
            with self._lock:
                if not running.over:
                    append(running.path, line)
                    running.over = event == "end"
        except (OSError, ValueError, RecursionError) as error:
            running.over = True
            self._warn(moment, running.path, error)

    def _warn(self, moment: Moment, path: Path, error: Exception) -> None:
        with self._lock:
            first, self._warned = not self._warned, True
        if first:
            logger.warning(
                "the trace of run %s in %s ends here, since it cannot be written: %s",
                moment.context.run_id,
                path,
                error,
                extra={"event": "trace_failed", "run_id": moment.context.run_id},
            )


def _key(moment: Moment) -> tuple[str, float]:
    """What is one run's own, also when two are given the same id."""
    return moment.context.run_id, moment.started


def _number(moment: Moment) -> int:
    """The number of the step that the run is at, counted from 1."""
    return len(moment.context.steps) + 1


def _try_out(path: Path, *, is_directory: bool) -> None:
    """Raise OSError where nothing can be written: now, and not when a run has been lost."""
    place = path if is_directory else path.parent
    place.mkdir(parents=True, exist_ok=True)
    if is_directory or not path.exists():
        tempfile.TemporaryFile(dir=place).close()
    else:
        path.open("ab").close()


def _is_directory(given: str, path: Path) -> bool:
    if path.exists():
        return path.is_dir()
    return given.endswith(("/", os.sep)) or not path.suffix


def _file_name(run_id: str) -> str:
    """Return a name that no run id can lead out of the directory with."""
    name = quote(run_id, safe=" ", errors="surrogatepass")
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[:_LONGEST_NAME]}-{digest[:16]}"


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if isinstance(value, Value) else value
