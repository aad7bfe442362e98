"""Loads a value from its text, as it should be or with faults."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from reactext.grammar import read_value
from reactext.reading.mending import Mended, UnmendableError, mend
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.tracking import construct_end
from reactext.reading.values import strict_json

# {\"city\": \"Oslo\"}: the quotes of JSON in a string, without the string.
_ESCAPED_JSON = re.compile(r"\s*[{\[]\s*\\\"")


def loaded(text: str) -> tuple[Any, Mended | None]:
    """Return the value of a text, strict JSON or damaged.

    Raises GrammarError where it is none, UnmendableError where it was cut within a string.
    """
    try:
        return strict_json(text), None
    except ValueError:
        pass
    if _ESCAPED_JSON.match(text):
        mended = mend(decoded(text))
        mended = replace(mended, repairs=("escaped JSON", *mended.repairs))
    else:
        mended = mend(text)
    if mended.cut_in_string:
        raise UnmendableError("the text breaks off within a value")
    return read_value(mended.text), mended


def construct(text: str) -> tuple[str, bool]:
    """Return the text to where its first bracket closes, and whether it does."""
    end = construct_end(text)
    return (text, False) if end is None else (text[:end], True)


def unquoted(text: str) -> str | None:
    """Return what stands between the outer quotes if they are a pair."""
    quote = text[0]
    triple = quote * 3
    body = text.rstrip(" \t.;。") if text.rstrip(" \t.;。").endswith(CLOSING[quote]) else text
    if quote in "\"'" and body.startswith(triple) and body.endswith(triple) and len(body) >= 6:
        return body[3:-3]
    if len(body) > 4 and body[1] == quote and body.endswith(CLOSING[quote] * 2):
        return body[2:-2] if quote not in body[2:-2] else None
    if len(body) < 2 or not body.endswith(CLOSING[quote]):
        return None
    inner = body[1:-1]
    is_escaped = False
    for character in inner:
        if character == CLOSING[quote] and not is_escaped:
            return None
        is_escaped = character == "\\" and not is_escaped
    return None if is_escaped else inner
