"""Runs async tools: in the caller's event loop where there is one, else in one of our own.

Ours runs in a daemon thread, and is replaced when a tool blocks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from time import monotonic
from typing import Any

from reactext.forking import renewed_in_child
from reactext.running.attempts import Launch, Progress, Running
from reactext.running.outcomes import Outcome, awaited, failed, succeeded
from reactext.running.threads import TOOLS

BLOCKED = 1.0
"""A loop that has not begun a tool after so many seconds is held up by another."""

CALLERS_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar(
    "CALLERS_LOOP", default=None
)
"""Set where a run is driven from an event loop: what async tools use may belong to that loop."""

GRACE = 0.5
"""So many seconds a cancelled tool, or a busy loop, has to answer."""


class EventLoop:
    """An event loop that runs in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, name="reactext-loop", daemon=True).start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.loop.is_closed():
            # a task that a tool has left behind may raise SystemExit through the loop
            with contextlib.suppress(BaseException):
                self.loop.run_forever()
                self.loop.close()

    def retire(self) -> None:
        """Close the loop when its last task has ended."""
        self.loop.call_soon_threadsafe(self._close_when_idle)

    def _close_when_idle(self) -> None:
        if asyncio.all_tasks(self.loop):
            self.loop.call_later(1.0, self._close_when_idle)
        else:
            self.loop.stop()


class LoopKeeper:
    """Holds the event loop in use; a loop that does not answer gives way to a new one."""

    def __init__(self) -> None:
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Have no loop yet."""
        self._lock = threading.Lock()
        self._current: EventLoop | None = None

    def current(self) -> asyncio.AbstractEventLoop:
        """Return the caller's loop if it runs, else the loop in use."""
        callers = CALLERS_LOOP.get()
        if callers is not None and callers.is_running():
            return callers
        with self._lock:
            if self._current is None:
                self._current = EventLoop()
            return self._current.loop

    def replace(self, blocked: asyncio.AbstractEventLoop) -> None:
        """Let new calls have a new loop; those in the blocked one go on when it does.

        A caller's loop is not ours to replace.
        """
        with self._lock:
            if self._current is None or self._current.loop is not blocked:
                return
            retired, self._current = self._current, None
        retired.retire()


LOOPS = LoopKeeper()


class _InLoop:
    """The handle of an async tool."""

    def __init__(self, make: Callable[[], Any], written: str, progress: Progress) -> None:
        self._make = make
        self._written = written
        self._progress = progress
        self._context = copy_context()
        self._ended = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._submit()

    def hurry(self) -> None:
        """Go to another loop, if this one is blocked."""
        if monotonic() >= self._submitted_at + BLOCKED:
            LOOPS.replace(self._home)
            self._submit()

    def stop(self) -> bool:
        """Cancel the task, and see whether it ends."""
        if self._progress.start():  # it had not begun, and now it never will
            self._end(Outcome("cancelled"))
            return True
        heard = threading.Event()
        with contextlib.suppress(RuntimeError):  # closed, and all its tasks are gone
            self._home.call_soon_threadsafe(self._cancel, heard)
        if self._ended.wait(GRACE):
            return True
        if not heard.is_set():
            LOOPS.replace(self._home)
        return False

    def _submit(self) -> None:
        home = self._home = LOOPS.current()
        self._submitted_at = monotonic()
        # it may be closed by now; then the work is not begun, and goes to another
        with contextlib.suppress(RuntimeError):
            home.call_soon_threadsafe(self._begin, home, context=self._context)

    def _begin(self, home: asyncio.AbstractEventLoop) -> None:
        if self._progress.start():
            self._home = home
            self._task = home.create_task(self._work())

    def _cancel(self, heard: threading.Event) -> None:
        heard.set()
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        try:
            value = await awaited(self._make())
        except asyncio.CancelledError:
            self._end(Outcome("cancelled"))
        except BaseException as error:  # a tool's own SystemExit must not end the loop
            self._end(failed(error, self._written))
        else:
            # its text may take long to write, and a loop is not to be held up
            TOOLS.submit(lambda: self._end(succeeded(value, self._written)))

    def _end(self, outcome: Outcome) -> None:
        self._progress.finish(outcome)
        self._ended.set()


def in_loop(make: Callable[[], Any], written: str) -> Launch:
    """Run what ``make`` returns, a coroutine or an async generator, in the event loop."""

    def launch(progress: Progress) -> Running:
        return _InLoop(make, written, progress)

    return launch
