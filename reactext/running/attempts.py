"""Waits for one attempt at a tool, wherever it runs: until it ends, or is given up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from reactext.cancellation import Cancellation
from reactext.running.outcomes import Outcome, failed
from reactext.running.threads import PATIENCE

NOT_RUN = Outcome("skipped", "was not run: the run was cancelled")


class Progress:
    """What is known of an attempt: written where the tool runs, read where it is waited for.

    ``ended`` is called once, when the work is over, though nobody may wait for it any more.
    """

    def __init__(self, ended: Callable[[], None]) -> None:
        self.started_at: float | None = None
        self.outcome: Outcome | None = None
        self._ended = ended
        self._lock = threading.Lock()
        self.changed = threading.Event()

    def start(self, *, preparing: float = 0.0) -> bool:
        """Begin to count the time; False if the work has begun or ended elsewhere.

        ``preparing`` are seconds granted for what comes before the tool itself, see `restart`.
        """
        with self._lock:
            if self.started_at is not None or self.outcome is not None:
                return False
            self.started_at = monotonic() + preparing
        self.changed.set()
        return True

    def restart(self) -> None:
        """Count the time from now: only preparations were made until here."""
        self.started_at = monotonic()
        self.changed.set()

    def finish(self, outcome: Outcome) -> None:
        """Say how the work has ended; only the first ending counts."""
        with self._lock:
            if self.outcome is not None:
                return
            self.outcome = outcome
        self._ended()
        self.changed.set()


class Running(Protocol):
    """The handle of an attempt that runs somewhere."""

    def hurry(self) -> None:
        """Make room for the work: it has been waiting for long to be started."""
        ...

    def stop(self) -> bool:
        """End the work if it can be ended; returns whether it is over."""
        ...


Launch = Callable[[Progress], Running]


def attempted(launch: Launch, progress: Progress, limit: float, run: Cancellation) -> Outcome:
    """Launch the work and wait for it, ``limit`` seconds from its start or until cancelled."""
    forget = run.on_cancel(progress.changed.set)
    try:
        try:
            running = launch(progress)
        except RuntimeError as error:  # the system has no thread to give
            progress.finish(failed(error))
            return failed(error)
        while True:
            progress.changed.clear()
            outcome = progress.outcome or _expired(progress, running, limit, run)
            if outcome is not None:
                return outcome
            if progress.started_at is not None:
                left = progress.started_at + limit - monotonic()
                progress.changed.wait(min(max(0.0, left), threading.TIMEOUT_MAX))
            else:
                progress.changed.wait(PATIENCE)
                if progress.started_at is None and progress.outcome is None:
                    running.hurry()
    finally:
        forget()


def _expired(
    progress: Progress, running: Running, limit: float, run: Cancellation
) -> Outcome | None:
    """Give the attempt up if the run is cancelled or its time is over."""
    started_at = progress.started_at
    if run.cancelled:
        stopped = running.stop()
        return _cancelled(started_at is not None, stopped)
    if started_at is None or monotonic() < started_at + limit:
        return None
    stopped = running.stop() or progress.outcome is not None
    if progress.outcome is not None and progress.outcome.ending == "ok":
        return progress.outcome  # it ended at the last moment
    after = "was stopped" if stopped else "is not waited for any longer; its work may still go on"
    return Outcome("timeout", f"gave no result within {limit:g} s and {after}")


def _cancelled(started: bool, stopped: bool) -> Outcome:
    if not started:
        return NOT_RUN
    if stopped:
        return Outcome("cancelled", "was stopped: the run was cancelled")
    return Outcome(
        "cancelled",
        "is not waited for any longer: the run was cancelled; its work may still go on",
    )
