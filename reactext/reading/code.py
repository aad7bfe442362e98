"""Finds code where a value is due: a nested call is no value, however it goes on.

get_time()    get_time()["hour"]    search("x") + 1    "in " + search("x")
"""

from __future__ import annotations

import re

from reactext.reading.names import resolve_exactly
from reactext.reading.tracking import TooMuchError, construct_end
from reactext.tools import Tool, Toolbox

_TERM = re.compile(
    r"\s*(?:[rbuf]{0,2}\"[^\"\\]*(?:\\.[^\"\\]*)*\"|[rbuf]{0,2}'[^'\\]*(?:\\.[^'\\]*)*'"
    r"|(?:await\s)?(?P<name>[^\W\d][\w.]{0,80})\s?(?P<bracket>[(（])|[\w.]{1,80})",
    re.DOTALL,
)
_SUFFIX = re.compile(r"\.[^\W\d]\w{0,60}(?:\(\))?|\[[^\[\]\n]{0,60}\]|[)）]")
_OPERATOR = re.compile(r"\s*(?:[+\-*/%,]{1,2}|(?:or|and|if|else)\b)")
_TAKES_CODE = re.compile(
    r"code|script|program|source|snippet|python|javascript|shell|bash|repl|interpreter|exec"
    r"|eval|代码|程序",
    re.IGNORECASE,
)
_MOST_TERMS = 64


def call_in(text: str, tools: Toolbox) -> str | None:
    """Return the call of a known tool, ``search(…)``, where all of the text is code around it."""
    found, here = None, 0
    for _ in range(_MOST_TERMS):
        term = _TERM.match(text, here)
        if term is None:
            return None
        here = term.end()
        if term["name"]:
            if (closed := _closing(text, term.start("bracket"))) is None:
                return None
            here = closed
            if resolve_exactly(term["name"], tools) is not None:
                found = found or f"{term['name']}(…)"
        while (suffix := _SUFFIX.match(text, here)) is not None:
            here = suffix.end()
        if not text[here:].strip(" \t\r\n;.。；"):
            return found
        operator = _OPERATOR.match(text, here)
        if operator is None:
            return None
        here = operator.end()
    return None


def _closing(text: str, bracket: int) -> int | None:
    try:
        return construct_end(text, bracket)
    except TooMuchError:
        return None


def takes_code(tool: Tool | None) -> bool:
    """Whether a tool runs code, so that a call in its text is what it was given."""
    if tool is None:
        return False
    names = [tool.name, *(each.name for each in tool.parameters)]
    return any(_TAKES_CODE.search(each) for each in names)
