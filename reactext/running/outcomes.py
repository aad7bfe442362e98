"""What one attempt at a tool came to, as a value that can pass between threads and processes.

It is made where the tool runs, so that a time limit holds for the writing of its text as well.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any, Literal

from reactext.observing import MOST_ITEMS, clean_text, error_text, observation_text
from reactext.tools import Retry

Ending = Literal["ok", "error", "timeout", "cancelled", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended; ``text`` is for the model, ``detail`` is a traceback, for people.

    ``again_after`` are the seconds that a `Retry` asked for.
    """

    ending: Ending
    text: str = ""
    detail: str | None = None
    again_after: float | None = None


def outcome_of(
    function: Callable[..., Any], positional: Sequence[Any], named: Mapping[str, Any], written: str
) -> Outcome:
    """Call a function to its end; ``written`` is the call as the model wrote it. Never raises."""
    try:
        value = finished(function(*positional, **named))
    except BaseException as error:  # a tool's own SystemExit must not end the thread it is run in
        return failed(error, written)
    return succeeded(value, written)


def finished(value: Any) -> Any:
    """Return a value that is there: what an async function gives is waited for, here."""
    if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
        import asyncio  # takes long to import, and few programs get here

        return asyncio.run(awaited(value))
    return value


async def awaited(value: Any) -> Any:
    """Wait for what an async function returned, a coroutine or a generator."""
    if isinstance(value, Awaitable):
        value = await value
    if not isinstance(value, AsyncIterator):
        return value
    items: list[Any] = []
    try:
        async for item in value:
            items.append(item)
            if len(items) > MOST_ITEMS:
                break
    finally:
        if isinstance(value, AsyncGenerator):
            await value.aclose()
    return iter(items)


def succeeded(value: Any, written: str = "") -> Outcome:
    """Return the outcome of a tool that returned this; a generator may still raise."""
    try:
        return Outcome("ok", observation_text(_taken(value)))
    except BaseException as error:  # of the generator's, or a SystemExit of a ``__str__``
        return failed(error, written)


def _taken(value: Any) -> Any:
    """Return a value with the items of a generator, as many as are shown, instead of it."""
    if not isinstance(value, Iterator):
        return value
    try:
        return iter(list(islice(value, MOST_ITEMS + 1)))
    finally:
        if isinstance(value, Generator):
            value.close()


def failed(error: BaseException, written: str = "") -> Outcome:
    """Return the outcome of a tool that raised this."""
    delay = error.delay if isinstance(error, Retry) else None
    name = type(error).__name__
    try:
        text = error_text(error, written)
    except BaseException:  # its __str__ is the tool's, and raises what it likes
        text = f"{name}: (its message cannot be shown)"
    try:
        told = traceback.format_exception(type(error), error, _of_tool(error.__traceback__))
        detail = clean_text("".join(told))
    except BaseException:  # so do those of its cause and its notes
        detail = f"{name} (its traceback cannot be shown)"
    return Outcome("error", text, detail, delay)


_OURS = (os.path.dirname(__file__), os.path.join(os.path.dirname(os.__file__), "asyncio"))


def _of_tool(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the tool's own first frame on; ours are of no use to anybody."""
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename.startswith(_OURS):
        own = own.tb_next
    return own or trace
