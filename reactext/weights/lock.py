"""One process at a time: a lock file that the system gives up when its holder dies."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_LOOK_EVERY = 0.1  # seconds; polled, since a blocking lock on Windows gives up after ten


@contextmanager
def held(path: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock while the block runs; ``waiting`` is called once if another holds it.

    The file stays: to delete it would let two holders in. Threads exclude each other too.
    """
    with path.open("ab") as file:
        if not _try(file.fileno()):
            waiting()
            while not _try(file.fileno()):
                time.sleep(_LOOK_EVERY)
        yield
