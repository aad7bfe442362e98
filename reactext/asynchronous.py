"""Drives a run from an event loop: the same loop in a thread of its own, its events passed on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import copy_context
from typing import Any, TypeVar

from reactext.cancellation import Cancellation

Item = TypeVar("Item")
_END = object()

AHEAD = 64
"""Events that may wait for a slow reader before the run does."""


async def iterate(
    make: Callable[[Cancellation], Iterator[Item]],
) -> AsyncIterator[Item]:
    """Yield what an iterator yields that runs in a thread of its own.

    ``make`` is called in that thread with the cancellation that is set when the caller stops
    reading: by leaving the loop, by ``aclose`` or by the cancelling of its task.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Any] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)
    cancellation = Cancellation()
    cancellation.on_cancel(room.release)

    def work() -> None:
        end: Any = _END
        try:
            for item in make(cancellation):
                room.acquire()
                loop.call_soon_threadsafe(queue.put_nowait, item)
        except BaseException as error:  # whatever it is belongs to the caller
            end = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, _Last(end))

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="reactext-run", daemon=True)
    thread.start()
    try:
        while not isinstance(item := await queue.get(), _Last):
            room.release()
            yield item
        if item.value is not _END:
            raise item.value
    finally:
        cancellation.cancel()


class _Last:
    def __init__(self, value: Any) -> None:
        self.value = value


async def call(function: Callable[[Cancellation], Item]) -> Item:
    """Return what a function returns that runs in a thread of its own."""
    async for result in iterate(lambda cancellation: iter([function(cancellation)])):
        return result
    raise RuntimeError("unreachable: one item is always yielded")
