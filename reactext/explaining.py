"""Says how a text was read: which part was taken as what, and by which rule each call was.

It watches a reading and changes nothing of it.
"""

from __future__ import annotations

from reactext.errors import TurnError
from reactext.grammar import GrammarError, read_call, read_canonical
from reactext.models import Turn, Value
from reactext.protocol import CallSyntax, Protocol
from reactext.reader import Tools, TurnReader
from reactext.reading.envelope import Envelope
from reactext.reading.labels import Label
from reactext.reading.marks import Mark
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.scanner import Fence


class Part(Value):
    """A part of the text, where it begins, and what it was taken as."""

    start: int
    text: str
    taken_as: str


class Explanation(Value):
    """All parts of a text, in order, and what they came to: a turn, or a problem.

    ``rules`` says of each action, by its id, which rule read it.
    """

    parts: tuple[Part, ...]
    rules: dict[str, str]
    turn: Turn | None = None
    problem: str = ""


def explain(
    text: str, tools: Tools = None, *, cue: str = "", protocol: Protocol | None = None
) -> Explanation:
    """Read one completion as `parse` does, and say how; a text without a step has a problem."""
    witnesses: list[_Witness] = []

    def witness(envelope: Envelope) -> _Witness:
        first = "what continues the cue" if cue else _UNLABELLED
        witnesses.append(_Witness(envelope, text, first))
        return witnesses[0]

    reader = TurnReader(tools, cue=cue, protocol=protocol, witness=witness)
    turn, problem = None, ""
    try:
        reader.feed(text)
        turn = reader.close()
    except TurnError as error:
        problem = str(error)
    return Explanation(
        parts=tuple(witnesses[0].all()),
        rules={each.id: _rule(each.text) for each in turn.actions} if turn else {},
        turn=turn,
        problem=problem,
    )


_UNLABELLED = "text, no label yet"
_TAKEN_AS = {
    "thought": "thought",
    "action": "action",
    "action_input": "input of the action",
    "answer": "final answer",
    "question": "an echo, passed over",
    "observation": "an echo, passed over",
    "think": "reasoning",
    "think_end": _UNLABELLED,
    "native": "calls in the model's own form",
    "channel": "the channel's text",
}


class _Witness:
    """Stands between the scanner and the envelope, and notes what becomes of each part."""

    def __init__(self, envelope: Envelope, text: str, first: str) -> None:
        self._envelope = envelope
        self._text = text
        self._open = first
        self._parts: list[Part] = []

    def all(self) -> list[Part]:
        """Return what was noted, and what was not even looked at."""
        last = self._parts[-1] if self._parts else Part(start=0, text="", taken_as="")
        self._note(last.start + len(last.text), len(self._text), "not read: the turn was over")
        return self._parts

    def on_label(self, label: Label, *, after_label: bool) -> bool:
        taken = self._envelope.on_label(label, after_label=after_label)
        if taken:
            self._opened(label.start, label.end, label.kind, f"label {label.kind}")
        return taken

    def on_mark(self, mark: Mark) -> bool:
        taken = self._envelope.on_mark(mark)
        if taken:
            self._opened(mark.start, mark.end, mark.kind, f"mark {mark.kind}")
        return taken

    def on_fence(self, fence: Fence) -> bool:
        taken = self._envelope.on_fence(fence)
        if taken:
            self._note(fence.start, fence.end, "fence")
        return taken

    def on_text(self, text: str, start: int) -> None:
        was_over = self._envelope.is_over
        self._envelope.on_text(text, start)
        taken_as = "dropped: the turn was over" if was_over else self._open
        self._note(start, start + len(text), taken_as)

    def _opened(self, start: int, end: int, kind: str, taken_as: str) -> None:
        if self._envelope.is_over:
            taken_as += ", which has no place here: the turn is over"
        self._open = _TAKEN_AS.get(kind, self._open)
        self._note(start, end, taken_as)

    def _note(self, start: int, end: int, taken_as: str) -> None:
        last = self._parts[-1] if self._parts else None
        if start >= end:
            return
        if last is not None and last.taken_as == taken_as:
            start = last.start
            self._parts.pop()
        self._parts.append(Part(start=start, text=self._text[start:end], taken_as=taken_as))


def _rule(call: str) -> str:
    """Say which rule reads a call; the canonical one is tried first, as in a reading."""
    text = call.strip()
    if text[:1] in ("{", "["):
        return "JSON"
    try:
        read_canonical(text)
    except GrammarError:
        pass
    else:
        return "call of canonical.lark"
    try:
        read_call(mend(text).text, CallSyntax())
    except (GrammarError, UnmendableError):
        return "a name and its raw text"
    return "call of calls.lark"
