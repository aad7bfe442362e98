"""Keeps a prompt within the model's window, by clearing what is oldest in one large step.

One large step seldom, since each clearing costs the server its cache of the prompt. The task and
the latest steps are never cleared, and the steps themselves stay whole in the context.
"""

from __future__ import annotations

from collections.abc import Callable

from reactext.context import ExecutionContext, transcript_part
from reactext.protocol import Protocol

KEPT_STEPS = 2
"""The latest steps, whose observations are never cleared."""

_TOKENS_PER_BYTE = 0.3
"""Of UTF-8: near the truth for English (4 letters a token), Cyrillic, Chinese and emoji alike."""


_LEAST_HALF = 500
"""About half of the smallest window that a server gives by default."""


class TokenMeter:
    """Estimates tokens, and is corrected by what the server counts.

    ``count`` is the server's own counter where it has one. Asking costs a round trip, so it is
    for when an estimate comes near the budget.
    """

    def __init__(self, count: Callable[[str], int] | None = None) -> None:
        self._count = count
        self._per_byte = _TOKENS_PER_BYTE
        self._calibrated = False

    def estimate(self, text: str) -> int:
        """Return about how many tokens a text is."""
        return int(_bytes(text) * self._per_byte) + 1

    def exact(self, text: str) -> int:
        """Return the server's count of a text, or the estimate where it has no counter."""
        if self._count is None:
            return self.estimate(text)
        counted = self._count(text)
        self.learn(text, counted)
        return counted

    def learn(self, text: str, counted: int | None) -> None:
        """Take what the server counted for a text into account."""
        size = _bytes(text)
        if counted and size >= 80:
            self._per_byte = counted / size
            self._calibrated = True

    def seems_cut(self, prompt: str, counted: int | None, window: int | None) -> bool:
        """Whether the server counted far less than it was sent, as much as a cut leaves.

        A silent cut leaves about half of the window. Less than that is a server that counts only
        what it evaluated, which says nothing. Before the first count the estimate may be wrong by
        a factor of two either way, so only a quarter of it is a sign; after it, 60 %.
        """
        if counted is None:
            return False
        half = (window // 3, window * 5 // 6) if window else (_LEAST_HALF, counted)
        share = 0.6 if self._calibrated else 0.25
        return half[0] <= counted <= half[1] and counted < self.estimate(prompt) * share


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def fit(
    context: ExecutionContext,
    head: str,
    meter: TokenMeter,
    budget: int,
    protocol: Protocol,
    *,
    kept: int = KEPT_STEPS,
) -> ExecutionContext:
    """Return the context with so much cleared that its prompt takes at most half the budget.

    Observations go first, oldest first, then whole steps. Where that is not enough, all that may
    be cleared is. The ``kept`` latest steps stand as they were.
    """
    count = len(context.steps)
    bare = context.model_copy(update={"cleared": count})
    whole = [meter.estimate(transcript_part(context, index, protocol)) for index in range(count)]
    empty = [meter.estimate(transcript_part(bare, index, protocol)) for index in range(count)]
    last = max(0, count - kept)
    cleared, dropped = context.cleared, context.dropped
    total = meter.estimate(head) + sum(empty[dropped:cleared]) + sum(whole[max(cleared, dropped) :])
    while cleared < last and total > budget // 2:
        total -= whole[cleared] - empty[cleared]
        cleared += 1
    while dropped < last and total > budget // 2:
        total -= empty[dropped]
        dropped += 1
    return context.model_copy(update={"cleared": cleared, "dropped": dropped})
