"""What a line of an action looks like, before it is read: a call, another one, an argument."""

from __future__ import annotations

import re

from reactext.reading.binding import Draft, only_parameter
from reactext.reading.bullets import BULLET
from reactext.reading.known import Known
from reactext.reading.names import undressed
from reactext.tools import folded

_CALL = re.compile(
    rf"\s*(?:{BULLET})?[`*\"'“]{{0,3}}(?:\w+ ?= ?|await |call )?"
    r"(?P<name>[\w.\- ]{1,80}?)[`*\"'”]{0,3}[ \t]*[(（\[【]",
    re.IGNORECASE,
)
_KEYED = re.compile(r"[ \t]*(?:[-*][ \t]+)?[\"'`]?(\w{1,60})[\"'`]?[ \t]*[:=：]")
_NUMBERED = re.compile(r"[ \t]*(?:[(（]\d{1,2}[)）]|\[[ xX\d]{1,2}\])")
_NOTHING = re.compile(
    r"|<!--[^\n]*-->|--[ \t][^\n]*|(?:'{3}|\"{3})\w{0,12}|(?P<word>json|jsonc|json5)", re.IGNORECASE
)
_BAR = re.compile(r"\|\||｜｜")
_ENDED = re.compile(r"[\"'”\w\])}]\s{0,8}\Z")
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|“[^”\n]*”")
_REACH = 200


def says_nothing(text: str, known: Known) -> bool:
    """Whether a line is a comment, a row of quotes for a fence, or the language of one."""
    found = _NOTHING.fullmatch(text.strip(" \t\r\n`*"))
    return found is not None and not (found["word"] and known.tool(found["word"]))


def is_cut_name(text: str, known: Known) -> bool:
    """Whether a text that ends here is the beginning of a tool's name and none itself."""
    name = text.strip()
    if known.tools is None or len(name) < 2 or known.tool(name) is not None:
        return False
    return any(each.name.startswith(name) for each in known.tools)


def looks_like_call(text: str, known: Known) -> bool:
    """Whether a text begins like a call, of a known tool where any are known."""
    if text.lstrip().startswith(("{", "[{")):
        return True
    call = _CALL.match(text)
    if call is None:
        return False
    if known.tools is None:
        return " " not in call["name"].strip()
    return known.tool(undressed(call["name"])) is not None


def is_numbered_call(text: str, known: Known) -> bool:
    """Whether a text is another call and no argument: ``(2) get_time()``."""
    return _NUMBERED.match(text) is not None and looks_like_call(text, known)


def is_quoted_input(text: str, draft: Draft, known: Known) -> bool:
    """Whether a line after a name is a text in quotes, for a tool that takes one."""
    is_quoted = _QUOTED.fullmatch(text.strip()) is not None
    return is_quoted and only_parameter(draft.tool) is not None and not known.tool(undressed(text))


def gives_parameter(text: str, draft: Draft) -> bool:
    """Whether a line after a name gives one of its parameters: ``city: Oslo``."""
    key = _KEYED.match(text)
    parameters = draft.tool.parameters if draft.tool is not None else ()
    return key is not None and any(folded(each.name) == folded(key[1]) for each in parameters)


def unclosed_parts(text: str, known: Known) -> list[str]:
    """Split ``a(x="1" || b()``, where the bracket before the separator was forgotten."""
    parts, start = [], 0
    for bar in _BAR.finditer(text):
        before = text[max(start, bar.start() - 10) : bar.start()]
        if looks_like_call(text[bar.end() : bar.end() + _REACH], known) and _ENDED.search(before):
            parts.append(text[start : bar.start()])
            start = bar.end()
    return [*parts, text[start:]]
