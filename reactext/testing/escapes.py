"""Escapes for what cannot be seen in a text, or would be lost on the way to a file."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:([\\nrt])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)")
_PLAIN = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_NAMES = {"\\": r"\\", "\r": r"\r", "\t": r"\t"}


def unescaped(text: str) -> str:
    r"""Replace ``\n \r \t \\ \x20 \u3000 \U0001f600``. Raises ValueError at any other backslash."""
    return _ESCAPE.sub(_character, text)


def escaped(text: str) -> str:
    """Write a text so that all of it can be seen; its lines stay lines."""
    shown = "".join(_NAMES.get(each) or _visible(each) for each in text)
    return re.sub(r" +$", lambda blanks: r"\x20" * len(blanks[0]), shown, flags=re.MULTILINE)


def is_visible(text: str) -> bool:
    """Whether all of a text can be seen: no control character, no blank at the end of a line."""
    return text == "".join(map(_visible, text)) and not re.search(r"[ \t]$", text, re.MULTILINE)


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return _PLAIN[found[1]]
    number = found[2] or found[3] or found[4]
    if not number or int(number, 16) > 0x10FFFF:
        there = found.string[found.start() : found.start() + 2]
        raise ValueError(rf"{there!r} is no escape; there are \n \r \t \\ \x20 \u3000 \U0001f600")
    return chr(int(number, 16))


def _visible(character: str) -> str:
    if character.isprintable() or character in "\n\t\u3000":
        return character
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
