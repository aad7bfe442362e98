"""Daemon threads, kept for the next job: bounded in number, and never clogged by jobs that hang.

The threads of `concurrent.futures` would not do: the interpreter waits for them at its exit, and a
fixed number of them is soon all taken by tools that do not come back.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Literal

from reactext.forking import renewed_in_child

PATIENCE = 0.25
"""A job that waited so many seconds for a thread may ask for one beyond the usual number."""


class Job:
    """A piece of work on its way through the threads."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.state: Literal["waiting", "running", "abandoned", "ended"] = "waiting"


class Threads:
    """At most ``usual`` threads, or ``most`` of them where jobs wait too long for one.

    A job that is abandoned gives its place to the next; its thread ends with it.
    """

    def __init__(
        self,
        name: str,
        *,
        usual: int = 256,
        most: int = 1024,
        idle_seconds: float = 10.0,
        patience: float = PATIENCE,
    ) -> None:
        self._name = name
        self._usual = usual
        self._most = most
        self._idle_seconds = idle_seconds
        self._patience = patience
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Have no thread yet, and nothing to do."""
        self._changed = threading.Condition()
        self._queue: deque[Job] = deque()
        self._count = 0
        self._idle = 0
        self._ended_at = -math.inf

    def submit(self, work: Callable[[], None]) -> Job:
        """Run the work, which must not raise, as soon as a thread is free."""
        job = Job(work)
        with self._changed:
            self._queue.append(job)
            if len(self._queue) > self._idle and self._count < self._usual:
                self._start_thread()
            else:
                self._changed.notify()
        return job

    def hurry(self) -> None:
        """Start one more thread if jobs are waiting, beyond the usual number if need be.

        It is not while others end: then those that wait are only many, and their turn comes.
        """
        with self._changed:
            moves = monotonic() < self._ended_at + self._patience
            if self._queue and self._count < (self._usual if moves else self._most):
                self._start_thread()

    def drop(self, job: Job) -> bool:
        """Forget a job if it has not begun; returns whether that was so."""
        with self._changed:
            if job.state != "waiting":
                return False
            job.state = "ended"
            self._queue.remove(job)
            return True

    def abandon(self, job: Job) -> None:
        """Wait no longer for a job that runs: its place goes to another."""
        with self._changed:
            if job.state == "running":
                job.state = "abandoned"
                self._count -= 1
                if self._queue:
                    self._start_thread()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        self._count += 1
        try:
            thread.start()
        except RuntimeError:  # the system has no thread to give, or the interpreter is ending
            self._count -= 1
            if not self._count:
                self._queue.pop()
                raise

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            job.work()
            if not self._ended(job):
                return

    def _next(self) -> Job | None:
        with self._changed:
            while not self._queue:
                self._idle += 1
                woken = self._changed.wait(self._idle_seconds)
                self._idle -= 1
                if not woken and not self._queue:
                    self._count -= 1
                    return None
            job = self._queue.popleft()
            job.state = "running"
            return job

    def _ended(self, job: Job) -> bool:
        """Mark a job as ended; returns whether its thread is still counted and goes on."""
        with self._changed:
            counted = job.state == "running"
            job.state = "ended"
            self._ended_at = monotonic()
            if counted and self._count > self._usual and not self._queue:
                self._count -= 1
                return False
            return counted


CALLS = Threads("reactext-call")
"""Each conducts a call: hooks, validation, waiting, retries."""

TOOLS = Threads("reactext-tool")
"""Each runs a sync tool, and may be left behind by the call."""
