"""Reads an action that is written as JSON, whole, damaged or broken off."""

from __future__ import annotations

import re
from typing import Any

from reactext.grammar import GrammarError
from reactext.reading.binding import Draft
from reactext.reading.json_calls import MAX_CALLS, read_json_calls
from reactext.reading.known import Known
from reactext.reading.loading import loaded
from reactext.reading.mending import UnmendableError
from reactext.reading.names import is_none
from reactext.reading.tracking import construct_end
from reactext.reading.values import strict_json

_LIST = re.compile(r"[\[［]\s*[{｛]")


def is_json(text: str) -> bool:
    """Whether a text begins like an object or a list of them."""
    return text[:1] in ("{", "｛") or _LIST.match(text) is not None


def read_strict(text: str, known: Known) -> list[Draft]:
    """Return the calls of JSON as it should be; none where anything is doubtful."""
    try:
        value = strict_json(text[: construct_end(text)])
    except ValueError:
        return []
    drafts = read_json_calls(value, known.tools, text, labelled=True)
    return [] if any(each.problem for each in drafts) else drafts


def read_json(text: str, known: Known) -> list[Draft]:
    """Return the calls of JSON with faults, or one draft with what is wrong."""
    end = construct_end(text)
    whole = text[:end]
    try:
        value, mended = loaded(whole)
    except (GrammarError, UnmendableError) as error:
        return _broken(whole, known, error)
    repairs = ["json", *(mended.repairs if mended is not None else ())]
    if end is not None and text[end:].strip(" \t\r\n`*.;,。；，、!！~"):
        repairs.append("text after the call")
    drafts = read_json_calls(value, known.tools, whole, labelled=True)
    if not drafts and not _says_none(value):
        return [Draft("", text=text, problem="the JSON names no tool")]
    return [each.repaired(*repairs) for each in drafts]


def _says_none(value: Any) -> bool:
    return isinstance(value, dict) and any(is_none(str(each)) for each in value.values())


def _broken(text: str, known: Known, error: Exception) -> list[Draft]:
    """Return the complete calls at the beginning of a broken list, or what is wrong."""
    drafts: list[Draft] = []
    position = 1
    while text[0] in "[［" and (start := text.find("{", position)) >= 0:
        end = construct_end(text, start)
        found = _one(text[start:end], known) if end is not None else []
        if end is None or not found or len(drafts) >= MAX_CALLS:
            break
        drafts += found
        position = end
    if drafts:
        return [each.repaired("json", "list cut") for each in drafts]
    reason = "its brackets or quotes do not match"
    if isinstance(error, UnmendableError):
        reason = str(error)
    return [Draft("", text=text, problem=f"the JSON of the action cannot be read: {reason}")]


def _one(text: str, known: Known) -> list[Draft]:
    try:
        value, _ = loaded(text)
    except (GrammarError, UnmendableError):
        return []
    return read_json_calls(value, known.tools, text, labelled=True)
