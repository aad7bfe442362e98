"""What a turn comes to, as it is read: events that are certain, calls, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reactext.models import Action, TextDelta
from reactext.reading.answer_calls import only_answer, rendered
from reactext.reading.binding import Draft, refused
from reactext.reading.code import call_in, takes_code
from reactext.reading.json_calls import MAX_CALLS
from reactext.reading.placeholders import is_answer_placeholder
from reactext.reading.tracking import TooMuchError
from reactext.tools import Toolbox

ECHO = "the answer is an echo of the format, not an answer"


@dataclass(slots=True)
class Findings:
    """The events of one reading, in order, and what they add up to."""

    step: int = 1
    tools: Toolbox | None = None
    events: list[TextDelta | Action] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    answer: str | None = None
    repairs: dict[str, None] = field(default_factory=dict)
    problem: str = ""
    problem_at: int = 0
    problem_part: str = ""
    is_held: bool = False
    _held: list[TextDelta | Action] = field(default_factory=list)
    _waiting: list[Draft] = field(default_factory=list)
    _texts: dict[str, list[str]] = field(default_factory=dict)

    def tell(self, kind: Any, text: str) -> None:
        """Emit a piece of text; a preamble is kept until it is known what it was."""
        if text:
            self._texts.setdefault(kind, []).append(text)
            if kind != "preamble":
                self._event(TextDelta(kind=kind, text=text))

    def _event(self, event: TextDelta | Action) -> None:
        (self._held if self.is_held else self.events).append(event)

    def release(self) -> None:
        """Let go of the events that were held back until the end."""
        self.is_held = False
        self.events += self._held
        self._held.clear()

    def preamble_was(self, kind: str, *, before: str | None = None) -> None:
        """Say what the text before the first label was; all of it, or what is given."""
        text = self.told("preamble") if before is None else before.strip()
        self._texts.pop("preamble", None)
        self.tell(kind, text)

    def forget(self) -> None:
        """Take all that was read as reasoning: nothing of it was certain.

        A thought that was told already cannot be told again.
        """
        was_told = not self.is_held and self.has_told("thought")
        text = self.told("preamble") + self.told("thought")
        thinking = self._texts.get("thinking", [])
        self._texts = {"thinking": thinking}
        if was_told or not text:
            thinking.append(text)
        else:
            self.is_held = False
            self.tell("thinking", text)
        self.is_held = False
        self._held.clear()
        self._waiting.clear()
        self.actions.clear()
        self.answer, self.problem = None, ""

    def has_told(self, kind: str) -> bool:
        """Whether there was any text of a kind."""
        return kind in self._texts

    def told(self, kind: str) -> str:
        """Return all text of a kind."""
        return "".join(self._texts.get(kind, ()))

    def repaired(self, *names: str) -> None:
        """Note what was tolerated."""
        self.repairs.update(dict.fromkeys(names))

    def fault(self, problem: str, at: int, part: str = "") -> None:
        """Note why nothing can be read, and which part shows it; the first reason counts."""
        if not self.problem:
            self.problem, self.problem_at, self.problem_part = problem, at, part

    def adopt(self, other: Findings) -> None:
        """Take over the actions or the answer of another reading."""
        self.actions += other.actions
        self.events += other.actions
        if other.answer is not None and not other.actions:
            self.answer = other.answer
            self.tell("answer", other.answer)
        self.repairs.update(other.repairs)

    @property
    def is_open(self) -> bool:
        """Whether neither a call nor an answer was found."""
        return not self.actions and self.answer is None

    def add(self, draft: Draft, at: int) -> None:
        """Take a call that is complete. Raises `TooMuchError`.

        One with a problem waits until the group has a call without.
        """
        if draft.is_answer:
            self._answered(draft, at)
            return
        if self.answer is not None:
            self.repaired("action after the answer")
            return
        draft = self._without_code(draft)
        if draft.problem:
            self.fault(draft.problem, at, draft.fault)
            self._waiting.append(draft)
            if len(self._waiting) > MAX_CALLS:
                raise _too_many()
            if not self.actions:
                return
        waiting, self._waiting = self._waiting, []
        for each in waiting if draft.problem else [*waiting, draft]:
            self._emit(each)

    def _without_code(self, draft: Draft) -> Draft:
        """Refuse a call whose text without quotes is code that calls a tool."""
        if self.tools is None or draft.problem or takes_code(draft.tool):
            return draft
        found = next((code for each in draft.unquoted if (code := call_in(each, self.tools))), None)
        return draft if found is None else refused(draft, found, "call")

    def _emit(self, draft: Draft) -> None:
        if len(self.actions) >= MAX_CALLS:
            raise _too_many()
        action = Action(
            id=f"c{self.step}.{len(self.actions) + 1}",
            tool=draft.name or draft.text.strip()[:40] or "action",
            args=() if draft.problem else draft.args,
            kwargs={} if draft.problem else dict(draft.kwargs),
            text=draft.text.strip(),
            problem=draft.problem or None,
        )
        self.actions.append(action)
        self._event(action)
        self.repaired(*draft.repairs)

    def _answered(self, draft: Draft, at: int) -> None:
        if self.actions or self.problem or self.answer is not None:
            self.repaired("answer after an action")
            return
        text = answer_text(draft)
        if not text or is_answer_placeholder(text):
            self.fault(ECHO if text else "the final answer is empty", at)
            return
        self.repaired("answer as an action", *draft.repairs)
        self.answer = text
        self.tell("answer", text)


def _too_many() -> TooMuchError:
    return TooMuchError(f"there are more than {MAX_CALLS} calls in one turn")


def answer_text(draft: Draft) -> str:
    """Return the answer that a call to finish holds; structured ones are JSON."""
    values = [*draft.args, *draft.kwargs.values()]
    value = values[0] if len(values) == 1 else (dict(draft.kwargs) or list(draft.args) or None)
    if isinstance(value, dict):
        value = only_answer(value)
    return "" if value is None else rendered(value)
