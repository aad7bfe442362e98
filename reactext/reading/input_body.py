"""Collects the text after "Action Input:", for the tool that was named before it."""

from __future__ import annotations

import re
from dataclasses import replace

from reactext.reading.binding import Draft
from reactext.reading.findings import Findings
from reactext.reading.inputs import read_input, without_input
from reactext.reading.scanner import Fence
from reactext.reading.strings import CLOSING
from reactext.reading.tracking import Tracker
from reactext.reading.values import strict_json

_CALLED = re.compile(r"[\w.]{1,80}\s?[(（]")
_KEYED = re.compile(r"[^\W\d]\w{0,60}[ \t]*=[ \t]*[\"'“`\[{(rfb]")
_HEAD = 140


class InputBody:
    """The input of an action, or of several that were named together; ``drafts`` are the names."""

    def __init__(self, drafts: list[Draft], findings: Findings, start: int) -> None:
        self._draft, *self._later = drafts
        self._findings = findings
        self._start = start
        self._text: list[str] = []
        self._length = 0
        self._head = ""
        self._mode = "head"
        self._tracker = Tracker()
        self._quote = ""
        self._is_more = self._has_remark = False
        self._again_at = start
        self._is_escaped = self._is_read = False
        self._line_at: int | None = None
        self._at = start
        self._ticks = ""
        self._is_fenced = False
        self._cut: tuple[int, int] | None = None
        self.over_at: int | None = None

    @property
    def is_inside(self) -> bool:
        if self._ticks:
            return True
        if self._mode == "bracket":
            return self._tracker.depth > 0
        if self._mode == "keyed":
            return self._tracker.in_string and not self._tracker.may_have_ended
        return self._mode == "quote"

    def label_inside(self, start: int) -> None:
        """Note that a label stands where something is open: if it never closes, it counts."""
        if self._cut is None:
            self._cut = (self._length, start)

    def fence(self, fence: Fence) -> bool:
        ticks = fence.text.strip().strip(">").strip()[:3]
        if self._mode in ("bracket", "keyed") and self.is_inside:
            return (
                bool(self._ticks)
                and self._tracker.in_string is False
                and self._fence_ends(fence, ticks)
            )
        if self._ticks:
            return self._fence_ends(fence, ticks)
        if self._is_read or self._is_fenced:
            return True
        self._is_fenced = self._mode == "head" and not self._head.strip()
        self._ticks = ticks
        if not self._is_fenced or fence.info:
            self._store(fence.text)
        else:
            self._store(fence.text)
        return True

    def _fence_ends(self, fence: Fence, ticks: str) -> bool:
        if fence.info or ticks != self._ticks:
            return False
        self._ticks = ""
        self._store(fence.text)
        if self._is_fenced:
            self._read("".join(self._text))
        return True

    def _store(self, text: str) -> None:
        self._text.append(text)
        self._length += len(text)

    def take(self, text: str, start: int) -> None:
        if self._is_read:
            self._after(text, start)
            return
        before = self._length
        self._store(text)
        if self._ticks:
            return
        if self._mode == "head":
            self._at = start - before
            self._head += text
            self._begin()
        elif self._mode in ("bracket", "keyed"):
            self._at = start - before
            self._follow(text, before - self._tracker.held)
        elif self._mode == "quote":
            self._follow_quote(text)

    def _begin(self) -> None:
        """Decide by the first characters what is open until it is closed."""
        head = self._head.lstrip()
        if not head:
            return
        if head[0] in "{[(｛（【" or _CALLED.match(head):
            self._mode = "bracket"
            self._follow(head, self._length - len(head))
        elif head[0] in CLOSING and head[0] != "`":
            self._mode = "quote"
            self._quote = CLOSING[head[0]]
            self._follow_quote(head[1:])
        elif _KEYED.match(head):
            self._mode = "keyed"
            self._tracker.feed("(")
            self._follow(head, 0)
        elif not re.match(r"[\w. \t]*[=]?[ \t]*\Z", head) or len(head) > _HEAD:
            self._mode = "raw"

    def _follow(self, text: str, position: int) -> None:
        for part in self._tracker.feed(text):
            position += len(part.text)
            if part.kind == "closed" and self._mode == "bracket":
                self._mode = "raw"
                self._closed(position)
                return

    def _closed(self, length: int) -> None:
        """The first bracket closed: if that is clean JSON, the input is complete."""
        whole = "".join(self._text)
        if not whole.lstrip().startswith("{"):
            return
        try:
            strict_json(whole[:length])
        except ValueError:
            return
        self._read(whole[:length])
        if whole[length:]:
            self._after(whole[length:], self._at + length)

    def _follow_quote(self, text: str) -> None:
        for character in text:
            if character == self._quote and not self._is_escaped:
                self._mode = "raw"
                return
            self._is_escaped = character == "\\" and not self._is_escaped

    def _after(self, text: str, start: int) -> None:
        """Text after an input that is complete: another one, a remark, or below it the end."""
        more = text.lstrip(" \t\r\n|｜,;")
        if more.startswith("{") and self._can_come_again():
            self._begin_again(more, start + len(text) - len(more))
            return
        self._has_remark = self._has_remark or bool(more)
        if text.strip(" \t\r\n`*.;,。；，}|｜"):
            self._findings.repaired("text after the arguments")
            if self._line_at is not None and self.over_at is None:
                self.over_at = self._line_at
        if text.endswith("\n"):
            self._line_at = start + len(text)

    def _can_come_again(self) -> bool:
        return self._draft.tool is not None and self.over_at is None and not self._has_remark

    def _begin_again(self, text: str, start: int) -> None:
        """Another object after the first is another call of the tool, if it can be one."""
        self._is_read, self._is_more = False, not self._later
        if self._later:
            self._draft = self._later.pop(0)
        self._mode, self._head, self._text, self._length = "head", "", [], 0
        self._tracker, self._again_at = Tracker(), start
        self.take(text, start)

    def _can_be_more(self, text: str) -> bool:
        """Whether an object has nothing but the tool's parameters."""
        assert self._draft.tool is not None
        names = {each.name for each in self._draft.tool.parameters}
        try:
            value = strict_json(text)
        except ValueError:
            return False
        return isinstance(value, dict) and bool(value) and names.issuperset(value)

    def _read(self, text: str) -> None:
        if self._is_read:
            return
        self._is_read = True
        if self._is_more and not self._can_be_more(text):
            self._findings.repaired("text after the arguments")
            self.over_at = self._again_at
            return
        if not self._draft.problem or "(" in self._draft.text:
            draft = read_input(text, replace(self._draft, kwargs={}, problem=""))
            self._findings.add(
                replace(draft, text=f"{self._draft.text}\n{text.strip()}"), self._start
            )
        else:
            self._findings.add(self._draft, self._start)

    def was_cut(self) -> None:
        """End here because the text was cut: what is not complete is not run."""
        if not self._is_read:
            self._is_read = True
            problem = "the action input was cut at the length limit"
            self._findings.add(replace(self._draft, problem=problem, is_answer=False), self._start)

    def finish(self) -> None:
        text = "".join(self._text)
        if self._cut is not None and self.is_inside:
            length, self.over_at = self._cut
            text = text[:length]
        self._read(text)
        while self._later:
            self._findings.add(without_input(self._later.pop(0)), self._start)
