"""Reads what stands after "Action Input:": the arguments of a tool that was named before.

JSON first; then JSON with faults; then the arguments of a Python call; then ``key: value`` lines
whose keys are parameters; then raw text, for a tool with one parameter.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from reactext.grammar import GrammarError, read_arguments
from reactext.reading.binding import (
    Draft,
    bound,
    bound_list,
    bound_object,
    encoded_object,
    only_parameter,
)
from reactext.reading.code import takes_code
from reactext.reading.input_forms import FORMS, Form
from reactext.reading.loading import construct, loaded, unquoted
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.names import is_none
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.values import Bare, Expression

_FENCED = re.compile(r"\s*(`{3,}|~{3,})(?:[ \t]*[\w+.#\-]{0,24}[ \t\r]*\n)?")
_LED_FENCE = re.compile(
    r"\s*[^\n`{]{1,200}[:：][ \t]*\r?\n\s{0,20}"
    r"(?P<ticks>`{3,}|~{3,})[ \t]*[\w+.#\-]{0,24}[ \t\r]*\n"
    r"(?P<body>[\s\S]*?)\n[ \t]*(?P=ticks)[ \t]*(?=\r?\n|\Z)"
)
_QUOTE_FENCE = re.compile(
    r"(?P<quotes>'{3}|\"{3})(?:json|python|sql)[ \t\r]*\n(?P<body>[\s\S]*?)(?P=quotes)",
    re.IGNORECASE,
)
_NO_INPUT = ("", "{}", '""', "''", "[]")
_KEYED_LIST = re.compile(r"[\[【]\s*[\"'“]?\w{1,60}[\"'”]?\s*[:：=]")
_MIDLINE_LABEL = re.compile(r"(?<=\S) (?:Observation|Thought|Final Answer): ")
_REMARK = re.compile(
    r"\n[ \t]*\r?\n[ \t]*(?:I['’]?(?:ll| will| am|'m)|Let me|Now,? I|Waiting|Please wait|\(|Once "
    r"|After (?:this|that)|This (?:will|should)|Next,|Then,? I|我(?:将|会|来|先)"
    r"|接下来|等待|然后)[^\n]*\s*\Z"
)


def read_input(text: str, draft: Draft) -> Draft:
    """Return the draft with the arguments that a text holds, or with the problem that it has."""
    return _read(text, draft, unquote=True)


def _read(text: str, draft: Draft, *, unquote: bool) -> Draft:
    if (inside := _led_fence(text, draft)) is not None:
        return _read(inside, draft.repaired("words before the arguments"), unquote=unquote)
    stripped, repairs = _unfenced(text)
    draft = draft.repaired(*repairs)
    if draft.otherwise is not None:
        if stripped in _NO_INPUT or is_none(stripped):
            return draft.otherwise
        draft = replace(draft, otherwise=None).repaired("remark after the tool name")
    if not stripped and _needs_arguments(draft):
        return replace(draft, problem=f"{draft.name} was given no arguments")
    if not stripped or (is_none(stripped) and len(stripped) < 12):
        return draft
    if stripped.startswith("<{") and stripped.endswith("}>"):
        stripped = stripped[1:-1]
    if stripped[0] in "{｛":
        return _object_text(stripped, draft)
    if stripped[0] in "[(（【" and (done := _listed(stripped, draft)) is not None:
        return done
    if unquote and stripped[0] in CLOSING and (inner := unquoted(stripped)) is not None:
        return _quoted(inner, draft)
    for attempt in FORMS:
        if (done := attempt(stripped, draft)) is not None:
            return done
    return raw(_without_tail(_without_remark(stripped)), draft)


def _led_fence(text: str, draft: Draft) -> str | None:
    """Return what a fence behind a line of prose holds, where the prose is no part of the input.

    It is the arguments as JSON, or code for a tool that runs it; else the text is meant whole.
    """
    led = _LED_FENCE.match(text)
    if led is None or led["ticks"] in text[led.end() :]:
        return None
    is_object = led["body"].lstrip()[:1] in ("{", "[") and not takes_code(draft.tool)
    return led["body"] if is_object or takes_code(draft.tool) else None


def of_form(text: str, draft: Draft) -> Draft | None:
    """Return the draft with arguments that a text in quotes holds; None where it is a text."""
    is_fenced = text.lstrip().startswith("```")
    stripped = _unfenced(text)[0] if is_fenced else text.strip()
    if takes_code(draft.tool):
        return raw(stripped, draft) if is_fenced and only_parameter(draft.tool) else None
    forms: tuple[Form, ...] = (_object_text,) if stripped[:1] in ("{", "｛") else FORMS
    for attempt in forms if stripped else ():
        done = attempt(stripped, draft)
        if done is not None and not done.problem:
            return done
    return None


def _needs_arguments(draft: Draft) -> bool:
    return draft.tool is not None and any(each.required for each in draft.tool.parameters)


def without_input(draft: Draft) -> Draft:
    """Return the draft of a name alone as a call: with what followed the name, or nothing."""
    if draft.otherwise is not None:
        return draft.otherwise
    if draft.after_name:
        return read_input(draft.after_name, draft).repaired("argument after the tool name")
    if "(" in draft.text or "（" in draft.text:
        return draft
    if draft.problem or draft.is_answer or draft.tool is None:
        return draft
    required = [each.name for each in draft.tool.parameters if each.required]
    if not required:
        return draft
    return replace(
        draft, problem=f"{draft.name} was given no arguments; it needs {', '.join(required)}"
    )


def unless_input(draft: Draft) -> Draft:
    """``stock_price (Yahoo)``: if an input comes, text without quotes is a remark, no argument.

    What is certain without an input is returned as it is.
    """
    if not draft.unquoted or draft.tool is None or draft.needs_input or draft.problem:
        return draft
    name = Draft(draft.name, draft.tool, text=draft.text, needs_input=True)
    return replace(name, otherwise=draft)


def raw(text: str, draft: Draft) -> Draft:
    """Return the draft with a text as the only argument."""
    text, repair = _without_lone_quote(text)
    draft = replace(draft.repaired(repair), unquoted=(text,))
    if draft.tool is None:
        return replace(draft, args=(text,))
    parameter = only_parameter(draft.tool)
    if parameter is not None:
        return replace(draft, kwargs={parameter.name: text})
    if not draft.tool.parameters:
        return draft.repaired("arguments of a tool without parameters")
    names = ", ".join(each.name for each in draft.tool.parameters)
    return replace(
        draft,
        problem=f"the arguments of {draft.tool.name} ({names}) cannot be read in {text[:80]!r}",
    )


def _unfenced(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is inside a fence, or between backticks, that holds the whole text."""
    quotes = _QUOTE_FENCE.fullmatch(text.strip())
    if quotes is not None:
        return quotes["body"].strip("\r\n").rstrip(), ("fence",)
    opening = _FENCED.match(text)
    if opening is not None:
        closing = re.compile(rf"^[ \t>]*{opening[1]}|{opening[1]}\s*\Z", re.MULTILINE)
        end = closing.search(text, opening.end())
        inner = text[opening.end() : end.start() if end is not None else len(text)]
        return inner.strip("\r\n").rstrip(), ("fence",)
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] == stripped[-1] == "`" and "`" not in stripped[1:-1]:
        return stripped[1:-1].strip(), ("backticks",)
    lines = stripped.rsplit("\n", 1)
    is_lone = stripped.count("```") % 2 == 1 or stripped.count("~~~") % 2 == 1
    is_last = len(lines) == 2 and len(lines[1].strip()) >= 3 and not lines[1].strip().strip("`~")
    if is_last and is_lone:
        return lines[0].rstrip(), ("fence",)
    return stripped, ()


def _object_text(text: str, draft: Draft) -> Draft:
    whole, is_closed = construct(text)
    try:
        value, mended = loaded(whole)
    except UnmendableError as error:
        return _raw_code(text, draft, str(error))
    except GrammarError:
        return _raw_code(text, draft, "")
    repairs = mended.repairs if mended is not None else ()
    if value == {} and not is_closed and _needs_arguments(draft):
        return replace(draft, problem=f"the arguments of {draft.name} break off")
    if not isinstance(value, dict):
        return _raw_code(text, draft, "")
    rest = text[len(whole) :].strip(" \t\r\n`.;,。；，}")
    if rest and is_closed:
        repairs = (*repairs, "text after the arguments")
    return bound_object(draft.repaired(*repairs), value)


def _raw_code(text: str, draft: Draft, problem: str) -> Draft:
    """What begins like an object and is none: code, for a tool that takes one text."""
    keys = "|".join(re.escape(each.name) for each in draft.tool.parameters) if draft.tool else ""
    has_key = bool(keys) and re.match(rf"[{{｛]\s*[\"'“]?(?:{keys})[\"'”]?\s*[:：=]", text)
    if not (problem or has_key) and draft.tool is not None and len(draft.tool.parameters) == 1:
        return raw(text, draft)
    if not problem and draft.tool is None:
        return raw(text, draft)
    reason = problem or "its JSON is broken"
    return replace(draft, problem=f"the arguments of {draft.name} cannot be read: {reason}")


def _listed(text: str, draft: Draft) -> Draft | None:
    """Arguments in square or round brackets, instead of curly ones."""
    whole, is_closed = construct(text)
    rest = text[len(whole) :].strip(" \t\r\n.;。；")
    if rest or not is_closed:
        return None
    try:
        if text[0] in "[【" and not _KEYED_LIST.match(text):
            value, mended_list = loaded(whole)
            repairs = mended_list.repairs if mended_list is not None else ()
            return _list_value(value, draft.repaired(*repairs))
        mended = mend(whole)
        pairs = read_arguments(mended.text[1:-1])
    except (GrammarError, UnmendableError):
        return None
    if draft.tool is None or any(isinstance(each, Bare) for each in pairs.args):
        return None
    return bound(draft.repaired("brackets", *mended.repairs), pairs.args, pairs.kwargs)


def _list_value(value: Any, draft: Draft) -> Draft | None:
    if not isinstance(value, list) or draft.tool is None:
        return None
    if only_parameter(draft.tool) is not None and any(
        isinstance(each, Bare | Expression) for each in value
    ):
        return None
    return bound_list(draft.repaired("brackets"), value)


def _quoted(inner: str, draft: Draft) -> Draft:
    text = decoded(inner)
    value = encoded_object(text)
    if value is not None:
        return bound_object(draft.repaired("JSON encoded twice"), value)
    if text.lstrip().startswith("{"):
        done = _read(text, draft, unquote=False)
    else:
        done = of_form(text, draft) or raw(text, draft)
    return replace(done.repaired("quotes"), unquoted=())


def _without_remark(text: str) -> str:
    """A paragraph in which the model says what it will do next is none of the input."""
    found = _REMARK.search(text[-600:]) if "\n" in text else None
    return text[: len(text) - len(text[-600:]) + found.start()].rstrip() if found else text


def _without_tail(text: str) -> str:
    """A label that follows on the line of a text without quotes is none of it, nor is a rule."""
    if "\n" not in text and (label := _MIDLINE_LABEL.search(text)) is not None:
        text = text[: label.start()]
    return re.sub(r"\n[ \t]*[-=*_]{3,20}[ \t]*\Z", "", text).rstrip()


def _without_lone_quote(text: str) -> tuple[str, str]:
    for quote in '"“':
        count = text.count(quote) + (text.count(CLOSING[quote]) if CLOSING[quote] != quote else 0)
        if count == 1 and (text.startswith(quote) or text.endswith(CLOSING[quote])):
            return text.strip(quote + CLOSING[quote]).strip(), "missing quote"
    return text, ""
