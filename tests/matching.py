"""Whether a text is one of a grammar, by the engine that servers use for it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer
from llguidance.gbnf_to_lark import gbnf_to_lark

from reactext.constrain import check

BYTES = LLTokenizer("byte")


def matches(source: str, text: str) -> bool:
    """Whether the text, whole, is one of the grammar; GBNF is converted first."""
    matcher = _matcher(source)
    matcher.reset()
    tokens = BYTES.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and bool(matcher.is_accepting())


@lru_cache(maxsize=64)
def _matcher(source: str) -> Any:
    lark = gbnf_to_lark(source) if "::=" in source else source
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(lark))
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def checked(source: str, dialect: Any) -> str:
    """Return the source, once it has passed our own check."""
    check(source, dialect)
    return source
