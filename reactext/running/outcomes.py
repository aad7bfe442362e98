"""What one attempt at a tool came to, as a value that can pass between threads and processes.

It is made where the tool runs, so that a time limit holds for the writing of its text as well.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reactext.observing import MOST_ITEMS, clean_text, error_text, observation_text
from reactext.tools import Retry

Ending = Literal["ok", "error", "timeout", "cancelled", "skipped"]


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
        return succeeded(finished(function(*positional, **named)))
    except BaseException as error:  # a tool's own SystemExit must not end the thread it is run in
        return failed(error, written)


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
    async for item in value:
        items.append(item)
        if len(items) > MOST_ITEMS:
            break
    return iter(items)


def succeeded(value: Any) -> Outcome:
    """Return the outcome of a tool that returned this."""
    return Outcome("ok", observation_text(value))


def failed(error: BaseException, written: str = "") -> Outcome:
    """Return the outcome of a tool that raised this."""
    delay = error.delay if isinstance(error, Retry) else None
    return Outcome("error", error_text(error, written), _traceback(error), delay)


def _traceback(error: BaseException) -> str:
    try:
        return clean_text("".join(traceback.format_exception(error)))
    except Exception:  # an exception's __str__, its cause's or its notes can raise
        return f"{type(error).__name__} (its traceback cannot be shown)"
