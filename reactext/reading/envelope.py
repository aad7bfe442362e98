"""What stands around a turn and is none of it: reasoning in tags, template tokens, echoed roles.

    <think>…</think>   <|im_start|>assistant   <|im_end|>   </s>   <|channel|>analysis<|message|>…

It listens to the scanner and passes on to the `Course` what belongs to the turn.
"""

from __future__ import annotations

from collections.abc import Callable

from reactext.reading.bodies import Told
from reactext.reading.course import Course
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.marks import Mark
from reactext.reading.scanner import Fence

_QUOTES = "`\"'“‘"
TOKEN = "template token"
"""The repair where a token of a chat template was taken out."""

_ENDS_TURN = ("end", "role", "start", "channel")


class Envelope:
    """Listens to one text. ``visible_from`` is where reasoning, or an echo, ended last.

    ``is_final`` is set when all of the text has come, and ``is_cut`` if a length limit ended it.
    """

    def __init__(self, course: Course, finder: LabelFinder) -> None:
        self.course = course
        self._finder = finder
        self.visible_from = 0
        self.is_final = self.is_cut = False
        self.is_echo = False
        self._thinking: Told | None = None
        self._thinking_ends: tuple[str, ...] = ()
        self.has_channels = False
        self._ending: Mark | None = None
        self._after_ending: list[str] = []
        self._last = ""
        self._line_is_blank = self._is_line_start = True

    @property
    def is_over(self) -> bool:
        """Whether the turn is over."""
        return self.course.is_over

    @property
    def is_thinking(self) -> bool:
        """Whether reasoning is open."""
        return self._thinking is not None

    @property
    def _is_deaf(self) -> bool:
        return self.is_over or self.is_thinking or self.is_echo

    def open_thinking(self, *ends: str) -> None:
        """Take all that comes as reasoning, until one of these marks, or a closing tag."""
        joint = "\n" if self.course.findings.has_told("thinking") else ""
        self._thinking = Told(self.course.findings, "thinking", joint)
        self._thinking_ends = ends

    def on_label(self, label: Label, *, after_label: bool) -> bool:
        self._run_on()
        if self.is_cut and self.course.is_calling:
            return False  # it may be the beginning of another label, such as the input's
        return not self._is_deaf and self.course.label(label, after_label=after_label)

    def on_fence(self, fence: Fence) -> bool:
        self._run_on()
        return not self._is_deaf and self.course.fence(fence)

    def on_text(self, text: str, start: int) -> None:
        if self._ending is None:
            self._take(text, start)
            return
        self._after_ending.append(text)
        if text.lstrip(" \t").startswith(("\n", "\r")):
            self._over()
        elif text.strip(" \t"):
            self._run_on()

    def _over(self) -> None:
        """The turn ended at the end token."""
        assert self._ending is not None
        at, self._ending = self._ending.start, None
        self.course.findings.repaired(TOKEN)
        self.course.over(at)

    def _run_on(self) -> None:
        """The end token was none: the text runs on after it, and it belongs to the text."""
        if self._ending is not None:
            mark, self._ending = self._ending, None
            self._take(mark.text + "".join(self._after_ending), mark.start)

    def _take(self, text: str, start: int) -> None:
        was_line_start, self._is_line_start = self._is_line_start, text.endswith("\n")
        self._last = text[-1]
        self._line_is_blank = self._is_line_start or (self._line_is_blank and text.isspace())
        if self._thinking is not None:
            self._thinking.take(text)
        elif not self._is_deaf:
            if self.is_final and was_line_start and self._is_residue(text):
                self.course.findings.repaired("cut stop word")
                self.course.over_at = start
            else:
                self.course.take(text, start)

    def _is_residue(self, text: str) -> bool:
        """Whether the last line is what is left of a stop word that was cut."""
        return self.course.may_be_stopped and self._finder.is_residue(
            text, strict=self.course.is_answering
        )

    def on_mark(self, mark: Mark) -> bool:
        if self._thinking is not None:
            return self._mark_in_thinking(mark)
        if self._ending is not None and mark.kind in _ENDS_TURN:
            if mark.kind == "channel" and self.course.may_change_channel:
                self._ending = None
                return self._channel(mark)
            self._over()
            return True
        self._run_on()
        is_quoted = bool(self._last) and self._last in _QUOTES
        if is_quoted or (self.is_over and mark.kind != "think_end"):
            return False
        taken = _HANDLERS[mark.kind](self, mark)
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

    def _think(self, _mark: Mark) -> bool:
        if not self.course.is_prose:
            return False
        self.open_thinking()
        return True

    def _think_end(self, mark: Mark) -> bool:
        """A closing tag alone: all before it was reasoning, if nothing of it is certain."""
        was_tagged = self.course.findings.has_told("thinking")
        if self.is_echo or (was_tagged and not self._line_is_blank):
            return False
        if not self.course.may_begin_anew(at_line_start=self._line_is_blank):
            return False
        self.course.begin_anew()
        self.visible_from = mark.end
        self._line_is_blank = True
        return True

    def _end(self, mark: Mark) -> bool:
        """An end token ends the turn, unless text runs on after it on its line."""
        if not self.course.may_be_left:
            return False
        if self.course.has_text and self._line_is_blank:
            self.course.findings.repaired(TOKEN)
            self.course.over(mark.start)
        elif self.course.has_text or self.course.is_labelled:
            self._ending, self._after_ending = mark, []
        else:
            self.visible_from = mark.end
        return True

    def _role(self, mark: Mark) -> bool:
        """A user's turn is an echo before the reply, and invented after it."""
        if not self.course.may_be_left:
            return False
        if not self.course.has_text:
            self.is_echo = True
            self.course.findings.repaired("echo of the prompt")
            return True
        if self._line_is_blank:
            self.course.over(mark.start)
        return self._line_is_blank

    def _start(self, mark: Mark) -> bool:
        if self.is_echo or not self.course.has_text:
            self.is_echo = False
            self.visible_from = mark.end
            self.course.findings.repaired(TOKEN)
            return True
        return mark.text != "<s>" and self._role(mark)

    def _channel(self, mark: Mark) -> bool:
        """Open the channel of a harmony message."""
        if self.course.is_answering or not self.course.may_be_left:
            return False
        if mark.name.split()[:1] == ["analysis"] and " to=" not in mark.text:
            self.course.is_labelled = self.course.has_text = True
            self.has_channels = True
            self.open_thinking("end", "call", "return")
        else:
            self.course.channel(mark)
        return True

    def _native(self, mark: Mark) -> bool:
        return self.course.native(mark)

    def _tag(self, mark: Mark) -> bool:
        return self._line_is_blank and not self.is_echo and self.course.tag(mark)

    def _tag_end(self, mark: Mark) -> bool:
        taken = self.course.tag_end(mark)
        self._line_is_blank = self._line_is_blank or taken
        return taken

    def finish(self, *, cut: bool) -> None:
        """Read what is still open at the end of the text; ``cut`` at a length limit."""
        if self._ending is not None:
            self.course.findings.repaired(TOKEN)
            self.course.over_at = self._ending.start
        if not self._is_deaf:
            self.course.finish(cut=cut)


_HANDLERS: dict[str, Callable[[Envelope, Mark], bool]] = {
    "think": Envelope._think,
    "think_end": Envelope._think_end,
    "end": Envelope._end,
    "role": Envelope._role,
    "start": Envelope._start,
    "channel": Envelope._channel,
    "native": Envelope._native,
    "tag": Envelope._tag,
    "tag_end": Envelope._tag_end,
}
