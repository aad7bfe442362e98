"""Reads a model's text as it comes: `TurnReader`, and `parse` for a whole text.

A reading ends in a `Turn` with actions or an answer, or in a `TurnError`; nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from reactext.canonical import call_text
from reactext.errors import SetupError, TurnError
from reactext.given import Natural, checked
from reactext.grammar import check_calls
from reactext.models import Action, TextDelta, Turn
from reactext.protocol import CallSyntax, Protocol
from reactext.reading.binding import Draft
from reactext.reading.course import Course
from reactext.reading.envelope import Envelope
from reactext.reading.findings import Findings
from reactext.reading.known import Known
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.names import resolve
from reactext.reading.scanner import Listener, Scanner
from reactext.reading.settling import Settlement, settled
from reactext.tools import Tool, Toolbox

Tools = Toolbox | Iterable[Tool | Callable[..., Any]] | None


@checked
def parse(
    text: str, tools: Tools = None, *, cue: str = "", protocol: Protocol | None = None
) -> Turn:
    """Read one completion, whole. Raises only `TurnError`.

    With ``tools``, names are resolved and all arguments are bound by name; without, they stay as
    written. ``cue`` is the end of the prompt, such as ``"Thought:"``, which the text continues.
    """
    reader = TurnReader(tools, cue=cue, protocol=protocol)
    reader.feed(text)
    return reader.close()


def check_protocol(protocol: Protocol) -> None:
    """Make sure that what the prompt asks for is read as it is meant. Raises SetupError."""
    syntax = protocol.calls
    check_calls(syntax)
    if syntax == CallSyntax():
        return

    def alpha(left: str, right: str) -> None: ...

    def beta(left: str) -> None: ...

    asked = [("alpha", {"left": "one", "right": "two"}), ("beta", {"left": "three"})]
    written = [call_text(tool, kwargs=kwargs, syntax=syntax) for tool, kwargs in asked]
    text = f"{protocol.label('action')} {syntax.separator.join(written)}"
    try:
        turn = parse(text, [alpha, beta], protocol=protocol)
        read = [(each.tool, each.kwargs) for each in turn.actions]
    except TurnError as error:
        read = [(error.problem, {})]
    if read != asked:
        raise SetupError(
            f"calls writes {text!r}, which is not read as those two calls but as {read}; "
            "give calls.grammar the grammar that reads it, or the separator ' || '"
        )


@checked
class TurnReader:
    """Reads one turn piece by piece; any cutting into pieces gives the same.

    ``cue`` is the end of the prompt that the text continues, ``step`` stands in the ids of the
    actions, and ``thinking_open`` says that the prompt has opened the reasoning tag. ``witness``
    may stand between the parts of the text and what makes sense of them, to see both.
    """

    def __init__(
        self,
        tools: Tools = None,
        *,
        cue: str = "",
        protocol: Protocol | None = None,
        step: Natural = 1,
        thinking_open: bool = False,
        witness: Callable[[Envelope], Listener] | None = None,
    ) -> None:
        protocol = protocol or Protocol()
        check_calls(protocol.calls)
        toolbox = tools if isinstance(tools, Toolbox) or tools is None else Toolbox(tools)
        self._finder = _finder(protocol)
        self._known = Known(toolbox, protocol.calls, protocol.labels.answer)
        self._protocol = protocol
        self._pieces: list[str] = []
        self._rest: list[TextDelta | Action] = []
        self._findings = Findings(step=step, tools=toolbox)
        self._scanner: Scanner
        self._course = Course(self._known, self._finder, self._findings, self._stop)
        self._envelope = Envelope(self._course, self._finder)
        listener = self._envelope if witness is None else witness(self._envelope)
        self._scanner = Scanner(self._finder, listener)
        self._has_cue = self._begin(cue)
        if thinking_open:
            self._envelope.open_thinking()

    def _stop(self) -> None:
        self._scanner.over = True

    def _begin(self, cue: str) -> bool:
        """Open what the last label of the cue announces."""
        labels = _labels_of(cue, self._finder)
        if not labels:
            return False
        last = labels[-1]
        draft = None
        if last.kind == "action_input" and len(labels) > 1 and labels[-2].kind == "action":
            named = resolve(cue[labels[-2].end : last.start].strip(), self._known.tools)
            draft = Draft(named.name, named.tool, text=named.name, problem=named.problem)
        self._course.begin(last.kind, draft)
        written = cue[last.end :].strip()
        if written and last.kind in ("action", "action_input"):
            self._course.take(cue[last.end :], 0)
        return True

    @property
    def done(self) -> bool:
        """Whether the turn is over, so that nothing which comes can belong to it."""
        return self._scanner.over

    def feed(self, piece: str) -> list[TextDelta | Action]:
        """Take the next piece; return what has become certain by it."""
        if piece and not self.done:
            self._pieces.append(piece)
            self._scanner.feed(piece)
        return self._taken()

    def _taken(self) -> list[TextDelta | Action]:
        events, self._findings.events = self._findings.events, []
        return events

    def rest(self) -> list[TextDelta | Action]:
        """Return what became certain when the reader was closed, also if that raised."""
        events, self._rest = self._rest, []
        return events

    def close(self, *, cut: bool = False) -> Turn:
        """End the text and return the turn; ``cut`` says that it ended at a length limit.

        Raises TurnError, which says what is wrong and what to write instead.
        """
        text = "".join(self._pieces)
        self._envelope.is_final, self._envelope.is_cut = True, cut
        if not self.done:
            self._scanner.feed("", final=True)
            self._envelope.finish(cut=cut)
        self._findings.release()
        try:
            return settled(
                self._envelope,
                Settlement(
                    text,
                    self._protocol,
                    self._finder,
                    lambda: _finder(self._protocol, loose=True),
                    has_cue=self._has_cue,
                    cut=cut,
                ),
            )
        finally:
            self._rest = self._taken()


@lru_cache(maxsize=16)
def _finder(protocol: Protocol, *, loose: bool = False) -> LabelFinder:
    return LabelFinder(protocol, loose=loose)


def _labels_of(cue: str, finder: LabelFinder) -> list[Label]:
    labels = []
    position = 0
    while position < len(cue):
        found = finder.find(cue, position, final=True)
        if isinstance(found, Label):
            labels.append(found)
        position = cue.find("\n", position) + 1 or len(cue)
    return labels
