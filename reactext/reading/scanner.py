"""Cuts a text that comes in pieces into lines, labels, marks and fences.

What cannot be told yet is held back, at most the length of the longest label or mark; everything
else is passed on at once. Nothing is looked at twice, so the work is linear in the text however
small the pieces are. What the parts mean is the listener's to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Protocol

from reactext.reading.beginnings import MORE, Undecided
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.marks import FIRST, Mark, find_mark


@dataclass(frozen=True, slots=True)
class Fence:
    """Three backticks or more at the start of a line; ``info`` is the word after them.

    ``is_line`` says that nothing else stands on the line.
    """

    info: str
    start: int
    end: int
    text: str
    is_line: bool = True


class Listener(Protocol):
    """Whoever makes sense of the parts; a part that is refused comes again, as text."""

    def on_label(self, label: Label, *, after_label: bool) -> bool:
        """Take a label at the start of a line, or right after another one."""
        ...

    def on_mark(self, mark: Mark) -> bool:
        """Take a mark."""
        ...

    def on_fence(self, fence: Fence) -> bool:
        """Take a fence."""
        ...

    def on_text(self, text: str, start: int) -> None:
        """Take what stands between, at most one line with its line break."""
        ...


_FENCE = re.compile(
    r"[ \t>]{0,8}(?:`{3,16}|~{3,16})(?:[ \t]*(?P<info>[\w+.#\-]{0,24})[ \t\r]{0,8}(?=\n))?"
)
_LAST_FENCE = re.compile(
    r"[ \t>]{0,8}(?:`{3,16}|~{3,16})(?:[ \t]*(?P<info>[\w+.#\-]{0,24})[ \t\r]{0,8}(?=\n|\Z))?"
)
_FENCE_BEGUN = re.compile(
    r"[ \t>]{0,8}(?:`{1,16}|~{1,16})(?:(?<=```|~~~)[ \t]*[\w+.#\-]{0,24}[ \t\r]{0,8})?\Z"
)
_BLANK_LINES = re.compile(r"\n+")
_STOP = re.compile(rf"[\n{re.escape(FIRST)}]")
_MIDLINE = re.compile(
    rf"[\n{re.escape(FIRST)}]|(?<=[\s.!?。！？])(?="
    r"\*{0,2}(?:Thought|Action|Action[ _]?Input|Observation|Final[ _]?Answer)\*{0,2} {0,2}[:：])"
)


class Scanner:
    """Reads a text piece by piece; ``position`` is how far it was passed on.

    With ``midline``, the common labels are found within lines too. The listener sets ``over`` to
    end the reading.
    """

    def __init__(self, finder: LabelFinder, listener: Listener, *, midline: bool = False) -> None:
        self._finder = finder
        self._listener = listener
        self._stop = _MIDLINE if midline else _STOP
        self._window = ""
        self._base = 0
        self._at_line_start = True
        self._after_label = False
        self._tried = -1
        self.position = 0
        self.over = False

    def feed(self, piece: str, *, final: bool = False) -> None:
        """Pass on all that is certain; all there is, if ``final``."""
        self._window += piece
        done = 0
        while done < len(self._window) and not self.over:
            reached = (
                self._line_start(done, final) if self._at_line_start else self._line(done, final)
            )
            if reached is MORE:
                break
            done = reached
            self.position = self._base + done
        self._window = self._window[done:]
        self._base += done

    def _line_start(self, here: int, final: bool) -> int | Undecided:
        text = self._window
        if text[here] in " \t>`~" and (reached := self._fence(here, final)) is not None:
            return reached
        if text[here] == "\n":
            blank_lines = _BLANK_LINES.match(text, here)
            assert blank_lines is not None
            self._after_label = False
            return self._passed(here, blank_lines.end())
        label = self._finder.find(text, here, final=final)
        if label is MORE:
            return MORE
        if label is not None and self._offered(label):
            self._after_label = True
            return label.end
        self._at_line_start = self._after_label = False
        return here

    def _offered(self, label: Label) -> bool:
        moved = replace(label, start=label.start + self._base, end=label.end + self._base)
        return self._listener.on_label(moved, after_label=self._after_label)

    def _fence(self, here: int, final: bool) -> int | Undecided | None:
        text = self._window
        found = (_LAST_FENCE if final else _FENCE).match(text, here)
        begun = not final and len(text) - here < 64 and _FENCE_BEGUN.match(text, here)
        if begun:
            return MORE
        if found is None:
            return None
        start, end = self._base + here, self._base + found.end()
        info = found["info"]
        fence = Fence(info or "", start, end, found[0], is_line=info is not None)
        return found.end() if self._listener.on_fence(fence) else None

    def _line(self, here: int, final: bool) -> int | Undecided:
        text, search_from = self._window, here
        while True:
            found = self._stop.search(text, search_from)
            if found is None:
                return self._passed(here, len(text))
            stop = found.start()
            if found[0] == "\n":
                self._at_line_start = True
                return self._passed(here, stop + 1)
            if found[0] == "":
                if stop > here or self._tried != self._base + stop:
                    self._tried = self._base + stop
                    self._at_line_start = True
                    return self._passed(here, stop)
                search_from = stop + 1
                continue
            mark = find_mark(text, stop, final=final)
            if mark is None:
                search_from = stop + 1
                continue
            if stop > here:
                return self._passed(here, stop)
            if mark is MORE:
                return MORE
            moved = replace(mark, start=self._base + stop, end=self._base + mark.end)
            if self._listener.on_mark(moved):
                self._at_line_start = mark.kind != "end"
                return mark.end
            return self._passed(here, mark.end)

    def _passed(self, start: int, end: int) -> int:
        if end > start:
            self._listener.on_text(self._window[start:end], self._base + start)
        return end
