"""Decides at the end of a text what the turn is, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from reactext.errors import TurnError
from reactext.grammar import rewritten
from reactext.models import Turn
from reactext.protocol import Protocol
from reactext.reading.course import Course
from reactext.reading.envelope import Envelope
from reactext.reading.findings import ECHO
from reactext.reading.labels import LabelFinder
from reactext.reading.last_resort import (
    Resort,
    midline_step,
    seems_labelled,
    step_in_thinking,
    step_without_colons,
    unlabelled_step,
)
from reactext.reading.placeholders import is_answer_placeholder
from reactext.reading.tracking import TooMuchError
from reactext.tools import Tool, Toolbox, example_call

_ECHOED_ROLE = re.compile(r"\A(?:assistant|ai|助手)[ \t]*[:：]\s*", re.IGNORECASE)


CUT = "cut at the length limit"
"""The repair of an answer that the server cut."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What `settled` needs to know besides the course itself."""

    text: str
    protocol: Protocol
    finder: LabelFinder
    loose_finder: Callable[[], LabelFinder]
    has_cue: bool
    cut: bool


def settled(envelope: Envelope, given: Settlement) -> Turn:
    """Return the turn. Raises TurnError where there is none."""
    course, findings = envelope.course, envelope.course.findings
    if course.too_much:
        raise _error(envelope, given)
    if findings.is_open and not findings.problem and not given.cut:
        try:
            _resort(envelope, given)
        except TooMuchError as error:
            findings.fault(str(error), envelope.visible_from)
    if findings.actions:
        return _turn(course, given)
    if findings.answer is not None:
        if given.cut:
            findings.repaired(CUT)
        return _turn(course, given)
    raise _error(envelope, given)


def _turn(course: Course, given: Settlement) -> Turn:
    findings = course.findings
    end = len(given.text) if course.over_at is None else course.over_at
    if findings.actions and not findings.has_told("thought"):
        findings.preamble_was("thought")
    return Turn(
        thought=findings.told("thought").strip(),
        actions=tuple(findings.actions),
        answer=findings.answer if not findings.actions else None,
        text=given.text[:end],
        thinking=findings.told("thinking"),
        repairs=tuple(findings.repairs),
    )


def _resort(envelope: Envelope, given: Settlement) -> None:
    """Look where no step is due, since there is none where it is."""
    course, text = envelope.course, given.text
    findings = course.findings
    end = len(text) if course.over_at is None else course.over_at
    visible = text[envelope.visible_from : end] if not envelope.is_thinking else ""
    if not visible.strip():
        if not envelope.has_channels:
            _from_thinking(course, given)
        return
    found = unlabelled_step(text[:end], envelope.visible_from, course.known, findings.step)
    if found is None:
        found = midline_step(
            text, envelope.visible_from, end, course.known, given.finder, findings.step
        )
    if found is None:
        found = step_without_colons(
            text[:end], envelope.visible_from, course.known, given.loose_finder(), findings.step
        )
    if found is not None:
        _adopt(course, found, text, envelope.visible_from)
    elif seems_labelled(visible, course.known):
        findings.fault("the labels of the action cannot be read", envelope.visible_from)
    elif not course.is_labelled and not given.has_cue and not envelope.is_echo:
        answer = _ECHOED_ROLE.sub("", visible.strip())
        if not answer or is_answer_placeholder(answer):
            findings.fault(ECHO if answer else "the text is empty", envelope.visible_from)
            return
        findings.answer = answer
        findings.tell("answer", answer)


def _adopt(course: Course, found: Resort, text: str, visible_from: int) -> None:
    findings = course.findings
    if found.findings.problem and not found.findings.actions:
        findings.fault(found.findings.problem, found.start, found.findings.problem_part)
        return
    if not course.is_labelled:  # what stands before the step was its thought
        findings.preamble_was("thought", before=text[visible_from : found.start])
    findings.adopt(found.findings)
    findings.repaired(found.repair)
    course.over_at = found.end


def _from_thinking(course: Course, given: Settlement) -> None:
    findings = course.findings
    thinking = findings.told("thinking")
    found = (
        step_in_thinking(thinking, course.known, given.finder, findings.step) if thinking else None
    )
    if found is not None:
        findings.adopt(found)
        findings.repaired("step inside reasoning")


def _error(envelope: Envelope, given: Settlement) -> TurnError:
    findings = envelope.course.findings
    problem, position = findings.problem, findings.problem_at
    if not problem:
        problem, position = _missing(envelope, given)
    else:
        position = _place(given.text, position, findings.problem_part)
    return TurnError(
        problem,
        text=given.text[: envelope.course.seen_to],
        position=position,
        remedy=_remedy(
            envelope.course.known.tools,
            given.protocol,
            (problem, given.text[position:], given.text),
        ),
    )


def _place(text: str, position: int, part: str) -> int:
    """Return where the part at fault stands; else where the text begins, behind blanks."""
    position += len(text[position:]) - len(text[position:].lstrip())
    found = text.find(part, position) if part else -1
    return min(found if found >= 0 else position, len(text))


def _missing(envelope: Envelope, given: Settlement) -> tuple[str, int]:
    course, text = envelope.course, given.text
    end = len(text[: course.over_at].rstrip())
    if not text.strip():
        return "the text is empty", 0
    if course.invented_at is not None:
        return "the observation is written by the engine, not by you", course.invented_at
    if envelope.is_thinking:
        return "the reasoning does not end, and holds no complete step", end
    if course.orphan_input_at is not None:
        return "an action input without an action: no tool is named", course.orphan_input_at
    if course.awaits_action:
        return "there is the label of an action, but no action behind it", end
    if course.findings.has_told("thought"):
        return "there is a thought, but no action and no final answer", end
    return "there is no action and no final answer", end


def _remedy(tools: Toolbox | None, protocol: Protocol, told: tuple[str, ...]) -> str:
    """One right line, with a real tool where there is one: the one that was meant, if any."""
    if tools is not None and len(tools):
        call = rewritten(example_call(_meant(tools, told)), protocol.calls)
        return f"{protocol.label('action')} {call}"
    return f"{protocol.label('answer')} what you know"


def _meant(tools: Toolbox, told: tuple[str, ...]) -> Tool:
    """Return the tool that the first of these texts names last, or one much like a first word."""
    for text in told:
        found = [(_last_place(each.name, text), len(each.name), each.name) for each in tools]
        place, _, name = max(found)
        if place >= 0:
            return next(each for each in tools if each.name == name)
    word = re.match(r"\W*(\w{1,64})", told[1])
    alike = tools.nearest(word[1], 1) if word is not None else ()
    return next(each for each in tools if not alike or each.name == alike[0])


def _last_place(name: str, text: str) -> int:
    places = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return max((each.start() for each in places), default=-1)
