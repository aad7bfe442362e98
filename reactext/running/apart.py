"""Work that nobody can cancel is done apart, and waited for no longer than the run goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from reactext.cancellation import Cancellation

Result = TypeVar("Result")

_CTRL_C = 0.2
"""So many seconds are waited at a time, since a Ctrl-C just before a wait does not end it."""


def apart(work: Callable[[], Result], run: Cancellation) -> Result | None:
    """Return what the work returns, or None once the run is cancelled; raises what it raises.

    After a cancelling the work goes on, in a thread that nobody waits for.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    woken = threading.Event()

    def attempt() -> None:
        try:
            results.append(work())
        except BaseException as error:  # it is raised where the result is waited for
            errors.append(error)
        woken.set()

    forget = run.on_cancel(woken.set)
    try:
        threading.Thread(target=attempt, name="reactext-asking", daemon=True).start()
        while not woken.wait(_CTRL_C):
            pass
    finally:
        forget()
    if errors:
        raise errors[0]
    return results[0] if results else None
