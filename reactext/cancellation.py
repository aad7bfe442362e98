"""A flag that ends a run from any thread: the model's text, the tools and the waiting between."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from time import monotonic

SOON = 2.0
"""Seconds after a Ctrl-C in which another one is meant for more than one run."""


class Cancellation:
    """Set once, from any thread; whoever waits or reads registers what must be woken.

    One belongs to one run. Calling `cancel` again changes nothing.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self.reason = ""

    def cancel(self, reason: str = "cancelled") -> None:
        """End the run; ``reason`` becomes the context's ``stop_reason``."""
        with self._lock:
            if self._event.is_set():
                return
            self.reason = reason
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def wait(self, seconds: float | None) -> bool:
        """Sleep so long, or until cancelled; True if cancelled."""
        return self._event.wait(seconds)

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` when cancelled (at once if it already is); returns what undoes this.

        The callback runs in the cancelling thread and must neither block nor raise.
        """
        key = object()
        with self._lock:
            if not self._event.is_set():
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)


class Interrupts:
    """Tells a first Ctrl-C, which ends one run, from another one soon after it."""

    def __init__(self) -> None:
        self._latest = -math.inf

    def is_first(self) -> bool:
        """Take note of a Ctrl-C; returns whether there was none shortly before."""
        now = monotonic()
        before, self._latest = self._latest, now
        return now - before > SOON
