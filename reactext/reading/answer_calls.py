"""The final answer in the form of a call: ``finish(answer="…")``, ``Finish[…]``, ``finish: …``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from reactext.grammar import GrammarError, read_call
from reactext.protocol import CallSyntax, bare
from reactext.reading.binding import Draft
from reactext.reading.known import Known
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.names import is_answer
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.tracking import TooMuchError
from reactext.reading.values import Bare, plain

_KEY = re.compile(r"\s*\w{1,40}\s*[=:：＝]\s*")
_NAMED = re.compile(
    r"\s*(?P<name>[^\n:：\"“{(\[]{1,80}?)[ \t]*(?:[:：][ \t]*|(?=[\"“{]))(?P<rest>\S[\s\S]*)"
)
_ANSWER_KEYS = ("answer", "finalanswer", "result", "output", "response", "text", "value", "答案")


def named_answer(text: str, known: Known) -> Draft | None:
    """Return the answer that stands behind its name: ``finish: Oslo.``; else None."""
    named = _NAMED.match(text)
    if named is None or not is_answer(named["name"], known.tools, known.answer_labels):
        return None
    if named["rest"][0] in '{"“':
        return answer_call(named["rest"], text)
    return Draft("finish", args=(named["rest"].strip(),), text=text, is_answer=True)


def answer_call(inner: str, text: str) -> Draft:
    """Return the answer that stands between the brackets of a call; ``text`` is the call."""
    value, has_key = _only_value(inner)
    if isinstance(value, dict) and (only := only_answer(plain(value))) != plain(value):
        answer = rendered(only)
    elif isinstance(value, str) and not isinstance(value, Bare):
        answer = value
    else:
        key = _KEY.match(inner) if has_key else None
        answer = _unquoted((inner[key.end() :] if key is not None else inner).strip())
    return Draft("finish", args=(answer,), text=text, is_answer=True)


def only_answer(value: Mapping[str, Any]) -> Any:
    """Return the answer that an object holds; an object that is the answer, as it is."""
    if len(value) != 1:
        return value
    key, only = next(iter(value.items()))
    return only if isinstance(only, str) or bare(key).replace("_", "") in _ANSWER_KEYS else value


def rendered(value: Any) -> str:
    """Return an answer as a text; a structured one is JSON."""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _only_value(inner: str) -> tuple[Any, bool]:
    """Return the only value there is, else None; and whether it has a name."""
    try:
        call = read_call(f"finish({mend(inner.strip()).text})", CallSyntax())
    except (GrammarError, UnmendableError, TooMuchError):
        return None, False
    values: list[Any] = [*call.args, *(value for _, value in call.kwargs)]
    return (values[0], bool(call.kwargs)) if len(values) == 1 else (None, False)


def _unquoted(text: str) -> str:
    quote = text[:1]
    is_pair = len(text) > 1 and quote in "\"'“" and text[-1] == CLOSING[quote]
    is_one = is_pair and f"{CLOSING[quote]}, {quote}" not in text
    return decoded(text[1:-1]) if is_one else text
