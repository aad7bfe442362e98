"""Keeps a prompt within the model's window, by clearing what is oldest in one large step.

One large step seldom, since each clearing costs the server its cache of the prompt. The task and
the latest steps are never cleared, and the steps themselves stay whole in the context.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from reactext.context import ExecutionContext, transcript_part
from reactext.errors import CompletionError
from reactext.protocol import Protocol

KEPT_STEPS = 2
"""The latest steps, whose observations are never cleared."""

_LEAST_HALF = 500
"""About half of the smallest window that a server gives by default."""

_TOKENS = re.compile(
    r"""
    \d                                 # several families give each digit a token of its own
    | [ ]?(?:[A-Z]?[a-z]{1,7}|[A-Z]{1,3})
    | [ ]?[!-/:-@\[-`{-~]{1,2}
    | [\u0080-\u2fff]{1,2}             # letters of other alphabets
    | [\u3000-\ua4ff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]  # Chinese, Japanese and Korean
    | [ \t]+
    | \n+
    """,
    re.VERBOSE,
)
_RARE = re.compile(r"[^\x00-\ua4ff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")
_RARE_TOKENS = 3
"""Of an emoji or a rare character: nearly each of its bytes."""

_LONGEST_TOKENS = 12
"""Bytes; no tokenizer has tokens that are longer than these all through a prompt."""

_MARKS = 16
"""What a server may count beside the text: the beginning, and marks of its own."""

_ENOUGH = 20
"""So many tokens tell how a tokenizer counts; fewer are chance."""


class TokenMeter:
    """Estimates tokens, and is corrected by what the server counts.

    ``count`` is the server's own counter where it has one. Asking costs a round trip, so it is
    for when the answer matters. A prompt that goes on where the last one ended is measured by
    what was counted then and what is new.
    """

    def __init__(self, count: Callable[[str], int] | None = None) -> None:
        self._count = count
        self._known, self._tokens = "", 0
        self._weighed = ("", 0)
        self._scale: float | None = 1.0

    def estimate(self, text: str) -> int:
        """Return about how many tokens a text is."""
        return int(_weight(text) * self._tokens_per_weight()) + 1

    def measure(self, text: str) -> int:
        """Return the server's count of a text, or the estimate where it has no counter."""
        return self.estimate(text) if self._count is None else self._asked(self._count, text)

    def estimate_prompt(self, prompt: str) -> int:
        """Return about how many tokens a prompt is: what was counted, and what is new in it."""
        tokens, new = self._split(prompt)
        return tokens + self.estimate(new)

    def measure_prompt(self, prompt: str) -> int:
        """Return the server's count of a prompt, or the estimate where it has no counter."""
        if self._count is None:
            return self.estimate_prompt(prompt)
        return self._asked(self._count, prompt)

    def most(self, prompt: str) -> int:
        """Return what a prompt cannot be longer than, since no token is less than a byte."""
        tokens, new = self._split(prompt)
        return tokens + size_of(new)

    def fits(self, prompt: str, budget: int) -> bool:
        """Whether a prompt takes no more than so many tokens; it is counted where that matters."""
        return self.most(prompt) <= budget or self.measure_prompt(prompt) <= budget

    def learn(self, prompt: str, counted: int | None) -> None:
        """Take what the server counted for a prompt into account.

        A count that no tokenizer gives is not of this prompt: it is of what was not yet cached.
        """
        size = size_of(prompt)
        if counted is not None and size // _LONGEST_TOKENS <= counted <= size + _MARKS:
            self._known, self._tokens = prompt, counted
            self._scale = None

    def _split(self, prompt: str) -> tuple[int, str]:
        """Return what was counted of the beginning of a prompt, and what comes after that."""
        if self._known and prompt.startswith(self._known):
            return self._tokens, prompt[len(self._known) :]
        return 0, prompt

    def _tokens_per_weight(self) -> float:
        """Return how the server counts, worked out when it is first asked for after a count."""
        if self._scale is None:
            weight = self._weight_of(self._known)
            self._scale = self._tokens / weight if weight >= _ENOUGH else 1.0
        return self._scale

    def _weight_of(self, prompt: str) -> int:
        """Weigh a prompt, and of one that goes on where the last ended only what is new."""
        known, weight = self._weighed
        new = prompt[len(known) :] if prompt.startswith(known) else prompt
        weight = (weight if new is not prompt else 0) + _weight(new)
        self._weighed = (prompt, weight)
        return weight

    def _asked(self, count: Callable[[str], int], text: str) -> int:
        try:
            return count(text)
        except CompletionError:  # a server that is gone says so when it is to complete
            return self.estimate(text)

    def seems_cut(self, prompt: str, counted: int | None) -> bool:
        """Whether the server counted far less than it was sent, as a cut leaves.

        A silent cut leaves about half of the window, whatever that really is. Very old servers
        count only what they evaluated, and then what is new in the prompt is about what they
        counted. Before the first count the estimate may be wrong by a factor of two, so only 40 %
        of it is a sign; after it, 60 %.
        """
        if counted is None or counted < _LEAST_HALF:
            return False
        known, new = self._split(prompt)
        share = 0.6 if known else 0.4
        if counted >= self.estimate_prompt(prompt) * share:
            return False
        if known and counted <= 2 * self.estimate(new):
            return False
        return counted < self.measure_prompt(prompt) * share


def _weight(text: str) -> int:
    tokens = len(_TOKENS.findall(text))
    return tokens if text.isascii() else tokens + _RARE_TOKENS * len(_RARE.findall(text))


def size_of(text: str) -> int:
    """Return the bytes of a text in UTF-8, of which no token has less than one."""
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
