"""The final answer in the form of a call: ``finish(answer="…")``, ``Finish[…]``."""

from __future__ import annotations

import re
from typing import Any

from reactext.grammar import GrammarError, read_call
from reactext.protocol import CallSyntax
from reactext.reading.binding import Draft
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.tracking import TooMuchError
from reactext.reading.values import Bare

_KEY = re.compile(r"\s*\w{1,40}\s*[=:：＝]\s*")


def answer_call(inner: str, text: str) -> Draft:
    """Return the answer that stands between the brackets of a call; ``text`` is the call."""
    value = _only_value(inner)
    if isinstance(value, Bare):
        keyed = _KEY.match(inner)
        value = inner[keyed.end() :].strip() if keyed is not None else inner.strip()
    elif not isinstance(value, str):
        value = _unquoted(inner.strip())
    return Draft("finish", args=(str(value),), text=text, is_answer=True)


def _only_value(inner: str) -> Any:
    """Return the only value there is, also as the only one of an object; else None."""
    try:
        call = read_call(f"finish({mend(inner.strip()).text})", CallSyntax())
    except (GrammarError, UnmendableError, TooMuchError):
        return None
    values: list[Any] = [*call.args, *(value for _, value in call.kwargs)]
    if len(values) == 1 and isinstance(values[0], dict) and len(values[0]) == 1:
        values = list(values[0].values())
    if len(values) != 1 or (isinstance(values[0], Bare) and not call.kwargs):
        return None
    return values[0]


def _unquoted(text: str) -> str:
    quote = text[:1]
    is_pair = len(text) > 1 and quote in "\"'“" and text[-1] == CLOSING[quote]
    is_one = is_pair and f"{CLOSING[quote]}, {quote}" not in text
    return decoded(text[1:-1]) if is_one else text
