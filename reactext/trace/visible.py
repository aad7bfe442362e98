"""Makes any text fit to be shown: nothing in it steers a terminal or turns the line around."""

from __future__ import annotations

import re

from reactext.graphemes import cut

_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def visible(text: str) -> str:
    """Return the text with control characters written out, and no half of a surrogate pair."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _STEERS.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str, width: int | None) -> str:
    """Return the text on one line of at most ``width`` characters, line breaks as "⏎"."""
    if width is not None:
        text = text[: (width + 1) * 64]  # so that a result of megabytes costs no more than its cut
    return cut(" ⏎ ".join(visible(text).strip().split("\n")), width)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
