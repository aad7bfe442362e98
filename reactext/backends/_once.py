"""A value that is found out on its first use and kept, for all threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from reactext.forking import ForkLock

T = TypeVar("T")


class Once(Generic[T]):
    """Calls its function once; a call that raises does not count."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._lock = ForkLock()
        self._make = make
        self._made: list[T] = []

    def __call__(self) -> T:
        """Return the value."""
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]
