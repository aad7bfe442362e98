"""Cuts a text for display where a reader sees one character end: never inside of one.

What a reader takes for one character can be many: a letter with its marks, a Hangul syllable, a
flag, a family of emoji. Follows the rules of Unicode's annex 29; where Python has not the table
they need, more is kept together rather than less.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_ZWJ = "\u200d"
_VIRAMA = 9
"""The combining class of what makes one conjunct of two consonants, in the scripts of India."""
_LONGEST = 64
"""So many code points a character is shown with at most; a longer one is left out, not torn."""

_PREPENDED = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"
    "\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a\U00011d46"
    "\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011f02"
)


def graphemes(text: str) -> Iterator[str]:
    """Yield what a reader sees as the characters of a text; joined, they are the text."""
    start, flags, conjunct = 0, 0, False
    for position in range(1, len(text) + 1):
        before = text[position - 1]
        flags = flags + 1 if _is_flag_half(before) else 0
        conjunct = unicodedata.combining(before) == _VIRAMA or (conjunct and _extends(before))
        if position == len(text) or not (
            _joined(before, text[position])
            or (flags % 2 == 1 and _is_flag_half(text[position]))
            or (conjunct and unicodedata.category(text[position]) == "Lo")
        ):
            yield text[start:position]
            start, flags, conjunct = position, 0, False


def cut(text: str, width: int | None) -> str:
    """Return the text in at most ``width`` characters, the last being "…" where it was cut."""
    if width is None or (len(text) <= width and len(text) <= _LONGEST):
        return text
    kept: list[str] = []
    for grapheme in graphemes(text[: (width + 1) * _LONGEST]):
        if len(kept) == width or len(grapheme) >= _LONGEST:
            return "".join(kept[: max(0, width - 1)]) + "…"
        kept.append(grapheme)
    return text


def _joined(before: str, after: str) -> bool:
    """Whether two neighbours belong together, whatever stands around them."""
    if before == "\r":
        return after == "\n"
    if _is_control(before) or _is_control(after):
        return _is_surrogate_pair(before, after)
    return _extends(after) or before == _ZWJ or before in _PREPENDED or _is_syllable(before, after)


def _is_control(char: str) -> bool:
    if char in "\u200c\u200d" or char in _PREPENDED or "\U000e0020" <= char <= "\U000e007f":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _is_surrogate_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _extends(char: str) -> bool:
    """Marks, joiners, skin tones and tags, which belong to what stands before them."""
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in "\u200c\u200d\uff9e\uff9f\u0e33\u0eb3"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_syllable(before: str, after: str) -> bool:
    """Whether two parts of Hangul stand in one syllable: leads, then vowels, then tails."""
    kinds = _hangul(before) + _hangul(after)
    return kinds in ("LL", "LV", "LS", "LC", "VV", "VT", "SV", "ST", "CT", "TT")


def _hangul(char: str) -> str:
    """L, V and T are the parts; S is a syllable that has no tail yet, C one that has."""
    if "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c":
        return "L"
    if "\u1160" <= char <= "\u11a7" or "\ud7b0" <= char <= "\ud7c6":
        return "V"
    if "\u11a8" <= char <= "\u11ff" or "\ud7cb" <= char <= "\ud7fb":
        return "T"
    if "\uac00" <= char <= "\ud7a3":
        return "S" if (ord(char) - 0xAC00) % 28 == 0 else "C"
    return "-"
