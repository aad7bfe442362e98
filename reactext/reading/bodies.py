"""What the text under each label is collected by, until it can be read.

A body takes the text of its label as it comes, tells what is certain, and finishes when the next
label, or the end, is there.
"""

from __future__ import annotations

from typing import Protocol

from reactext.reading.findings import Findings
from reactext.reading.scanner import Fence


class Body(Protocol):
    """The text under one label."""

    @property
    def is_inside(self) -> bool:
        """Whether a string, bracket or fence is open, so that no label counts."""
        ...

    @property
    def over_at(self) -> int | None:
        """Where the turn was over: nothing that comes can belong to it; else None."""
        ...

    def take(self, text: str, start: int, /) -> None:
        """Take the next piece, which stands at ``start``."""
        ...

    def fence(self, fence: Fence, /) -> bool:
        """Take a fence, or refuse it: then it comes again, as text."""
        ...

    def finish(self) -> None:
        """Read what is still to be read."""
        ...


class Told:
    """Streams one kind of text, without the blanks at its ends."""

    def __init__(self, findings: Findings, kind: str, joint: str = "") -> None:
        self._findings = findings
        self._kind = kind
        self._blanks = [joint]
        self._has_text = bool(joint)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was told."""
        return not self._has_text

    def take(self, text: str) -> None:
        """Tell a piece; blanks are told with the text that follows them."""
        solid = text.rstrip()
        if not solid:
            if self._has_text:
                self._blanks.append(text)
            return
        if not self._has_text:
            solid = solid.lstrip()
        self._findings.tell(self._kind, "".join(self._blanks) + solid)
        self._has_text = True
        self._blanks = [text[len(text.rstrip()) :]]


class Prose:
    """A thought, or text before any label.

    From a line on that begins like JSON, all is held until a label shows that it was no action.
    """

    over_at: int | None = None

    def __init__(self, told: Told, *, at_line_start: bool = False) -> None:
        self._told = told
        self._fenced: list[str] = []
        self._held: list[str] = []
        self._ticks = ""
        self._at_line_start = at_line_start

    @property
    def is_inside(self) -> bool:
        return bool(self._ticks)

    def take(self, text: str, _start: int) -> None:
        if self._ticks:
            self._fenced.append(text)
            return
        begun = text.lstrip(" \t>")[:1]
        if self._held or (self._at_line_start and begun in ("{", "[")):
            self._held.append(text)
        else:
            self._told.take(text)
        self._at_line_start = text.endswith("\n") or (self._at_line_start and not begun)

    def release(self) -> None:
        """Tell what was held: a label follows, so it was no action."""
        self._told.take("".join(self._held))
        self._held.clear()

    def fence(self, fence: Fence) -> bool:
        self._fenced.append(fence.text)
        if not self._ticks:
            self._ticks = fence.text.strip().strip(">").strip()[:3]
        elif not fence.info and fence.text.strip().strip(">").strip().startswith(self._ticks):
            self._ticks = ""
            if self._held or "".join(self._fenced[1:]).lstrip()[:1] in ("{", "["):
                self._held += self._fenced
            else:
                self._told.take("".join(self._fenced))
            self._fenced.clear()
        return True

    def finish(self) -> None:
        """What is held, or in an open fence, is told by nobody: it may be an action."""


class Skip:
    """Text that does not count: an echo of the prompt, or an input without an action."""

    is_inside = False
    over_at: int | None = None

    def take(self, _text: str, _start: int) -> None:
        """Pass over it."""

    def fence(self, _fence: Fence) -> bool:
        return True

    def finish(self) -> None:
        """There is nothing to read."""


class AfterCalls:
    """What follows calls that are complete: blanks, or the end of the turn."""

    is_inside = False

    def __init__(self) -> None:
        self.over_at: int | None = None

    def take(self, text: str, start: int) -> None:
        solid = text.lstrip(" \t\r\n`*;,.|")
        if self.over_at is None and solid:
            self.over_at = start + len(text) - len(solid)

    def fence(self, _fence: Fence) -> bool:
        return True

    def finish(self) -> None:
        """There is nothing to read."""


class NoneBody:
    """The input of an action that named no tool: its first line says so again, the rest counts."""

    is_inside = False
    over_at: int | None = None

    def __init__(self) -> None:
        self._text: list[str] = []

    def take(self, text: str, _start: int) -> None:
        self._text.append(text)

    def fence(self, fence: Fence) -> bool:
        self._text.append(fence.text)
        return True

    @property
    def after_none(self) -> str:
        """The text after the first line."""
        return "".join(self._text).strip().partition("\n")[2]

    def finish(self) -> None:
        """Nothing is told before the end: a label may follow."""
