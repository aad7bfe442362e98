"""Collects the text after "Action:" and reads each call as soon as it is complete.

a(x="1") || b()      - a()      {"tool": …}      a
                     - b()                       {"x": 1}
"""

from __future__ import annotations

from dataclasses import replace

from reactext.reading.binding import Draft
from reactext.reading.call_shapes import (
    gives_parameter,
    is_cut_name,
    is_numbered_call,
    is_quoted_input,
    looks_like_call,
    says_nothing,
    unclosed_parts,
)
from reactext.reading.findings import Findings
from reactext.reading.inputs import read_input, unless_input, without_input
from reactext.reading.known import Known
from reactext.reading.names import is_none, resolve_exactly, says_answer_follows, undressed
from reactext.reading.scanner import Fence
from reactext.reading.tracking import Part, Tracker
from reactext.reading.values import strict_json
from reactext.reading.written_calls import (
    CHOICE_BEGUN,
    JOINT,
    chooses,
    read_clean,
    read_written,
)

_CHOICE_LENGTH = 8
_MOST_WORDS = 200


class ActionBody:
    """The calls of one action label; ``pending`` is a name whose input is still to come."""

    def __init__(self, known: Known, findings: Findings, start: int) -> None:
        self._known = known
        self._findings = findings
        self._tracker = self._new_tracker()
        self._item: list[str] = []
        self._trailer: list[str] = []
        self._certain: list[Draft] = []
        self._after_certain = ""
        self._item_start = self._position = start
        self._is_closed = self._is_read = self._is_between = self._is_due = False
        self._ticks = ""
        self._raw: list[str] | None = None
        self._cut: tuple[int, int] | None = None
        self._length = 0
        self.pending: Draft | None = None
        self._names: list[Draft] = []
        self._keyed: list[str] = []
        self._is_after_blank_line = False
        self._is_blank = True
        self._words = 0
        self.says_none = False
        self._after_none: list[str] = []
        self.over_at: int | None = None
        self._breaks_off = False

    def _new_tracker(self) -> Tracker:
        """Follow the text of calls, which the user's own separator may divide."""
        separator = self._known.syntax.separator
        return Tracker("" if separator.strip() in ("|", "||") else separator)

    @property
    def is_inside(self) -> bool:
        return self._tracker.depth > 0 or bool(self._ticks)

    def take(self, text: str, start: int) -> None:
        if self.over_at is not None:
            return
        if self._raw is not None:
            self._raw.append(text)
            return
        if not self._item and text.isspace() and text[-1] == "\n" and not self._tracker.held:
            if self._is_after_blank_line:
                return  # so that any number of blank lines costs nothing
            text = "\n"
        self._is_after_blank_line = text == "\n"
        self._position = start - self._tracker.held
        for part in self._tracker.feed(text):
            if self.over_at is not None:
                return
            self._part(part)
            self._position += len(part.text)

    def label_inside(self, start: int) -> None:
        """Note that a label stands where something is open: if it never closes, it counts."""
        if self._cut is None and (not self._tracker.in_string or self._tracker.may_have_ended):
            self._cut = (self._length + self._tracker.held, start)

    def fence(self, fence: Fence) -> bool:
        if self._tracker.in_string:
            return False
        if self._ticks:
            if fence.info or not fence.text.strip().strip(">").strip().startswith(self._ticks):
                return False
            self._close_fence()
            return True
        if self._tracker.depth:
            return False
        self._line_ends()
        self._ticks = fence.text.strip().strip(">").strip()[:3]
        if self.pending is not None and self.pending.otherwise is None:
            self._raw = []
        return True

    def _close_fence(self) -> None:
        self._ticks = ""
        if self._raw is not None and self.pending is not None:
            raw, self._raw = "".join(self._raw), None
            self._findings.repaired("no input label")
            self._add(read_input(raw, self.pending))
            self.pending = None
            self._is_between = True
            return
        for part in self._tracker.feed("", final=True):
            self._part(part)
        self._item_ends(is_unclosed=bool(self._tracker.depth))
        self._tracker = self._new_tracker()
        self._is_between = not self._findings.is_open

    def _part(self, part: Part) -> None:
        if part.kind == "text":
            if not self._item and not self._is_read and not self._is_due:
                self._item_start = self._position
            if not self._is_read:
                self._item.append(part.text)
                self._length += len(part.text)
                self._is_blank = self._is_blank and not part.text.strip()
            else:
                self._trailer.append(part.text)
                self._follow_certain(part.text)
        elif part.kind == "closed":
            self._closed()
        elif part.kind == "separator":
            self._separated(part.text)
        elif part.kind == "newline":
            self._line_ends()
        else:
            self._findings.repaired("comment")

    def _closed(self) -> None:
        if self._is_read:
            self._trailer_closed()
            return
        if self._is_closed:
            return
        self._is_closed = True
        text = "".join(self._item)
        if self.pending is not None:
            self._input_closed(text)
            return
        if self._is_between and not self._is_due and not looks_like_call(text, self._known):
            return
        self._certain, self._after_certain = read_clean(text, self._known), ""
        self._is_read = bool(self._certain)
        if not text.rstrip().endswith((")", "）")):
            self._tell_certain()

    def _follow_certain(self, text: str) -> None:
        """A call is told once what follows it on its line shows that it is not one of a choice."""
        self._after_certain = (self._after_certain + text).lstrip(" \t`*")[:_CHOICE_LENGTH]
        if self._certain and CHOICE_BEGUN.match(self._after_certain) is None:
            self._tell_certain()

    def _tell_certain(self) -> None:
        certain, self._certain = self._certain, []
        if certain:
            self.settle()
        for each in certain:
            self._add(each)

    def _trailer_closed(self) -> None:
        """After a call on its line, another one may be joined by other means than bars."""
        if self._certain:
            return
        text = "".join(self._trailer)
        self._trailer.clear()
        joint = JOINT.match(text)
        if joint is None or not looks_like_call(text[joint.end() :], self._known):
            self._findings.repaired("text after the call")
            return
        self._findings.repaired("other separator")
        self._item, self._is_read, self._is_closed = [text[joint.end() :]], False, False
        self._is_blank = False
        self._is_between = False
        self._closed()

    def _input_closed(self, text: str) -> None:
        assert self.pending is not None
        if not text.lstrip().startswith("{"):
            return
        try:
            strict_json(text)
        except ValueError:
            return
        self._findings.repaired("no input label")
        self._add(replace(read_input(text, self.pending), text=text))
        self.pending = None
        self._is_read = True

    def _separated(self, bar: str) -> None:
        if bar in ("|", "｜") and not self._is_closed and not self._is_read:
            if self._is_blank:
                self._findings.repaired("separator without a call")
                return
            self._item.append(bar)
            self._length += 1
            return
        if bar in ("|", "｜"):
            self._findings.repaired("single bar")
        if not self._is_read and self._is_blank:
            self._findings.repaired("separator without a call")
        self._item_ends()
        if self.pending is not None and self.pending.otherwise is None and self.pending.tool:
            self._names.append(self.pending)
            self.pending = None
        self.settle(names_too=False)
        self._is_between, self._is_due = False, True
        self._item_start = self._position

    def _line_ends(self) -> None:
        if not self._is_read and not "".join(self._item).strip(" \t\r`*"):
            self._item.clear()
            self._is_blank = True
            self._length = 0
            return
        self._item_ends()
        if not self._findings.is_open or self._findings.problem:
            self._is_between, self._is_due = True, False

    def _item_ends(self, *, is_unclosed: bool = False) -> None:
        text, was_read = "".join(self._item), self._is_read
        was_between, was_due = self._is_between, self._is_due
        if self._certain and chooses(trailer := "".join(self._trailer), self._known):
            text, was_read, self._certain = text + trailer, False, []
            self._trailer.clear()
        self._tell_certain()
        if "".join(self._trailer).strip(" \t\r`*.;,。；，、!！~"):
            self._findings.repaired("text after the call")
        self._trailer.clear()
        self._item.clear()
        self._is_blank = True
        self._length = 0
        self._is_closed = self._is_read = self._is_due = False
        self._cut = None
        if was_read or self.over_at is not None or says_nothing(text, self._known):
            return
        if self.says_none:
            self._after_none.append(text)
            return
        if self.pending is not None and self.pending.otherwise is not None:
            self.settle()
            was_between = not was_due
        if self.pending is not None and not was_due:
            if not self._after_name(text):
                return
        elif was_between and not was_due and not looks_like_call(text, self._known):
            self.over_at = self._item_start
            self._findings.repaired("text after the call")
            return
        if is_none(text):
            self.says_none = True
            return
        for part in unclosed_parts(text, self._known) if is_unclosed else [text]:
            for each in read_written(part, self._known):
                self._drafted(each)

    def _after_name(self, text: str) -> bool:
        """Read the line after a name alone: its input, another call, or words that are passed."""
        assert self.pending is not None
        if self.pending.is_answer:
            before = "".join(map(str, self.pending.args))
            self.pending = replace(self.pending, args=(f"{before}\n{text}".strip(),))
            return False
        is_bracketed = text.lstrip()[:1] in ("{", "[", "(", "｛", "（")
        is_quoted = is_quoted_input(text, self.pending, self._known)
        if (is_bracketed or is_quoted) and not is_numbered_call(text, self._known):
            given = replace(self.pending, needs_input=False).repaired("no input label")
            self.pending = None
            self._drafted(read_input(text, given))
            return False
        if gives_parameter(text, self.pending):
            self._keyed.append(text)
            return False
        name = undressed(text)
        is_known = (
            self._known.tools is not None and resolve_exactly(name, self._known.tools) is not None
        )
        if is_known or looks_like_call(text, self._known):
            self._add(self.pending)
            self.pending = None
            return True
        self._findings.repaired("words after the tool name")
        self._words += 1
        if self._words > _MOST_WORDS:
            self.over_at = self._item_start
        return False

    def _drafted(self, draft: Draft) -> None:
        draft = unless_input(draft)
        is_name = draft.needs_input and draft.tool is not None
        self.settle(names_too=not is_name)
        if draft.needs_input:
            self.pending = draft
        else:
            self._add(draft)

    def _add(self, draft: Draft) -> None:
        if draft.problem and self._breaks_off and not self._findings.is_open:
            self.over_at = self._item_start
            self._findings.repaired("last call cut off")
            return
        self._findings.add(draft, self._item_start)

    def finish(self) -> None:
        """Read the last call, also where its closers are missing."""
        if self.over_at is not None:
            return
        if self._raw is not None:
            self._close_fence()
        for part in self._tracker.feed("", final=True):
            self._part(part)
        if self._is_due and not self._is_read and self._is_blank:
            self._findings.repaired("separator without a call")
        if self._tracker.depth and self._cut is not None:
            length, label_at = self._cut
            self._item = ["".join(self._item)[:length]]
            self._item_ends(is_unclosed=True)
            self.over_at = label_at
            return
        may_be_cut = self._is_due and not self._findings.is_open
        if may_be_cut and is_cut_name("".join(self._item), self._known):
            self._item.clear()
            self._findings.repaired("last call cut off")
        self._breaks_off = bool(self._tracker.depth) or self._tracker.in_string
        self._item_ends(is_unclosed=bool(self._tracker.depth))

    @property
    def after_none(self) -> str:
        """What was written after the word for no action."""
        return "\n".join(self._after_none)

    def was_cut(self) -> None:
        """End here because the text was cut: what is not complete is not run."""
        if self.pending is not None and self.pending.otherwise is not None and not self._item:
            self.settle()
        if not self._after_certain:
            self._tell_certain()
        if (self._is_read and not self._certain) or (self.pending is None and self._is_blank):
            return
        name = self.pending.name if self.pending is not None else ""
        self._add(
            Draft(name, text="".join(self._item), problem="the action was cut at the length limit")
        )

    def take_names(self) -> list[Draft]:
        """Hand over the names alone, whose input has come."""
        names = [*self._names, *([self.pending] if self.pending is not None else [])]
        self._names, self.pending = [], None
        return names

    def settle(self, *, names_too: bool = True) -> None:
        """Take a name alone as a call without arguments: no input has come."""
        while names_too and self._names:
            self._add(without_input(self._names.pop(0)))
        if self.pending is not None:
            draft, self.pending = self.pending, None
            if self._keyed:
                self._findings.repaired("no input label")
                self._add(read_input("\n".join(self._keyed), draft))
                self._keyed.clear()
            else:
                self._add(without_input(draft))

    def gives_way(self) -> bool:
        """Whether the action says no more than that the answer follows; then it is left out."""
        draft = self.pending
        if (
            draft is None
            or not self._findings.is_open
            or draft.otherwise is not None
            or not ((draft.is_answer and not draft.args) or says_answer_follows(draft.text))
        ):
            return False
        self.pending = None
        return True
