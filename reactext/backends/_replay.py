"""A text that the model wrote is sent back as the very tokens that it was written in.

A model, above all under a grammar, does not always write the tokens that its text would be cut
into. Sent back as text, such a passage is another one to the server's cache, and is evaluated
again from there on. So the tokens of the latest texts are remembered, and a prompt that begins
with one of them is sent as a mixture of text and tokens.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from reactext.forking import ForkLock

Part = str | int
_REMEMBERED = 16
"""Conversations; beyond them the oldest is sent as text again."""


@dataclass(slots=True)
class Line:
    """A text and the parts, texts and tokens, that it was made of.

    ``ends`` holds the length of the text after each part. A token whose text the server holds
    back for a while adds nothing; the next one adds both.
    """

    text: str
    parts: list[Part]
    ends: list[int] = field(default_factory=list)

    def extend(self, text: str, tokens: Sequence[int]) -> None:
        """Append what the model wrote."""
        before = len(self.text)
        self.text += text
        self.parts += tokens
        self.ends += [before] * (len(tokens) - 1)
        if tokens:
            self.ends.append(len(self.text))


class Replay:
    """Remembers the lines of the latest conversations; shared by threads."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=_REMEMBERED)
        self._lock = ForkLock()

    def line(self, prompt: str) -> Line:
        """Return the prompt in the parts that it was made of, as far as they are remembered."""
        with self._lock:
            lines = list(self._lines)
        parts, ends = max((_common(line, prompt) for line in lines), key=_reach, default=([], []))
        known = ends[-1] if ends else 0
        if known < len(prompt) or not parts:
            parts, ends = [*parts, prompt[known:]], [*ends, len(prompt)]
        return Line(prompt, parts, ends)

    def remember(self, line: Line) -> None:
        """Keep a line; it takes the place of those that it continues."""
        if not any(isinstance(part, int) for part in line.parts):
            return
        with self._lock:
            for old in [old for old in self._lines if line.text.startswith(old.text)]:
                self._lines.remove(old)
            self._lines.append(line)


def _reach(common: tuple[list[Part], list[int]]) -> int:
    return common[1][-1] if common[1] else 0


def _common(line: Line, prompt: str) -> tuple[list[Part], list[int]]:
    """The parts that a prompt begins with, up to a token, and where they end."""
    length = common_length(line.text, prompt)
    count = bisect_right(line.ends, length)
    if count:
        # of several tokens with one end, only the first has all of its text there
        count = bisect_left(line.ends, line.ends[count - 1]) + 1
    while count and isinstance(line.parts[count - 1], str):
        count -= 1
    return line.parts[:count], line.ends[:count]


def common_length(left: str, right: str) -> int:
    """How many characters two texts share at their beginning."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    low, high = 0, shorter
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
