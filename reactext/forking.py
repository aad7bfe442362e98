"""What a forked child inherits and must not use: locks that are held, connections, servers.

The child has one thread, a copy of the one that forked. A lock that another thread held is never
released there, and a connection is still the parent's.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import NoReturn, Protocol


class Renewable(Protocol):
    """Whatever is made anew in a forked child."""

    def renew(self) -> None:
        """Replace what the parent goes on using; called in the child, before all else there."""
        ...


_known: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_in_children(owner: Renewable) -> None:
    """Call the owner's `renew` in each forked child, as long as the owner lives."""
    _known.add(owner)


def _renew_all() -> None:
    for owner in list(_known):
        owner.renew()


class ForkableLock:
    """A lock that is free in a forked child, whoever held it in the parent."""

    def __init__(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Be free."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a model cannot be sent to another process; make it there")


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_renew_all)
