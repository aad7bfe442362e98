"""The course of one turn: which label is open, what its text is, and when the turn is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reactext.grammar import Order
from reactext.reading.action_body import ActionBody
from reactext.reading.answer_body import AnswerBody
from reactext.reading.binding import Draft
from reactext.reading.bodies import AfterCalls, Body, NoneBody, Prose, Skip, Told
from reactext.reading.findings import Findings
from reactext.reading.input_body import InputBody
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.marks import NATIVE_ENDS, Mark
from reactext.reading.native_body import NativeBody
from reactext.reading.scanner import Fence
from reactext.reading.tracking import TooMuchError
from reactext.reading.written_calls import Known

_TOKENS = {
    "question": "QUESTION", "thought": "THOUGHT", "action": "ACTION", "action_input": "INPUT",
    "observation": "OBSERVATION", "answer": "ANSWER",
}  # fmt: skip
MAX_LABELS = 5_000
"""So many labels may stand in one turn."""

_CALLING = (ActionBody, InputBody, NativeBody, AfterCalls)


class Course:
    """Listens to the parts of a text and follows the turn through them.

    ``over_at`` is where the turn was over before the text was, ``visible_from`` where reasoning
    in tags ended last.
    """

    def __init__(
        self, known: Known, finder: LabelFinder, findings: Findings, stop: Callable[[], None]
    ) -> None:
        self.known = known
        self.findings = findings
        self._finder = finder
        self._stop = stop
        self._order = Order()
        self._body: Body = Prose(Told(findings, "preamble"))
        self.is_labelled = self.is_over = self.is_final = self.too_much = False
        self.over_at: int | None = None
        self.visible_from = 0
        self.orphan_input: int | None = None
        self.invented_at: int | None = None
        self._thinking: Told | None = None
        self._thinking_from = 0
        self._thinking_ends: tuple[str, ...] = ()
        self._native = ""
        self._wraps = self._has_text = self.is_echo = False
        self._first_fence: Fence | None = None
        self._line_is_blank = self._is_line_start = True
        self._last = ""
        self._labels_seen = 0
        self._ending: Mark | None = None
        self._after_ending: list[str] = []

    # -- what the prompt ended with ------------------------------------------------------------

    def begin(self, kind: str, draft: Draft | None) -> None:
        """Open what the end of the prompt has announced."""
        self.is_labelled = True
        if kind == "action_input":
            self._order.takes("ACTION")
        self._order.takes(_TOKENS[kind])
        bodies: dict[str, Callable[[], Body]] = {
            "thought": lambda: Prose(Told(self.findings, "thought")),
            "action": lambda: ActionBody(self.known, self.findings, 0),
            "action_input": lambda: InputBody(draft or _NAMELESS, self.findings, 0),
            "answer": lambda: AnswerBody(self.known, self.findings, 0, None),
        }
        self._body = bodies.get(kind, Skip)()

    def open_thinking(self, *ends: str, at: int = 0) -> None:
        """Take all that comes as reasoning, until one of these marks."""
        joint = "\n" if self.findings.has_told("thinking") else ""
        self._thinking = Told(self.findings, "thinking", joint)
        self._thinking_from = at
        self._thinking_ends = ends

    # -- labels --------------------------------------------------------------------------------

    @property
    def _is_deaf(self) -> bool:
        return self.is_over or self._thinking is not None or self.is_echo

    def on_label(self, label: Label, *, after_label: bool) -> bool:
        self._go_on()
        if self._is_deaf:
            return False
        if self._first_fence is not None:
            self._wraps, self._first_fence = True, None
            self.findings.repaired("fence around the turn")
        body = self._body
        if body.is_inside:
            if isinstance(body, ActionBody | InputBody):
                body.label_inside(label.start)
            return False
        if isinstance(body, AnswerBody):
            taken = body.label(label)
            self._over_if_body_is()
            return taken
        if after_label and not self._counts_after_label(label):
            return False
        return self._counts(label) and self._open(label)

    def _counts_after_label(self, label: Label) -> bool:
        if isinstance(self._body, ActionBody):
            return label.has_colon and label.kind in ("answer", "action")
        if isinstance(self._body, InputBody):
            return label.kind == "action_input"
        return label.has_colon

    def _counts(self, label: Label) -> bool:
        """Whether the label means anything here; an everyday word does only where it is due."""
        acting = isinstance(self._body, _CALLING)
        if label.kind == "question":
            return acting or (not self._has_text and not self.is_labelled and not label.is_weak)
        if not label.is_weak:
            return True
        if not label.has_colon:
            return False
        if label.kind == "observation":
            return acting
        if label.kind == "action_input":
            return isinstance(self._body, ActionBody)
        return True

    def _open(self, label: Label) -> bool:
        self._labels_seen += 1
        if self._labels_seen > MAX_LABELS:
            self._guarded(_too_many_labels, label.start)
            return True
        self._leave(label)
        if self.is_over:
            return True
        if label.kind == "action_input" and not self._takes_input():
            return True
        if not self._order.takes(_TOKENS[label.kind]):
            return self._refused(label)
        self._note(label)
        self._body = self._new_body(label)
        return True

    def _new_body(self, label: Label) -> Body:
        if label.kind == "thought":
            joint = "\n" if self.findings.has_told("thought") else ""
            return Prose(Told(self.findings, "thought", joint))
        if label.kind == "action":
            return ActionBody(self.known, self.findings, label.end)
        if label.kind == "action_input":
            draft = None
            if isinstance(self._body, ActionBody):
                draft, self._body.pending = self._body.pending, None
            return InputBody(draft or _NAMELESS, self.findings, label.end)
        if label.kind == "answer":
            return AnswerBody(self.known, self.findings, label.end, label, wraps=self._wraps)
        return Skip()

    def _prose_told(self) -> Told:
        return Told(self.findings, "thought" if self.is_labelled else "preamble", " ")

    def _note(self, label: Label) -> None:
        if not self.is_labelled and self.findings.has_told("preamble"):
            self.findings.preamble_was("thought")
            self.findings.is_held = True
        self.is_labelled = True
        if not label.is_canonical:
            self.findings.repaired("label synonym")
        elif not label.is_plain:
            self.findings.repaired("dressed label")
        if not label.has_colon:
            self.findings.repaired("label without colon")

    def _leave(self, label: Label) -> None:
        """Finish the text before a label, and see whether that was all."""
        body = self._body
        settle = label.kind != "action_input"
        if isinstance(body, ActionBody) and label.kind == "answer":
            self._guarded(body.finish, label.start)
            settle = not body.gives_way()
        self._finish_body(label.start, settle=settle)
        if isinstance(body, ActionBody) and label.kind != "action_input":
            if self.findings.is_open and not self.findings.problem:
                self._order.takes("NOTHING")
        elif isinstance(body, NoneBody):
            self._order.takes("NOTHING")
        if self.findings.answer is not None:
            self._over(label.start)

    def _takes_input(self) -> bool:
        """Whether an input belongs to the action before it; else it is passed over."""
        body = self._body
        if isinstance(body, NativeBody | AfterCalls):
            self._body = AfterCalls()
            return False
        if not isinstance(body, ActionBody):
            return True
        if body.says_none:
            self._body = NoneBody()
            return False
        if body.pending is None and not self.findings.is_open:
            self.findings.repaired("input after a complete call")
            self._body = AfterCalls()
            return False
        return True

    def _refused(self, label: Label) -> bool:
        """The label has no place: the turn is over, or the label means nothing."""
        if self.findings.actions or self.findings.problem:
            self._over(label.start)
        elif label.kind == "observation":
            self.invented_at = label.start
            self._over(label.start)
        elif label.kind == "action_input":
            self.orphan_input = label.start
            self.is_labelled = True
            self._body = Skip()
        else:
            return False
        return True

    # -- text and fences -----------------------------------------------------------------------

    def on_text(self, text: str, start: int) -> None:
        if self._ending is not None:
            self._after_ending.append(text)
            if not text.strip(" \t"):
                return
            if text.lstrip(" \t").startswith(("\n", "\r")):
                self._over(self._ending.start)
                self._ending = None
                return
            self._go_on()
            return
        self._take(text, start)

    def _take(self, text: str, start: int) -> None:
        was_line_start, self._is_line_start = self._is_line_start, text.endswith("\n")
        self._last = text[-1]
        has_text = bool(text.strip())
        self._line_is_blank = self._is_line_start or (self._line_is_blank and not has_text)
        if self._thinking is not None:
            self._thinking.take(text)
            return
        if self.is_over or self.is_echo:
            return
        if self.is_final and was_line_start and self._is_residue(text):
            self.over_at = start
            return
        if has_text:
            self._has_text = True
            if self._first_fence is not None:
                fence, self._first_fence = self._first_fence, None
                self._body.fence(fence)
        self._guarded(lambda: self._body.take(text, start), start)
        self._over_if_body_is()

    def _is_residue(self, text: str) -> bool:
        """Whether the last line is what is left of a stop word that was cut."""
        if isinstance(self._body, Prose | Skip) or self._body.is_inside:
            return False
        return self._finder.is_residue(text, strict=isinstance(self._body, AnswerBody))

    def _over_if_body_is(self) -> None:
        if self._body.over_at is not None and not self.is_over:
            self._over(self._body.over_at)

    def on_fence(self, fence: Fence) -> bool:
        self._go_on()
        if self._is_deaf:
            return False
        if not self._has_text and self._first_fence is None and isinstance(self._body, Prose):
            self._first_fence = fence
            return True
        is_wrapper = self._wraps and not fence.info and not self._body.is_inside
        if is_wrapper and not isinstance(self._body, AnswerBody):
            self._over(fence.start)
            return True
        taken = self._body.fence(fence)
        self._over_if_body_is()
        return taken

    # -- marks ---------------------------------------------------------------------------------

    def on_mark(self, mark: Mark) -> bool:
        if self._thinking is not None:
            return self._mark_in_thinking(mark)
        if self._ending is not None:
            if mark.kind == "channel" and not isinstance(self._body, AnswerBody | NativeBody):
                self._ending = None
                return self._channel(mark)
            if mark.kind in ("end", "role", "start", "channel"):
                self._over(self._ending.start)
                self._ending = None
                return True
            self._go_on()
        if self._last and self._last in "`\"'“‘":
            return False
        if self.is_over and mark.kind != "think_end":
            return False
        taken = _MARKS[mark.kind](self, mark)
        if taken:
            self._last = ""
        return taken

    def _mark_in_thinking(self, mark: Mark) -> bool:
        is_next = bool(self._thinking_ends) and mark.kind in ("channel", "start")
        if mark.kind != "think_end" and mark.name not in self._thinking_ends and not is_next:
            return False
        self._thinking = None
        self.visible_from = mark.end
        self._line_is_blank = True
        return self._channel(mark) if mark.kind == "channel" else True

    def _think(self, mark: Mark) -> bool:
        if not isinstance(self._body, Prose) or self._body.is_inside:
            return False
        self.open_thinking(at=mark.end)
        return True

    def _think_end(self, mark: Mark) -> bool:
        """A closing tag alone: all before it was reasoning, if nothing of it is certain."""
        if self.is_echo:
            return False
        if not self.findings.is_held:
            certain = not self.findings.is_open or isinstance(self._body, AnswerBody)
            if certain or self.is_over or self._body.is_inside:
                return False
        elif isinstance(self._body, AnswerBody) and not self._line_is_blank:
            return False
        if self.findings.has_told("thinking") and not self._line_is_blank:
            return False
        self.findings.forget()
        self.findings.repaired("missing opening tag")
        self._order = Order()
        self._body = Prose(Told(self.findings, "preamble"))
        self.is_labelled = self.is_over = self._has_text = self._wraps = False
        self.findings.is_held = False
        self.over_at = self.orphan_input = None
        self.visible_from = mark.end
        self._thinking_from = 0
        self._line_is_blank = True
        return True

    def _end_token(self, mark: Mark) -> bool:
        if self._body.is_inside and not isinstance(self._body, Prose):
            return False
        if self._has_text or self.is_labelled:
            self._ending = mark
            self._after_ending = []
        else:
            self.visible_from = mark.end
        return True

    def _go_on(self) -> None:
        """The end token was none: text runs on after it."""
        if self._ending is None:
            return
        mark, self._ending = self._ending, None
        self._take(mark.text + "".join(self._after_ending), mark.start)

    def _role(self, mark: Mark) -> bool:
        if self._body.is_inside and not isinstance(self._body, Prose):
            return False
        if not self._has_text:
            self.is_echo = True
            return True
        if not self._line_is_blank:
            return False
        self._over(mark.start)
        return True

    def _start_token(self, mark: Mark) -> bool:
        if self.is_echo or not self._has_text:
            self.is_echo = False
            self.visible_from = mark.end
            return True
        return mark.text != "<s>" and self._role(mark)

    def _native_open(self, mark: Mark) -> bool:
        body = self._body
        if body.is_inside or not isinstance(body, Prose | Skip | ActionBody | AfterCalls):
            return False
        self._finish_body(mark.start)
        self._native = mark.name
        self._body = NativeBody(self.known, self.findings, mark.start, opened=mark.text)
        return True

    def _channel(self, mark: Mark) -> bool:
        """Open the channel of a harmony message."""
        if isinstance(self._body, AnswerBody):
            return False
        kind = (mark.name.split() or [""])[0]
        words = mark.text.replace("<", " ").split()
        target = next((each[3:] for each in words if each.startswith("to=")), "")
        self.is_labelled = self._has_text = True
        if target:
            self._native = "harmony"
            self._body = NativeBody(self.known, self.findings, mark.start, name=target)
        elif kind == "final":
            self._order.takes("ANSWER")
            self._body = AnswerBody(self.known, self.findings, mark.end, None)
        elif kind == "analysis":
            self.open_thinking("end", "call", "return", at=mark.end)
        else:
            self._body = Prose(Told(self.findings, "thought"))
        return True

    def _tag(self, mark: Mark) -> bool:
        if not self._line_is_blank or self._body.is_inside or isinstance(self._body, AnswerBody):
            return False
        label = self._finder.tag(mark.name, mark.start, mark.end)
        return label is not None and not self.is_echo and self._open(label)

    def _tag_end(self, mark: Mark) -> bool:
        if isinstance(self._body, NativeBody):
            if self._body.is_inside or f"/{mark.name}" not in NATIVE_ENDS.get(self._native, ()):
                return False
            self._finish_body(mark.start)
            self._body = AfterCalls() if self._body.is_call else Prose(self._prose_told())
            return True
        if self._finder.tag(mark.name, mark.start, mark.end) is None or self._body.is_inside:
            return False
        if isinstance(self._body, AnswerBody):
            taken = self._body.tag_end(mark.name, mark.start)
            self._over_if_body_is()
            return taken
        self._line_is_blank = True
        return True

    # -- ends ----------------------------------------------------------------------------------

    def _finish_body(self, at: int, *, settle: bool = True) -> None:
        body = self._body
        self._guarded(body.finish, at)
        if isinstance(body, ActionBody):
            if settle:
                self._guarded(body.settle, at)
        elif isinstance(body, NativeBody):
            self._finish_native(body)
        if body.over_at is not None and not self.too_much:
            self.over_at = body.over_at

    def _finish_native(self, body: NativeBody) -> None:
        """Count a native call as an action, or what only looked like one as prose."""
        if body.is_call:
            if not self.is_labelled:
                self.findings.preamble_was("thought")
            self.is_labelled = True
            self._order.takes("ACTION")
        elif body.prose:
            self.findings.tell("thought" if self.is_labelled else "preamble", body.prose)
            body.prose = ""

    def _guarded(self, work: Callable[[], None], at: int) -> None:
        try:
            work()
        except TooMuchError as error:
            self.too_much = True
            self.findings.problem, self.findings.problem_at = str(error), at
            self._over(at)

    def _over(self, end: int | None) -> None:
        if self.is_over:
            return
        self.is_over = True
        self.over_at = end
        self._finish_body(end or 0)
        if not self.findings.is_held:
            self._stop()

    @property
    def thinking_from(self) -> int | None:
        """Where reasoning began that has not ended; None if none is open."""
        return self._thinking_from if self._thinking is not None else None

    def finish(self, *, cut: bool) -> None:
        """Read what is still open at the end of the text."""
        if self._ending is not None:
            self.over_at, self._ending = self._ending.start, None
        if self._is_deaf:
            return
        body = self._body
        if cut and isinstance(body, ActionBody | InputBody | NativeBody):
            self._guarded(body.was_cut, 0)
            return
        self._finish_body(0)
        self._after_none(body)

    def _after_none(self, body: Body) -> None:
        """What follows "Action: None" without a label is the answer."""
        if isinstance(body, ActionBody) and body.says_none or isinstance(body, NoneBody):
            text = body.after_none.strip()
            if text and self.findings.is_open:
                self.findings.answer = text
                self.findings.tell("answer", text)
                self.findings.repaired("action without a tool")


def _too_many_labels() -> None:
    raise TooMuchError(f"there are more than {MAX_LABELS} labels in one turn")


_NAMELESS = Draft("", problem="the action names no tool")
_MARKS: dict[str, Callable[[Course, Mark], bool]] = {
    "think": Course._think,
    "think_end": Course._think_end,
    "end": Course._end_token,
    "role": Course._role,
    "start": Course._start_token,
    "native": Course._native_open,
    "channel": Course._channel,
    "tag": Course._tag,
    "tag_end": Course._tag_end,
}
