"""The course of one turn: which label is open, what its text is, and when the turn is over.

The order of the labels is that of `turn.lark`.
"""

from __future__ import annotations

from collections.abc import Callable

from reactext.grammar import Order
from reactext.reading.action_body import ActionBody
from reactext.reading.answer_body import AnswerBody
from reactext.reading.binding import Draft
from reactext.reading.bodies import AfterCalls, Body, NoneBody, Prose, Skip, Told
from reactext.reading.findings import Findings
from reactext.reading.input_body import InputBody
from reactext.reading.known import Known
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.marks import NATIVE_ENDS, Mark
from reactext.reading.native_body import NativeBody
from reactext.reading.opening import body_for
from reactext.reading.places import counts, counts_after_label
from reactext.reading.scanner import Fence
from reactext.reading.tracking import TooMuchError

MAX_LABELS = 5_000
"""So many labels may stand in one turn."""

AFTER_CALLS = "text after the action"
_TOKENS = {"action_input": "INPUT"}


class Course:
    """Follows a turn through its labels.

    ``over_at`` is where the turn was over before the text was; ``invented_at`` and
    ``orphan_input_at`` are where a label stood that has no place.
    """

    def __init__(
        self, known: Known, finder: LabelFinder, findings: Findings, stop: Callable[[], None]
    ) -> None:
        self.known = known
        self.findings = findings
        self._finder = finder
        self._stop = stop
        self._labels_seen = 0
        self._native = ""
        self._is_final_channel = False
        self.too_much = False
        self._start_anew()

    def _start_anew(self) -> None:
        self._order = Order()
        self._body: Body = Prose(Told(self.findings, "preamble"), at_line_start=True)
        self._first_fence: Fence | None = None
        self._is_wrapped = self.has_text = self.is_labelled = self.is_over = False
        self.over_at: int | None = None
        self.seen_to: int | None = None
        self.invented_at: int | None = None
        self.orphan_input_at: int | None = None

    def begin(self, kind: str, draft: Draft | None) -> None:
        """Open what the end of the prompt has announced."""
        self.is_labelled = True
        if kind == "action_input":
            self._order.takes("ACTION")
        self._order.takes(_TOKENS.get(kind, kind.upper()))
        names = [draft] if draft is not None else []
        self._body = body_for(kind, self.known, self.findings, 0, names=names)

    # -- what the envelope asks ----------------------------------------------------------------

    @property
    def is_prose(self) -> bool:
        """Whether a thought, or text without a label, is open, and no fence in it."""
        return isinstance(self._body, Prose) and not self._body.is_inside

    @property
    def is_answering(self) -> bool:
        """Whether the answer is open."""
        return isinstance(self._body, AnswerBody)

    @property
    def is_calling(self) -> bool:
        """Whether an action, or its input, is open."""
        return isinstance(self._body, ActionBody | InputBody)

    @property
    def awaits_action(self) -> bool:
        """Whether the label of an action is open, and nothing is known of one."""
        return isinstance(self._body, ActionBody) and not self._body.says_none

    @property
    def may_be_left(self) -> bool:
        """Whether an end token counts here: not within a string, an object or a call."""
        return isinstance(self._body, Prose) or not self._body.is_inside

    @property
    def may_be_stopped(self) -> bool:
        """Whether the rest of a stop word can be the last line here; never all of an answer."""
        if isinstance(self._body, AnswerBody) and self._body.is_empty:
            return False
        return not isinstance(self._body, Prose | Skip) and not self._body.is_inside

    @property
    def may_change_channel(self) -> bool:
        """Whether another message may follow the one that ended."""
        return not isinstance(self._body, AnswerBody | NativeBody)

    def may_begin_anew(self, *, at_line_start: bool) -> bool:
        """Whether nothing was certain yet, so that all of it can have been reasoning."""
        if self.findings.is_held:
            return at_line_start or not self.is_answering
        is_certain = not self.findings.is_open or self.is_answering or self.is_over
        return not is_certain and not self._body.is_inside

    def begin_anew(self) -> None:
        """Take all that was read as reasoning whose opening tag is missing."""
        self.findings.forget()
        self.findings.repaired("missing opening tag")
        self._start_anew()

    # -- labels --------------------------------------------------------------------------------

    def label(self, label: Label, *, after_label: bool) -> bool:
        """Take a label; False says that it is none here, but text."""
        if self._first_fence is not None:
            self._is_wrapped, self._first_fence = True, None
            self.findings.repaired("fence around the turn")
        body = self._body
        if body.is_inside:
            if isinstance(body, ActionBody | InputBody):
                body.label_inside(label.start)
            return False
        is_empty = isinstance(body, AnswerBody) and body.is_empty
        if is_empty and self._is_final_channel and label.kind in ("thought", "action"):
            # a turn of ours in a message of its own
            self._order, self._body = Order(), Prose(Told(self.findings, "thought"))
            return self._opened(label)
        if isinstance(body, AnswerBody):
            taken = body.label(label)
            self._over_if_body_is()
            return taken
        if after_label and isinstance(body, InputBody):
            return label.kind == "action_input"  # the same label again
        is_first = not self.has_text and not self.is_labelled
        has_place = counts_after_label if after_label else counts
        return has_place(label, body, is_first=is_first) and self._opened(label)

    def _opened(self, label: Label) -> bool:
        self._labels_seen += 1
        if self._labels_seen > MAX_LABELS:
            self._guarded(_too_many_labels, label.start)
            return True
        self._leave(label)
        if self.is_over:
            return True
        if label.kind == "action_input" and not self._takes_input():
            return True
        if not self._order.takes(_TOKENS.get(label.kind, label.kind.upper())):
            return self._refused(label)
        if isinstance(self._body, Prose):
            self._body.release()
        self._note(label)
        self._body = self._new_body(label)
        return True

    def _leave(self, label: Label) -> None:
        """Finish the text before a label, and see whether that was all."""
        body = self._body
        settle = label.kind != "action_input"
        if isinstance(body, ActionBody) and label.kind in ("answer", "thought"):
            self._guarded(body.finish, label.start)
            settle = not body.gives_way()
        self._finish_body(label.start, settle=settle)
        is_nothing = self.findings.is_open and not self.findings.problem
        was_empty = isinstance(body, ActionBody) and label.kind != "action_input" and is_nothing
        if was_empty or isinstance(body, NoneBody):
            self._order.takes("NOTHING")
            is_empty = isinstance(body, ActionBody) and self.awaits_action
            self.findings.repaired("empty label" if is_empty else "action without a tool")
        if self.findings.answer is not None:
            self.over(label.start, label.end)

    def _takes_input(self) -> bool:
        """Whether an input belongs to the action before it; else it is passed over."""
        body = self._body
        if isinstance(body, ActionBody) and body.says_none:
            self._body = NoneBody()
            return False
        has_calls = isinstance(body, ActionBody) and body.pending is None
        if has_calls or isinstance(body, NativeBody | AfterCalls):
            if self.findings.is_open:
                return True
            self.findings.repaired("input after a complete call")
            self._body = AfterCalls()
            return False
        return True

    def _refused(self, label: Label) -> bool:
        """The label has no place: the turn is over, or the label means nothing."""
        is_invented = label.kind == "observation"
        if self.findings.actions or self.findings.problem:
            self.findings.repaired("invented observation" if is_invented else AFTER_CALLS)
            self.over(label.start, label.end)
        elif is_invented:
            self.findings.repaired("invented observation")
            self.invented_at = label.start
            self.over(label.start, label.end)
        elif label.kind == "question":
            self.over(label.start, label.end)
        elif label.kind == "action_input":
            self.orphan_input_at = label.start
            self.findings.repaired("input without an action")
            self.is_labelled = True
            self._body = Skip()
        else:
            return False
        return True

    def _note(self, label: Label) -> None:
        self._labelled(holds=True)
        self.findings.repaired(*label.repairs)

    def _labelled(self, *, holds: bool = False) -> None:
        """The first label says what the text before it was: a thought, as far as is known.

        It may still turn out to be reasoning without its tag; so what follows is held back.
        """
        if not self.is_labelled and self.findings.has_told("preamble"):
            self.findings.preamble_was("thought")
            self.findings.is_held = holds
        self.is_labelled = True

    def _new_body(self, label: Label) -> Body:
        names = []
        if label.kind == "action_input" and isinstance(self._body, ActionBody):
            names = self._body.take_names()
        return body_for(
            label.kind,
            self.known,
            self.findings,
            label.end,
            names=names,
            label=label,
            wraps=self._is_wrapped,
        )

    # -- text and fences -----------------------------------------------------------------------

    def take(self, text: str, start: int) -> None:
        """Take text that belongs to what is open."""
        if not text.isspace():
            self.has_text = True
            if self._first_fence is not None:
                fence, self._first_fence = self._first_fence, None
                self._body.fence(fence)
        self._guarded(lambda: self._body.take(text, start), start)
        self._over_if_body_is()

    def fence(self, fence: Fence) -> bool:
        """Take a fence. The first may hold the whole turn: then the next lone one ends it."""
        if not self.has_text and self._first_fence is None and isinstance(self._body, Prose):
            self._first_fence = fence
            return True
        closes_all = self._is_wrapped and not fence.info and not self._body.is_inside
        if closes_all and not self.is_answering:
            self.over(fence.start)
            return True
        taken = self._body.fence(fence)
        self._over_if_body_is()
        return taken

    # -- marks ---------------------------------------------------------------------------------

    def native(self, mark: Mark) -> bool:
        """Take the mark that opens a native call."""
        body = self._body
        is_again = isinstance(body, NativeBody) and mark.name == self._native
        may_open = is_again or isinstance(body, Prose | Skip | ActionBody | AfterCalls)
        if body.is_inside or not may_open:
            return False
        self._finish_body(mark.start)
        self._native = mark.name
        self._body = NativeBody(self.known, self.findings, mark.start, opened=mark.text)
        return True

    def channel(self, mark: Mark) -> None:
        """Open the channel of a harmony message: a call, the answer, or a thought."""
        self._finish_body(mark.start)
        if not self.findings.is_open:
            self.over(mark.start)
            return
        words = mark.text.replace("<", " ").split()
        target = next((each[3:] for each in words if each.startswith("to=")), "")
        self.is_labelled = self.has_text = True
        if target:
            self._native = "harmony"
            self._body = NativeBody(self.known, self.findings, mark.start, name=target)
        elif mark.name.split()[:1] == ["final"]:
            self._order.takes("ANSWER")
            self._is_final_channel = True
            self._body = AnswerBody(self.known, self.findings, mark.end, None)
        else:
            self._body = Prose(Told(self.findings, "thought"))

    def tag(self, mark: Mark) -> bool:
        """Take a label in the form of a tag: ``<action>``."""
        if self._body.is_inside or self.is_answering:
            return False
        label = self._finder.tag(mark.name, mark.start, mark.end)
        return label is not None and self._opened(label)

    def tag_end(self, mark: Mark) -> bool:
        """Take a tag that closes a native call, or a label."""
        body = self._body
        if isinstance(body, NativeBody):
            closers = NATIVE_ENDS.get(self._native, ())
            if body.is_in_string or not {mark.name, f"/{mark.name}"} & set(closers):
                return False
            self._finish_body(mark.start)
            self._body = AfterCalls() if body.is_call else Prose(self._told_on())
            return True
        if body.is_inside or self._finder.tag(mark.name, mark.start, mark.end) is None:
            return False
        if isinstance(body, AnswerBody):
            taken = body.tag_end(mark.name, mark.start)
            self._over_if_body_is()
            return taken
        return True

    def _told_on(self) -> Told:
        return Told(self.findings, "thought" if self.is_labelled else "preamble", " ")

    # -- ends ----------------------------------------------------------------------------------

    def _over_if_body_is(self) -> None:
        if self._body.over_at is not None:
            if isinstance(self._body, AfterCalls):
                self.findings.repaired(AFTER_CALLS)
            self.over(self._body.over_at)

    def over(self, at: int, seen_to: int | None = None) -> None:
        """End the turn: what comes after ``at`` is none of it.

        ``seen_to`` is the end of the label that shows it.
        """
        if self.is_over:
            return
        self.is_over = True
        self.over_at = at
        self.seen_to = at if seen_to is None else seen_to
        self._finish_body(at)
        if not self.findings.is_held:
            self._stop()

    def _finish_body(self, at: int, *, settle: bool = True) -> None:
        body = self._body
        self._guarded(body.finish, at)
        if isinstance(body, ActionBody) and settle:
            self._guarded(body.settle, at)
        elif isinstance(body, NativeBody):
            self._finish_native(body)
        if body.over_at is not None and not self.too_much:
            self.over_at = body.over_at

    def _finish_native(self, body: NativeBody) -> None:
        """Count a native call as an action, or what only looked like one as prose."""
        if body.is_call:
            self._labelled()
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
            self.over(at)

    def finish(self, *, cut: bool) -> None:
        """Read what is still open at the end of the text."""
        body = self._body
        if cut and isinstance(body, ActionBody | InputBody | NativeBody):
            self._guarded(body.was_cut, 0)
            return
        self._finish_body(0)
        text = body.after_none.strip() if isinstance(body, ActionBody | NoneBody) else ""
        if text and self.findings.is_open:  # after "Action: None", what follows is the answer
            self.findings.answer = text
            self.findings.tell("answer", text)
            self.findings.repaired("action without a tool")


def _too_many_labels() -> None:
    raise TooMuchError(f"there are more than {MAX_LABELS} labels in one turn")
