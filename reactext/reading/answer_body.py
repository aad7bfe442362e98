"""Streams a final answer, verbatim, and finds what was written after it.

An answer may hold labels, code and tables. It ends where the model goes on without being asked:
a new thought, a repeated answer, an invented observation, question or user turn, an action.
"""

from __future__ import annotations

import re

from reactext.protocol import bare
from reactext.reading.bodies import Told
from reactext.reading.findings import ECHO, Findings
from reactext.reading.known import Known
from reactext.reading.labels import Label
from reactext.reading.names import is_none, resolve, resolve_exactly, undressed
from reactext.reading.placeholders import is_answer_placeholder, may_be_answer_placeholder
from reactext.reading.scanner import Fence

# Behind an action's label: the action as JSON, in a fence or not.
_JSON_ACTION = re.compile(r"(?:```\w{0,10}\s*)?[\[\s]*\{\s*\"(?:action|tool|name|function)\w*\"")
_NOTHING_YET = re.compile(r"(?:```\w{0,10}\s*)?[\[{\s]*")
_MOST_BLANK = 4
_SURE_ENDS = ("thought", "observation")


class AnswerBody:
    """The text of an answer; ``over_at`` is where it ended, if it did before the text."""

    def __init__(
        self,
        known: Known,
        findings: Findings,
        start: int,
        label: Label | None,
        *,
        wraps: bool = False,
    ) -> None:
        self._known = known
        self._findings = findings
        self._told = Told(findings, "answer")
        self._label = label
        self._opening: list[str] | None = []
        self._closer = label.opened if label is not None else ""
        self._kept: list[str] = []
        self._ticks = ""
        self._held: list[str] = []
        self._held_kind = ""
        self._held_lines = 0
        self._line_is_blank = self._line_has_text = False
        self._wraps = wraps
        self._held_at = start
        self.over_at: int | None = None

    is_inside = False

    def take(self, text: str, _start: int) -> None:
        if self.over_at is not None:
            return
        if not self._held_kind:
            self._note_blank_line(text)
            self._tell(text)
            return
        self._held.append(text)
        if self._held_kind == "fence":
            if text.strip():
                self._release_fence()
        elif self._held_kind == "action" and text.endswith("\n"):
            self._held_lines += text.count("\n")
            self._judge_action()

    def _tell(self, text: str) -> None:
        """Tell a piece, once the answer cannot be an echo of the format any more."""
        if self._closer:
            text = self._without_closer(text)
        if not text:
            return
        if self._opening is None:
            self._told.take(text)
            return
        if text.isspace() and not self._opening:
            return
        self._opening.append(text)
        opening = "".join(self._opening)
        if opening.strip() and not may_be_answer_placeholder(opening):
            if is_answer_placeholder(opening):
                self.over_at = self._held_at
            else:
                self._opening = None
                self._told.take(opening)

    def _without_closer(self, text: str) -> str:
        """Leave out what closes, at the end of the line, the bold that opened before the label."""
        mark = self._closer
        if not text.strip(f" \t\r{mark[0]}"):
            self._kept.append(text)
            return ""
        text = "".join(self._kept) + text
        self._kept.clear()
        line, newline, rest = text.partition("\n")
        solid = line.rstrip(f" \t\r{mark[0]}")
        if newline or mark in solid:
            self._closer = ""
            bold = line.rstrip().removesuffix(mark)
            is_closed = newline and len(bold) < len(line.rstrip()) and mark not in solid
            return bold + newline + rest if is_closed else text
        self._kept.append(line[len(solid) :])
        return solid

    def _tell_opening(self) -> None:
        opening = "".join(self._opening or ())
        self._opening = None
        if is_answer_placeholder(opening):
            self._findings.fault(ECHO, self._held_at)
        else:
            self._told.take(opening)

    @property
    def is_empty(self) -> bool:
        """Whether no word of it has come yet."""
        return self._told.is_empty and not "".join(self._opening or ()).strip()

    def _note_blank_line(self, text: str) -> None:
        self._line_has_text = self._line_has_text or bool(text.strip())
        if text.endswith("\n"):
            self._line_is_blank, self._line_has_text = not self._line_has_text, False

    def label(self, label: Label) -> bool:
        """Take a label that begins a line; False says that it belongs to the answer."""
        is_due = label.kind in ("answer", "action_input") and label.has_colon
        if self.is_empty and not self._held_kind and is_due:
            return True
        if self._held_kind == "fence":
            self._release_fence()
            return self.over_at is not None
        if self._ticks or not label.has_colon or not (label.is_plain or label.is_starred):
            return False
        if self._held_kind in ("question", "action") and label.kind in (
            "thought", "action", "action_input", "answer", "observation"
        ):  # fmt: skip
            self._end_at(self._held_at)
            return True
        if self._ends(label):
            self._end_at(label.start)
            return True
        if (label.kind == "action" and not label.is_weak) or label.kind == "question":
            self._release()
            self._hold(label.kind, label.start)
        return False

    def _ends(self, label: Label) -> bool:
        if label.kind in _SURE_ENDS:
            return not label.is_weak
        if label.kind == "answer":
            own = self._label is not None and bare(self._label.written) == bare(label.written)
            return own or label.is_canonical
        if label.kind == "question":
            is_user = bare(label.written) in ("user", "human", "userinput", "用户", "用户输入")
            return is_user and (self._line_is_blank or not label.is_weak)
        return False

    def _hold(self, kind: str, start: int) -> None:
        self._held_kind = kind
        self._held_at = start
        self._held_lines = 0

    def _release(self) -> None:
        text, self._held_kind = "".join(self._held), ""
        self._held.clear()
        if text:
            self._tell(text)

    def _release_fence(self) -> None:
        if self._wraps:
            self._end_at(self._held_at)
            return
        self._ticks = self._held[0].strip()[:3]
        self._release()

    def _judge_action(self) -> None:
        """Keep holding a line that names a tool: it is an action, written after the answer."""
        text = self._after_label()
        first = text.split("\n", 1)[0]
        name = undressed(first.strip().split("(")[0])
        if (
            is_none(name)
            or (self._known.tools is not None and resolve_exactly(name, self._known.tools))
            or (self._known.tools is None and "(" in first and resolve(name, None).name)
            or _JSON_ACTION.match(text)
        ):
            self._end_at(self._held_at)
        elif self._held_lines > (_MOST_BLANK if _NOTHING_YET.fullmatch(text) else 1):
            self._release()

    def _after_label(self) -> str:
        """What is held behind the label that it begins with, without blanks."""
        return re.split("[:：]", "".join(self._held), maxsplit=1)[-1].strip()

    def _end_at(self, position: int) -> None:
        self._held.clear()
        self._held_kind = ""
        self.over_at = position
        self._findings.repaired("text after the answer")

    def fence(self, fence: Fence) -> bool:
        ticks = fence.text.strip().strip(">").strip()[:3]
        if self._held_kind == "action" or not fence.is_line:
            return False
        if self._held_kind:
            self._release_fence() if self._held_kind == "fence" else self._release()
            if self.over_at is not None:
                return True
        if self._ticks:
            if not fence.info and ticks == self._ticks:
                self._ticks = ""
            self._tell(fence.text)
        elif fence.info:
            self._ticks = ticks
            self._tell(fence.text)
        else:
            self._hold("fence", fence.start)
            self._held.append(fence.text)
        return True

    def tag_end(self, name: str, start: int) -> bool:
        """Take the closing tag of the label, if it was one."""
        if (
            self._label is None
            or self._label.dress != "<"
            or bare(self._label.written) != bare(name)
        ):
            return False
        self._end_at(start)
        return True

    def finish(self) -> None:
        if self._held_kind == "fence":
            self._end_at(self._held_at)
            self._findings.repaired("lone fence")
        elif self._held_kind and not self._after_label():
            self._end_at(self._held_at)
        elif self._held_kind == "action":
            self._held_lines = _MOST_BLANK + 1
            self._judge_action()
        elif self._held_kind:
            self._release()
        if self._closer:
            kept, mark, self._closer = "".join(self._kept).rstrip(), self._closer, ""
            self._tell(kept.removesuffix(mark))
        self._tell_opening()
        text = self._findings.told("answer")
        if text:
            self._findings.answer = text
        else:
            self._findings.fault("the final answer is empty", self._held_at)
