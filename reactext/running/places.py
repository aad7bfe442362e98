"""Where a tool runs: in a thread, in the event loop, or in a process of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

from reactext.running.attempts import Launch, Progress, Running
from reactext.running.outcomes import Outcome, outcome_of
from reactext.running.threads import TOOLS
from reactext.tools import RunContext, Tool


def launch_for(
    tool: Tool, positional: list[Any], named: dict[str, Any], written: str, context: RunContext
) -> Launch:
    """Return what starts one call of a tool, in the place that is right for it.

    ``written`` is the call as the model wrote it.
    """
    # the two others are imported when they are first needed: not every program has such tools
    if tool.isolation == "process":
        from reactext.running.processes import errand, in_process

        return in_process(errand(tool, positional, named, written, context))
    if is_async(tool.function):
        from reactext.running.event_loop import in_loop

        return in_loop(partial(tool.function, *positional, **named), written)
    return in_thread(lambda: outcome_of(tool.function, positional, named, written))


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine or an async generator."""
    called = getattr(type(function), "__call__", None)  # noqa: B004 (of an object, its own)
    return any(
        test(each)
        for test in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        for each in (function, called)
    )


class _InThread:
    """The handle of a tool in a thread. It cannot be stopped, only left behind."""

    def __init__(self, call: Callable[[], Outcome], progress: Progress) -> None:
        self._call = call
        self._progress = progress
        self._context = copy_context()
        self._job = TOOLS.submit(self._work)

    def hurry(self) -> None:
        """Have one more thread."""
        TOOLS.hurry()

    def stop(self) -> bool:
        """Take it out of the queue, or leave it behind."""
        if TOOLS.drop(self._job):
            self._progress.finish(Outcome("cancelled"))
            return True
        TOOLS.abandon(self._job)
        return False

    def _work(self) -> None:
        self._progress.start()
        self._progress.finish(self._context.run(self._call))


def in_thread(call: Callable[[], Outcome]) -> Launch:
    """Run a function that never raises in a thread."""

    def launch(progress: Progress) -> Running:
        return _InThread(call, progress)

    return launch
