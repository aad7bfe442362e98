"""What is tried when a text holds no labelled step: the step may stand where none is due.

- a JSON action without its label, in a fence or on lines of its own
- calls of known tools on lines of their own
- ``Action: tool(…)`` or an ``Action: … Action Input: …`` pair in mid-line
- a complete step inside reasoning that nothing follows
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from reactext.grammar import GrammarError
from reactext.reading.bare_names import TAGGED, read_name
from reactext.reading.binding import Draft
from reactext.reading.course import Course
from reactext.reading.envelope import Envelope
from reactext.reading.findings import Findings
from reactext.reading.json_calls import MAX_CALLS, read_json_calls
from reactext.reading.known import Known
from reactext.reading.labels import LabelFinder
from reactext.reading.loading import loaded
from reactext.reading.mending import UnmendableError
from reactext.reading.names import resolve, resolve_exactly
from reactext.reading.native_body import with_input
from reactext.reading.scanner import Scanner
from reactext.reading.tracking import TooMuchError, construct_end
from reactext.reading.written_calls import chooses, read_clean, read_written

_TRIES = 12
_MOST_READINGS = 4
_OPENING = re.compile(
    r"^[ \t>]*(?:(?:`{3,}|~{3,})[ \t]*[\w.+\-]{0,24}[ \t]*\r?\n\s{0,8})?(?:functools)?(?=[\[{])",
    re.MULTILINE,
)
_NEXT_JSON = re.compile(r"[\s,;|]{0,40}(?=\{)")
_FENCED = re.compile(r"```[ \t]*[\w.+\-]{0,24}[ \t]*\r?\n(?P<code>[^`]*)\n?```")
# What is left of a harmony message whose channel the prompt has opened.
_HARMONY_REST = re.compile(
    r"\s*(?:commentary )?to=(?P<name>[\w.\-]{1,80})[^<\n]{0,40}(?:<\|constrain\|>[^<\n]{0,16})?"
    r"<\|message\|>(?P<input>[^<]*)"
)
_NAME_AND_JSON = re.compile(r"\s*(?:>>>)?(?P<name>[\w.\-]{1,80}(?::\d{1,3})?)[ \t]{0,8}\n?(?=\{)")
_PRINTED = re.compile(r"print\(\w{1,40}\)")
_FINISH = re.compile(r"\s*(?:finish|final_answer)[ \t]?[\[(][^\n]*[\])]\s*\Z", re.IGNORECASE)
_CALL = r"(?P<name>[^\W\d][\w.\-]{0,80})[ \t]?(?=[(\[])"
_NEXT_CALL = re.compile(_CALL)
_CALL_LINE = re.compile(rf"^[ \t>*•`\-]{{0,8}}(?:\d{{1,2}}[.)][ \t])?`?{_CALL}", re.MULTILINE)
_OR = re.compile(r"(?:\b(?:or|oder)|或者?|还是)\W*\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s|｜;,`*•\-]*(?:(?<=\s)\d{1,2}[.)]\s+`?)?")
_FENCE_LINE = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
_TOOL_FENCE = re.compile(
    r"^[ \t>]*```[ \t]*(?:tool_code|tool_calls?|tool|action|function_call)[ \t]*\r?\n"
    r"(?P<code>[^`]*)",
    re.MULTILINE,
)
_MIDLINE = re.compile(
    r"(?<![\w\"'`“‘/?&*])\*{0,2}Action ?(?:[:：]\*{0,2}|\*{2}[:：])[ \t]{0,4}"
    r"(?P<name>[`*]{0,2}[^\s:：()\[\]{}\"'][^\n:：()\[\]{}\"']{0,80}?)"
    r"(?=[ \t]{0,4}[(（\[]|[ \t`*.,;]{0,4}(?:\r?\n|\*{0,2}Action[ _]?Input))"
)


@dataclass(frozen=True, slots=True)
class Resort:
    """What was found, and from where to where it stands."""

    findings: Findings
    start: int
    end: int
    repair: str


def read_part(
    text: str, known: Known, finder: LabelFinder, step: int, *, midline: bool = False
) -> Course:
    """Read a part of a text as if it were the whole."""
    findings = Findings(step=step, tools=known.tools)
    course = Course(known, finder, findings, lambda: setattr(scanner, "over", True))
    envelope = Envelope(course, finder)
    scanner = Scanner(finder, envelope, midline=midline)
    envelope.is_final = True
    scanner.feed(text, final=True)
    envelope.finish(cut=False)
    findings.release()
    return course


def unlabelled_step(text: str, start: int, known: Known, step: int) -> Resort | None:
    """Return the JSON action, the fenced tool code or the lone calls that a text holds."""
    findings = Findings(step=step, tools=known.tools)
    for found in _candidates(text, start):
        drafts, end = _json_drafts(text, found.end(), known)
        while drafts and len(drafts) < MAX_CALLS and (gap := _NEXT_JSON.match(text, end)):
            more, more_end = _json_drafts(text, gap.end(), known)
            if not more:
                break
            drafts, end = drafts + more, more_end
        if drafts:
            return _resort(drafts, found.start(), end, "no action label", findings)
    for fence in _TOOL_FENCE.finditer(text, start):
        drafts = [
            draft for line in _code_lines(fence["code"]) for draft in read_written(line, known)
        ]
        drafts = _all_known(drafts) if known.tools is not None else drafts
        if drafts:
            return _resort(drafts, fence.start(), fence.end(), "native call", findings)
    if (fenced := _FENCED.fullmatch(text.strip())) is not None and known.tools is not None:
        code = fenced["code"].strip()
        drafts = _last_calls(code, 0, known)[0] or _list_of_calls(code, known)
        if drafts:
            return _resort(drafts, start, len(text), "no action label", findings)
    if known.tools is not None and TAGGED.fullmatch(text[start:].strip()) is not None:
        drafts = [each for each in [read_name(text[start:], known)] if each.tool is not None]
        if drafts and not drafts[0].needs_input:
            return _resort(drafts, start, len(text), "no action label", findings)
    named = _NAME_AND_JSON.match(text, start)
    if named is not None and resolve(named["name"], known.tools).tool is not None:
        drafts = [with_input(named["name"], text[named.end() :], known)]
        return _resort(drafts, start, len(text), "native call", findings)
    if (header := _HARMONY_REST.match(text, start)) is not None:
        drafts = [with_input(header["name"], header["input"], known)]
        return _resort(drafts, start, len(text), "native call", findings)
    line_start = _last_lines(text, start)
    if _FINISH.match(text, line_start):
        drafts = read_written(text[line_start:], known)
        if len(drafts) == 1 and drafts[0].is_answer:
            return _resort(drafts, line_start, len(text), "no action label", findings)
    if known.tools is None:
        return None
    drafts, calls_at = _last_calls(text, start, known)
    if not drafts:
        calls_at = start if text[start:].lstrip().startswith("[") else line_start
        drafts = _list_of_calls(text[calls_at:], known)
    return _resort(drafts, calls_at, len(text), "no action label", findings) if drafts else None


_LOOSE = re.compile(
    r"^\W{0,8}(?:\d{1,2}\W{1,3})?(?:Action|Tool|行动|动作)\b[^\n]{0,200}",
    re.MULTILINE | re.IGNORECASE,
)


def seems_labelled(text: str, known: Known) -> bool:
    """Whether a line begins with the word for an action and names a tool: it is no answer."""
    if known.tools is None:
        return False
    lines = _LOOSE.findall(text)[:_TRIES]
    return any(each.name in line for line in lines for each in known.tools)


def step_without_colons(
    text: str, start: int, known: Known, finder: LabelFinder, step: int
) -> Resort | None:
    """Return the step whose labels have no colon: ``Action search``."""
    if not seems_labelled(text[start:], known):
        return None
    course = read_part(text[start:], known, finder, step)
    if not course.findings.actions or course.findings.problem:
        return None
    end = course.over_at if course.over_at is not None else len(text) - start
    return Resort(course.findings, start, start + end, "label without colon")


def _code_lines(code: str) -> list[str]:
    """Return the lines but those that print what came of a call."""
    return [line for line in code.split("\n") if not _PRINTED.fullmatch(line.strip())]


def _candidates(text: str, start: int) -> Iterator[re.Match[str]]:
    position = start
    for _ in range(_TRIES):
        found = _OPENING.search(text, position)
        if found is None:
            return
        yield found
        position = found.end() + 1


def _json_drafts(text: str, start: int, known: Known) -> tuple[list[Draft], int]:
    try:
        end = construct_end(text, start)
        value, _ = loaded(text[start:end])
    except (GrammarError, UnmendableError, TooMuchError):
        return [], start
    drafts = read_json_calls(value, known.tools, text[start:end], labelled=False)
    return drafts, len(text) if end is None else end


def _last_lines(text: str, start: int) -> int:
    """Return where the last line begins."""
    return max(start, text.rstrip().rfind("\n") + 1)


def _last_calls(text: str, start: int, known: Known) -> tuple[list[Draft], int]:
    """Return the calls that a text ends in, each on lines of its own or behind bars."""
    first = start + len(text[start:]) - len(text[start:].lstrip())
    seen_to = start
    for head in _CALL_LINE.finditer(text, start):
        if head.start() < seen_to or known.tool(head["name"]) is None:
            continue
        written, seen_to = _group(text, head.start("name"), known)
        is_all = head.start() <= first
        if is_all and written and chooses(text[seen_to : seen_to + 200], known):
            return read_written(text[start:], known), head.start()
        if not written:
            break
        if seen_to < len(text):
            continue
        before = text[start : head.start()]
        if _OR.search(before[-20:]) or len(_fences(text, start, head.start())) % 2:
            break
        found = [_lone_call(each, known, is_all=is_all) for each in written]
        return [draft for each in found for draft in each] if all(found) else [], head.start()
    return [], start


def _lone_call(text: str, known: Known, *, is_all: bool) -> list[Draft]:
    """Return the call that a text is; a damaged one only where it is sure to be meant."""
    if drafts := read_clean(text, known):
        return drafts
    is_meant = is_all or "\n" in text or text.endswith("]")
    return _all_known(read_written(text, known)) if is_meant else []


def _group(text: str, here: int, known: Known) -> tuple[list[str], int]:
    """Return the calls that stand back to back, and where they end; 0 if one is not closed."""
    written: list[str] = []
    while (call := _NEXT_CALL.match(text, here)) and known.tool(call["name"]) is not None:
        end = construct_end(text, call.end())
        if end is None or len(written) > MAX_CALLS:
            return [], 0
        written.append(text[call.start("name") : end])
        between = _BETWEEN.match(text, end)
        assert between is not None
        here = between.end()
    return written, here


def _list_of_calls(text: str, known: Known) -> list[Draft]:
    """Return the calls of a list, ``[search("a"), get_time()]``, or of JSON in backticks."""
    stripped = text.strip().strip("`").strip()
    if stripped.startswith("{") and text.lstrip().startswith("`"):
        return read_clean(stripped, known)
    is_list = stripped.startswith("[") and stripped.endswith("]")
    return _all_known(read_written(stripped, known)) if is_list else []


def _all_known(drafts: list[Draft]) -> list[Draft]:
    """Return the calls if each is one, with its brackets, of a known tool."""
    for each in drafts:
        if each.tool is None or each.problem or not any(bracket in each.text for bracket in "(["):
            return []
    return drafts


def _resort(drafts: list[Draft], start: int, end: int, repair: str, findings: Findings) -> Resort:
    for each in drafts:
        findings.add(each, start)
    return Resort(findings, start, end, repair)


def midline_step(
    text: str, start: int, end: int, known: Known, finder: LabelFinder, step: int
) -> Resort | None:
    """Return the step whose labels stand in mid-line, outside of quotes."""
    tries = 0
    fences = _fences(text, start, end)
    for found in _MIDLINE.finditer(text, start, end):
        if tries >= _MOST_READINGS:
            return None
        if not _is_known(found["name"], known) or _is_quoted(text, found.start()):
            continue
        if bisect(fences, found.start()) % 2:
            continue
        tries += 1
        course = read_part(text[found.start() : end], known, finder, step, midline=True)
        if course.too_much:
            return None
        if course.findings.actions and not course.findings.problem:
            length = course.over_at if course.over_at is not None else end - found.start()
            return Resort(
                course.findings, found.start(), found.start() + length, "label in mid-line"
            )
    return None


def _fences(text: str, start: int, end: int) -> list[int]:
    """Return where code fences open and close; behind an odd number of them all is code."""
    return [each.start() for each in _FENCE_LINE.finditer(text, start, end)]


def _is_known(name: str, known: Known) -> bool:
    if known.tools is None:
        return " " not in name.strip()
    return resolve_exactly(name.strip("`* "), known.tools) is not None


def _is_quoted(text: str, position: int) -> bool:
    line = text[max(text.rfind("\n", 0, position) + 1, position - 400) : position]
    return any(line.count(each) % 2 for each in '`"') or line.count("“") > line.count("”")


def step_in_thinking(
    thinking: str, known: Known, finder: LabelFinder, step: int
) -> Findings | None:
    """Return the complete step that reasoning holds, if nothing follows it there."""
    course = read_part(thinking, known, finder, step)
    if course.findings.is_open or course.findings.problem or not course.is_labelled:
        return None
    end = course.over_at
    return course.findings if end is None or not thinking[end:].strip() else None
