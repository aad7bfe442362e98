"""Opens what collects the text under a label."""

from __future__ import annotations

from reactext.reading.action_body import ActionBody
from reactext.reading.answer_body import AnswerBody
from reactext.reading.binding import Draft
from reactext.reading.bodies import Body, Prose, Skip, Told
from reactext.reading.findings import Findings
from reactext.reading.input_body import InputBody
from reactext.reading.known import Known
from reactext.reading.labels import Label

_NAMELESS = Draft("", problem="the action names no tool")


def body_for(
    kind: str,
    known: Known,
    findings: Findings,
    start: int,
    *,
    names: list[Draft],
    label: Label | None = None,
    wraps: bool = False,
) -> Body:
    """Return the body of a label; ``names`` are those of the tools that an input is for."""
    if kind == "thought":
        joint = "\n" if findings.has_told("thought") else ""
        return Prose(Told(findings, "thought", joint), at_line_start=not start)
    if kind == "action":
        return ActionBody(known, findings, start)
    if kind == "action_input":
        return InputBody(names or [_NAMELESS], findings, start)
    if kind == "answer":
        return AnswerBody(known, findings, start, label, wraps=wraps)
    findings.repaired("echo of the prompt")
    return Skip()
