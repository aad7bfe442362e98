"""Makes new, in a forked child, what waits for threads that only its parent has."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import NoReturn, Protocol
from weakref import WeakSet


class Renewed(Protocol):
    """What has locks, or counts threads."""

    def renew(self) -> None:
        """Make all of that new; called in the child, where there is one thread yet."""
        ...


_KEPT: WeakSet[Renewed] = WeakSet()


def renewed_in_child(thing: Renewed) -> None:
    """See to it that a forked child renews the thing; it is not kept alive by this."""
    _KEPT.add(thing)


def _renew() -> None:
    for each in list(_KEPT):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class ForkLock:
    """A reentrant lock that no thread holds in a forked child."""

    def __init__(self) -> None:
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Let nobody hold it."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> NoReturn:
        raise TypeError("what holds a lock cannot be sent to another process; make it there")
