"""Follows brackets, strings and comments through the text of calls, piece by piece.

It knows what stands inside of something and what does not: a separator, a line break or a label
counts only outside. Text is passed on in the order it came, cut where it matters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from reactext.reading.beginnings import MORE
from reactext.reading.strings import CLOSING, QUOTES, ends_string, opens_within

MAX_DEPTH = 64
"""So many brackets may be open at once."""

MAX_EVENTS = 20_000
"""So many brackets, quotes, slashes and hashes may stand in one text."""

OPENERS = dict(zip("([{（［｛【", ")]})]}]", strict=True))
CLOSERS = dict(zip(")]}）］｝】", ")]})]}]", strict=True))

PartKind = Literal["text", "closed", "separator", "comment", "newline"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text; "closed" says that the text before it closed its last bracket."""

    kind: PartKind
    text: str = ""


class TooMuchError(Exception):
    """More is open, or stands in one text, than is read; ``str`` of it says what."""


_OUTSIDE = r"\"'`“”„‘’«「『＂＇(\[{（［｛【)\]}）］｝】|｜\n#/\\"
_RUN = re.compile(r"#+|/+(?=/)")
_VALUE_COMES_AFTER = "([{（［｛【,，=＝:：、+|｜"
_LINE_LOOK = 400
_Step = tuple[int, PartKind | None] | None


class Tracker:
    """Follows one text. ``separator`` is what divides calls besides the bars."""

    def __init__(self, separator: str = "") -> None:
        self._separator = separator.strip()
        self._separator_has_blanks = self._separator != separator
        self._outside = _outside(self._separator)
        self._stack: list[str] = []
        self._quote = ""
        self._is_within = False
        self._comment_end = ""
        self._tail = "\n"
        self._solid = ""
        self._pending = ""
        self._events = 0

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return len(self._stack)

    @property
    def in_string(self) -> bool:
        """Whether a string is open."""
        return bool(self._quote)

    @property
    def held(self) -> int:
        """How many characters wait for what comes after them."""
        return len(self._pending)

    @property
    def may_have_ended(self) -> bool:
        """Whether the last quote, with only blanks after it, may have ended the open string."""
        return bool(self._quote) and self._pending.rstrip() == self._quote

    def feed(self, text: str, *, final: bool = False) -> list[Part]:
        """Return the parts of the text that are certain. Raises `TooMuchError`."""
        text = self._pending + text
        parts: list[Part] = []
        here = start = 0
        while here < len(text):
            step = self._step(text, here, final)
            if step is None:
                break
            reached, kind = step
            if kind is not None:
                if kind == "closed":
                    parts += [Part("text", text[start:reached]), Part("closed")]
                else:
                    parts += [Part("text", text[start:here])] if here > start else []
                    parts.append(Part(kind, text[here:reached]))
                start = reached
            self._passed(text, here, reached)
            here = reached
        if here > start:
            parts.append(Part("text", text[start:here]))
        self._pending = text[here:]
        return parts

    def step(self, text: str, here: int) -> tuple[int, bool] | None:
        """Follow a whole text by one step; say how far it went, and whether all is closed."""
        step = self._step(text, here, True)
        if step is None or step[0] <= here:
            return None
        self._passed(text, here, step[0])
        return step[0], step[1] == "closed"

    def _passed(self, text: str, start: int, end: int) -> None:
        if end - start >= 4:
            self._tail = text[end - 4 : end]
        else:
            self._tail = (self._tail + text[start:end])[-4:]
        solid = text[start:end].rstrip()
        if solid:
            self._solid = solid[-1]

    def _step(self, text: str, here: int, final: bool) -> _Step:
        """Return how far the next step goes and what it passes; None if more text is needed."""
        if self._comment_end:
            return self._in_comment(text, here, final)
        if self._quote:
            return self._in_string(text, here, final)
        found = self._outside.search(text, here)
        if found is None:
            return len(text), None
        if found.start() > here:
            return found.start(), None
        character = found[0]
        if self._separator and character == self._separator[0]:
            own = self._own_separator(text, here, final)
            if own is None or own[0] > here:
                return own
        if character == "\n":
            return here + 1, None if self._stack else "newline"
        if character in OPENERS:
            return self._opened(here, OPENERS[character])
        if character in CLOSERS:
            return self._closed(here, CLOSERS[character])
        if character in "|｜":
            return self._bar(text, here, final)
        if character in "#/\\":
            return self._comment_or_escape(text, here, final)
        if character in QUOTES:
            return self._quoted(text, here, final)
        return here + 1, None  # it begins the user's separator, and is none

    def _own_separator(self, text: str, here: int, final: bool) -> _Step:
        """Pass the user's separator; where it is none, no step is made."""
        end = here + len(self._separator)
        if self._stack or not text.startswith(self._separator, here):
            is_begun = not final and self._separator.startswith(text[here:])
            return None if is_begun and not self._stack else (here, None)
        if self._separator_has_blanks:
            if end >= len(text) and not final:
                return None
            if not self._tail[-1:].isspace() or not text[end : end + 1].isspace():
                return here, None
        return end, "separator"

    def _count(self) -> None:
        self._events += 1
        if self._events > MAX_EVENTS:
            signs = "brackets and quotes, or slashes and hashes,"
            raise TooMuchError(f"there are more than {MAX_EVENTS} {signs} in one call")

    def _opened(self, here: int, closer: str) -> _Step:
        self._count()
        self._stack.append(closer)
        if len(self._stack) > MAX_DEPTH:
            raise TooMuchError(f"more than {MAX_DEPTH} brackets are open at once")
        return here + 1, None

    def _closed(self, here: int, closer: str) -> _Step:
        self._count()
        if closer not in self._stack:
            return here + 1, None
        while self._stack.pop() != closer:
            pass
        return here + 1, None if self._stack else "closed"

    def _bar(self, text: str, here: int, final: bool) -> _Step:
        if self._stack:
            return here + 1, None
        if here + 1 >= len(text) and not final:
            return None
        return here + (2 if text[here + 1 : here + 2] in ("|", "｜") else 1), "separator"

    def _comment_or_escape(self, text: str, here: int, final: bool) -> _Step:
        """Open a comment after a blank, outside of values; skip what a backslash escapes."""
        if here + 1 >= len(text) and not final:
            return None
        two = text[here : here + 2]
        if two[0] == "\\":
            return here + len(two), None
        if self._stack:
            self._count()
        after_blank = self._tail[-1:].isspace() or self._tail[-1:] in ("(", "[", "{", ",")
        is_data = not self._stack or self._stack[-1] in "]}"
        between_values = is_data or self._solid in ",，([{\"'”’)]}"
        is_line = two == "//" or (two[0] == "#" and (not self._stack or two[1:].isspace()))
        if not self._solid and not two[1:].isspace() and two not in ("//", "/*"):
            return here + 1, None
        if two == "/*":
            self._comment_end = "*/"
        elif is_line and after_blank and between_values:
            self._comment_end = "\n"
        if self._comment_end:
            return here + 2, "comment" if self._opens_outside() else None
        run = _RUN.match(text, here)
        return here + 1 if run is None else run.end(), None

    def _opens_outside(self) -> bool:
        return bool(self._comment_end) and not self._stack

    def _in_comment(self, text: str, here: int, final: bool) -> _Step:
        kind: PartKind | None = None if self._stack else "comment"
        end = text.find(self._comment_end, here)
        if end >= 0:
            end += 2 if self._comment_end == "*/" else 0
            self._comment_end = ""
        elif self._comment_end == "*/" and not final and text.endswith("*"):
            end = len(text) - 1
        else:
            end = len(text)
        if end == here:
            return self._step(text, here, final) if not self._comment_end else None
        return end, kind

    def _in_string(self, text: str, here: int, final: bool) -> _Step:
        if len(self._quote) == 3:
            return self._in_triple(text, here, final)
        body = _BODY[self._quote].match(text, here)
        assert body is not None
        end = body.end()
        if end > here:
            return end, None
        if text[here] == "\\":
            return (len(text), None) if final else None
        self._count()
        if self._is_within:
            self._is_within = False
            return here + 1, None
        ends = ends_string(text, here + 1, final=final)
        if ends is MORE:
            return None
        if ends:
            self._quote = ""
        else:
            self._is_within = opens_within(self._tail, self._solid)
        return here + 1, None

    def _in_triple(self, text: str, here: int, final: bool) -> _Step:
        end = text.find(self._quote, here)
        while end > 0 and text[end - 1] == "\\":
            end = text.find(self._quote, end + 1)
        if end >= 0:
            self._quote = ""
            return end + 3, None
        kept = 0 if final else 3
        return (len(text) - kept, None) if len(text) - kept > here else None

    def _quoted(self, text: str, here: int, final: bool) -> _Step:
        """Open a string where a value is due; elsewhere only one that ends on its line."""
        self._count()
        quote = text[here]
        if quote not in CLOSING or (quote == "`" and not self._stack):
            return here + 1, None
        before = self._tail.rstrip("rRbBfFuU")[-1:] if self._tail[-1:] in "rRbBfFuU" else ""
        if self._stack and (
            self._solid in _VALUE_COMES_AFTER or (before in _VALUE_COMES_AFTER and before)
        ):
            return self._opened_string(text, here, final)
        if self._tail[-1:].isalnum() or quote == "`":
            return here + 1, None
        line = _LINE_STRING[quote].match(text, here + 1, here + _LINE_LOOK)
        if line is not None and (final or line.end() < len(text)):
            return line.end(), None
        if not final and "\n" not in text[here:] and len(text) - here < _LINE_LOOK:
            return None
        return here + 1, None

    def _opened_string(self, text: str, here: int, final: bool) -> _Step:
        quote = text[here]
        three = text[here : here + 3]
        if quote in "\"'" and three == quote * len(three):
            if len(three) < 3 and not final:
                return None
            if len(three) == 3:
                self._quote = three
                return here + 3, None
        self._quote = CLOSING[quote]
        return here + 1, None


@lru_cache(maxsize=16)
def _outside(separator: str) -> re.Pattern[str]:
    """Return the expression for what matters outside of strings."""
    return re.compile(f"[{_OUTSIDE}{re.escape(separator[:1])}]")


def construct_end(text: str, start: int = 0) -> int | None:
    """Return where the first bracket that opens from ``start`` on closes; None if it does not.

    Raises `TooMuchError`.
    """
    tracker = Tracker()
    here = start
    while here < len(text):
        step = tracker.step(text, here)
        if step is None:
            return None
        here, is_closed = step
        if is_closed:
            return here
    return None


_BODY = {
    closing: re.compile(rf"[^\\{closing}]*(?:\\[\s\S][^\\{closing}]*)*")
    for closing in set(CLOSING.values())
}
_LINE_STRING = {
    opening: re.compile(rf"[^{closing}\n]{{0,{_LINE_LOOK}}}{closing}(?!\w)")
    for opening, closing in CLOSING.items()
}
