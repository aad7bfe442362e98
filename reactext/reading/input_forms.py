"""The forms of an input that is neither JSON nor a quoted text, in the order they are tried.

Each returns the draft with its arguments, or None where the text is not of this form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reactext.grammar import GrammarError, read_arguments
from reactext.reading.binding import Draft, bound, bound_object
from reactext.reading.loading import construct, loaded, unquoted
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.values import Bare, Pairs
from reactext.tools import folded

_LEAD = re.compile(r"[\w ,'’`!！]{1,80}[:：]?\s*(?=\{)")
_CALLED = re.compile(r"(?P<name>[\w.]{1,80})\s?[(（]")
_TAGGED = re.compile(r"<(?P<key>\w{1,60})>(?P<value>[^<]*)</(?P=key)>")
_LINE = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?[`\"'*]{0,2}(?P<key>[^\W\d][\w \-]{0,60}?)[`\"'*]{0,2}"
    r"[ \t]*[:=：＝][ \t]*(?P<value>.*)"
)


def _led(text: str, draft: Draft) -> Draft | None:
    """A few words, and then the object that holds the arguments."""
    lead = _LEAD.match(text)
    if lead is None or draft.tool is None:
        return None
    whole, is_closed = construct(text[lead.end() :])
    try:
        value, _ = loaded(whole)
    except (GrammarError, UnmendableError):
        return None
    known = {folded(each.name) for each in draft.tool.parameters}
    if (
        not is_closed
        or not isinstance(value, dict)
        or not known & {folded(str(key)) for key in value}
    ):
        return None
    return bound_object(draft.repaired("words before the arguments"), value)


def _called(text: str, draft: Draft) -> Draft | None:
    """The arguments as a call: of the tool itself, or of what builds an object of its arguments."""
    called = _CALLED.match(text)
    if called is None or draft.tool is None:
        return None
    whole, is_closed = construct(text)
    pairs = _pairs(whole[called.end() - 1 :]) if is_closed else None
    if pairs is None:
        return None
    known = {each.name for each in draft.tool.parameters}
    keys = [*pairs.kwargs, *(key for each in pairs.args if isinstance(each, dict) for key in each)]
    is_itself = folded(called["name"].rpartition(".")[2]) == folded(draft.tool.name)
    if is_itself or (keys and known.issuperset(keys) and len(pairs.args) <= 1):
        return bound(draft.repaired("call as the input"), pairs.args, pairs.kwargs)
    return None


def _pairs(bracketed: str) -> Pairs | None:
    try:
        mended = mend(bracketed)
        if mended.cut_in_string:
            return None
        return read_arguments(mended.text[1:-1]) if len(mended.text) > 2 else Pairs()
    except (GrammarError, UnmendableError):
        return None


def _python(text: str, draft: Draft) -> Draft | None:
    """The arguments of a Python call, without its name."""
    if draft.tool is None or ("=" not in text and text[0] not in CLOSING):
        return None
    pairs = _pairs(f"({text})")
    if pairs is None or not (pairs.kwargs or len(pairs.args) > 1):
        return None
    known = {folded(each.name) for each in draft.tool.parameters}
    if any(folded(key) not in known for key in pairs.kwargs):
        return None
    if any(isinstance(each, Bare) for each in pairs.args) or len(pairs.args) > len(known):
        return None
    draft = draft.repaired("arguments as of a call")
    only = next(iter(pairs.kwargs.values())) if len(pairs.kwargs) == 1 and not pairs.args else None
    if isinstance(only, dict) and known.issuperset(map(folded, only)) and only:
        return bound_object(draft, only)  # city = {"city": "Oslo"}
    return bound(draft, pairs.args, pairs.kwargs)


def keyed_lines(text: str, draft: Draft) -> Draft | None:
    """Lines of ``key: value`` whose keys are parameters; other lines continue a value."""
    if draft.tool is None:
        return None
    names = {folded(each.name): each.name for each in draft.tool.parameters}
    values: dict[str, list[str]] = {}
    last = ""
    keys = "|".join(re.escape(each.name) for each in draft.tool.parameters)
    one_a_line = (
        re.sub(rf"[;；,，][ \t]*(?=[\"'`]?(?:{keys})[\"'`]?[ \t]*[:=：＝])", "\n", text)
        if keys
        else text
    )
    for line in one_a_line.split("\n"):
        found = _LINE.fullmatch(line.rstrip("\r"))
        name = names.get(folded(found["key"])) if found is not None else None
        if found is not None and name is not None and name not in values:
            if last:
                values[last][-1] = values[last][-1].rstrip(" \t,")
            values[name] = [found["value"]]
            last = name
        elif not last:
            return None
        else:
            values[last].append(line)
    written = {key: _line_value("\n".join(each)) for key, each in values.items()}
    unquoted = tuple(each for each in written.values() if isinstance(each, Bare))
    return bound(replace(draft, unquoted=unquoted).repaired("key: value lines"), (), written)


def _tagged(text: str, draft: Draft) -> Draft | None:
    """Arguments in tags: ``<city>Oslo</city>``."""
    if draft.tool is None or text[0] != "<":
        return None
    names = {each.name for each in draft.tool.parameters}
    found = {
        each["key"]: Bare(each["value"].strip())
        for each in _TAGGED.finditer(text)
        if each["key"] in names
    }
    return bound(draft.repaired("arguments in tags"), (), found) if found else None


def _line_value(text: str) -> Any:
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            return loaded(stripped)[0]
        except (GrammarError, UnmendableError):
            return stripped
    inner = unquoted(stripped) if stripped[:1] in CLOSING else None
    return decoded(inner) if inner is not None else Bare(stripped)


Form = Callable[[str, Draft], Draft | None]

FORMS: tuple[Form, ...] = (
    _led,
    _called,
    _python,
    keyed_lines,
    _tagged,
)
