"""A call on its way: conducted by a thread of its own, waited for by the run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from time import monotonic

from reactext.cancellation import Cancellation
from reactext.models import Action, Observation
from reactext.running.threads import CALLS, PATIENCE

_CTRL_C = 0.2
"""So many seconds the main thread waits at a time. A Ctrl-C that comes just before a wait does not
end it, and on Windows none does."""

_GRACE = {True: 2.5, False: 0.1}
"""Seconds that a cancelled call has to say how it ended: while its tool is at work, and else."""


class Pending:
    """A call on its way; `result` waits for its observation."""

    def __init__(
        self, action: Action, run: Cancellation, perform: Callable[[], Observation]
    ) -> None:
        self.action = action
        self._run = run
        self._perform = perform
        self._context = copy_context()
        self._launched_at: float | None = None
        self._begun = False
        self.at_work = False
        self._observation: Observation | None = None
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._watchers: list[Callable[[], None]] = []

    @property
    def ended(self) -> bool:
        """Whether `result` returns at once."""
        return self._ended.is_set()

    def launch(self) -> None:
        """Begin, in a thread of its own."""
        self._launched_at = monotonic()
        try:
            CALLS.submit(self._conduct)
        except RuntimeError as error:  # the system has no thread to give
            self._end(error)

    def on_end(self, watcher: Callable[[], None]) -> None:
        """Call the watcher when the call has ended, at once if it has."""
        with self._lock:
            if not self._ended.is_set():
                self._watchers.append(watcher)
                return
        watcher()

    def result(self) -> Observation:
        """Wait for the observation; after a cancelling, not for long.

        Raises what was raised around the action, by a hook; a tool's own exceptions are
        observations.
        """
        woken = threading.Event()
        forget = self._run.on_cancel(woken.set)
        self.on_end(woken.set)
        try:
            while not self._ended.is_set() and not self._run.cancelled:
                woken.wait(self._patience())
                if self._is_late():
                    CALLS.hurry()
            if self._begun and not self._ended.wait(_GRACE[self.at_work]):
                return self._unanswered("its work may still go on")
        finally:
            forget()
        if self._error is not None:
            raise self._error
        return self._observation or self._unanswered("it was not run")

    def _patience(self) -> float | None:
        """Return the seconds to wait before looking again."""
        if threading.current_thread() is threading.main_thread():
            return _CTRL_C
        return None if self._begun else PATIENCE

    def _is_late(self) -> bool:
        """Whether the call has been waiting for a thread for long."""
        launched = self._launched_at
        return not self._begun and launched is not None and monotonic() >= launched + PATIENCE

    def _unanswered(self, how: str) -> Observation:
        return Observation(
            action_id=self.action.id,
            tool=self.action.tool,
            text=f"{self.action.tool} gave no result before the run was cancelled; {how}",
            status="skipped",
        )

    def _conduct(self) -> None:
        self._begun = True
        try:
            if not self._run.cancelled:
                self._observation = self._context.run(self._perform)
        except BaseException as error:  # of a hook: it is raised where the result is waited for
            self._end(error)
        else:
            self._end()

    def _end(self, error: BaseException | None = None) -> None:
        self._error = error
        with self._lock:
            self._ended.set()
            watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher()
