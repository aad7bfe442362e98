"""Which slot of a server of ours works on which conversation.

Left to itself the server gives a new conversation the slot that shares most with it, which is
that of another one with the same instructions, and so conversations that take turns evict each
other while other slots stay empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reactext.forking import ForkLock, renewed_in_child

_LATEST = 4
"""Prompts of one conversation: a correction is in one of them and no longer in the next."""


class Slots:
    """Remembers which conversation each slot had last; shared by threads."""

    def __init__(self, count: int) -> None:
        self._lock = ForkLock()
        # the least recently used first
        self._prompts: dict[int, list[str]] = {number: [] for number in range(count)}
        self._busy: set[int] = set()
        renewed_in_child(self)

    def renew(self) -> None:
        """Take all slots as free: whoever had one is in the parent."""
        self._busy = set()

    @contextmanager
    def taken(self, prompt: str) -> Iterator[int | None]:
        """Give a free slot for the length of a block, or None: then the server queues it."""
        with self._lock:
            number = self._choose(prompt)
            if number is not None:
                self._busy.add(number)
                known = [each for each in self._prompts.pop(number) if prompt.startswith(each)]
                self._prompts[number] = [*known[-_LATEST:], prompt]
        try:
            yield number
        finally:
            if number is not None:
                with self._lock:
                    self._busy.discard(number)

    def _choose(self, prompt: str) -> int | None:
        free = [number for number in self._prompts if number not in self._busy]
        for number in reversed(free):
            if any(map(prompt.startswith, self._prompts[number])):
                return number
        return free[0] if free else None
