"""Patterns that know their own beginnings, so that a text that comes in pieces can be matched.

A `Pattern` is a regular expression together with another one for everything that may still become
a match. All are bounded in length, so that a match costs the same however long the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Undecided(Enum):
    """What is returned while the text that came so far allows no decision."""

    MORE = "more"


MORE = Undecided.MORE


@dataclass(frozen=True, slots=True)
class Pattern:
    """``whole`` matches it; ``begun`` matches what may become it, as far as the text goes."""

    whole: str
    begun: str


def literal(text: str) -> Pattern:
    """The pattern of exactly this text."""
    return sequence(*(Pattern(re.escape(each), "") for each in text))


def some(characters: str, least: int, most: int) -> Pattern:
    """The pattern of that many characters of a class, which is written as in a bracket."""
    begun = f"[{characters}]{{0,{most}}}"
    return Pattern(f"[{characters}]{{{least},{most}}}", begun)


def sequence(*parts: Pattern) -> Pattern:
    """The pattern of one after the other."""
    if not parts:
        return Pattern("", "")
    whole, begun = parts[-1].whole, parts[-1].begun
    for each in reversed(parts[:-1]):
        begun = f"(?:{each.whole}(?:{begun})|{each.begun})"
        whole = each.whole + whole
    return Pattern(whole, begun)


def either(options: Iterable[Pattern]) -> Pattern:
    """The pattern of one of these, the first that matches."""
    listed = list(options)
    whole = "|".join(each.whole for each in listed)
    begun = "|".join(dict.fromkeys(each.begun for each in listed))
    return Pattern(f"(?:{whole})", f"(?:{begun})")


def maybe(part: Pattern) -> Pattern:
    """The pattern of this, or of nothing."""
    return Pattern(f"(?:{part.whole})?", f"(?:{part.begun})?")


def captured(name: str, part: Pattern) -> Pattern:
    """The same pattern as a named group."""
    return Pattern(f"(?P<{name}>{part.whole})", part.begun)


def words(texts: Iterable[str], gap: Pattern) -> Pattern:
    """The pattern of any of these texts, the longest first; a space in one is ``gap``."""
    branches: dict[str, list[str]] = {}
    for text in texts:
        branches.setdefault(text[:1], []).append(text[1:])
    ends = branches.pop("", None) is not None
    options = [
        sequence(gap if first == " " else literal(first), words(rests, gap))
        for first, rests in sorted(branches.items())
    ]
    if not options:
        return Pattern("", "")
    return maybe(either(options)) if ends else either(options)
