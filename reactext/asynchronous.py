"""Drives a run from an event loop: the same loop in a thread of its own, its events passed on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from reactext.context import ExecutionContext
from reactext.hooks import Event
from reactext.run import Run
from reactext.running.event_loop import CALLERS_LOOP

Item = TypeVar("Item")

AHEAD = 64
"""Items that may wait for a slow reader before the iterator does."""

GRACE = 5.0
"""Seconds that leaving waits for a run to end; a model that blocks is left behind after them."""


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


class Passage(Generic[Item]):
    """Passes on, to an event loop, what an iterator yields in a thread of its own."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Item | _End] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._room = threading.Semaphore(AHEAD)
        self._hurried = self._left = False
        context = copy_context()
        context.run(CALLERS_LOOP.set, self._loop)
        work = (self._work,)
        self._thread = threading.Thread(
            target=context.run, args=work, name="reactext-run", daemon=True
        )
        self._thread.start()

    async def take(self) -> Item:
        """Return the next item; raises what the iterator raises, StopAsyncIteration at its end."""
        item = await self._queue.get() if not self._left else _End()
        if not isinstance(item, _End):
            self._room.release()
            return item
        self._queue.put_nowait(_End())  # for whoever asks once more, or beside this one
        if item.error is not None:
            raise item.error
        raise StopAsyncIteration

    def hurry(self) -> None:
        """Let the iterator wait for no reader any more: it was told to end."""
        self._hurried = True
        self._room.release()

    def leave(self) -> None:
        """Take no more items: the iterator, told to end by other means, is read to its end."""
        self._left = True
        self.hurry()

    async def end(self) -> None:
        """Wait until the iterator has ended, but not for ever."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), GRACE)
            self._thread.join(GRACE)  # it has nothing more to do

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            for item in self._items:
                self._room.acquire()
                if self._hurried:
                    self._room.release()
                if not self._left:
                    self._call(self._queue.put_nowait, item)
        except BaseException as raised:  # whatever it is, it is the caller's
            error = raised
        self._call(self._queue.put_nowait, _End(error))
        self._call(self._ended.set)

    def _call(self, function: object, *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(function, *args)  # type: ignore[arg-type]


class AsyncRun(AsyncIterator[Event]):
    """A `Run` for an event loop: iterate it with ``async for``, best inside of ``async with``.

    Leaving the block or the loop, the cancelling of the task that reads, `aclose` and `cancel` end
    the run. What is raised out of the block, or where an event is waited for, a CancelledError
    too, holds the steps done in its ``context``.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._passage: Passage[Event] | None = None

    @property
    def context(self) -> ExecutionContext:
        """The steps done so far, and how the run stands."""
        return self._run.context

    def cancel(self, reason: str = "cancelled") -> None:
        """End the run: the model stops writing, running tools are told, no step is lost."""
        self._run.cancel(reason)

    def __aiter__(self) -> AsyncIterator[Event]:
        return _Loop(self)

    async def __anext__(self) -> Event:
        if self._passage is None:
            self._passage = Passage(self._run)
            self._run.cancellation.on_cancel(self._passage.hurry)
        try:
            return await self._passage.take()
        except asyncio.CancelledError as error:
            await self._end(error)
            raise

    async def aclose(self) -> None:
        """Cancel the run if it is still going on, and wait until it has ended."""
        self._leave()
        if self._passage is not None:
            await self._passage.end()

    async def __aenter__(self) -> AsyncRun:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end(error)

    async def _end(self, error: BaseException | None) -> None:
        """End the run, and let what is raised hold the steps done."""
        if isinstance(error, asyncio.CancelledError) and self.context.status == "running":
            self.cancel()
        await self.aclose()
        if error is not None:
            with contextlib.suppress(AttributeError, TypeError):  # the caller's, with slots
                error.context = self.context  # type: ignore[attr-defined]

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._passage is None:
            self._run.close()
            return
        if self.context.status == "running":
            self._run.cancel("closed")
        self._passage.leave()  # its thread brings the run to its end


class _Loop(AsyncIterator[Event]):
    """One ``async for``: Python drops it when the loop is left, and that ends the run."""

    def __init__(self, run: AsyncRun) -> None:
        self._run = run

    def __anext__(self) -> Coroutine[Any, Any, Event]:
        return self._run.__anext__()

    def __del__(self) -> None:
        self._run._leave()
