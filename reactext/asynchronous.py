"""Drives a run from an event loop: the same loop in a thread of its own, its events passed on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeVar

from reactext.running.event_loop import CALLERS_LOOP

Item = TypeVar("Item")

AHEAD = 64
"""Items that may wait for a slow reader before the iterator does."""


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


async def iterate(items: Iterator[Item], abandon: Callable[[], None]) -> AsyncGenerator[Item, None]:
    """Yield what an iterator yields, which runs in a thread of its own.

    ``abandon`` is called when the caller stops reading before the end: by leaving the loop, by
    ``aclose`` or by the cancelling of its task. It must make the iterator end soon.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Item | _End] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)
    left = threading.Event()

    def put(item: Item | _End) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        try:
            for item in items:
                room.acquire()
                if not left.is_set():
                    put(item)
                else:
                    room.release()
        except BaseException as error:  # whatever it is, it is the caller's
            put(_End(error))
        else:
            put(_End(None))

    context = copy_context()
    context.run(CALLERS_LOOP.set, loop)
    threading.Thread(target=context.run, args=(work,), name="reactext-run", daemon=True).start()
    ended = False
    try:
        while True:
            item = await queue.get()
            if isinstance(item, _End):
                ended = True
                if item.error is not None:
                    raise item.error
                return
            room.release()
            yield item
    finally:
        if not ended:
            left.set()
            abandon()
            room.release()
