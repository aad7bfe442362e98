"""Makes any text fit to be shown: nothing in it steers a terminal, turns the line around or hides.

Joiners and variation selectors stay: letters and emoji are made with them.
"""

from __future__ import annotations

import json
import re

from reactext.graphemes import cut

_STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return the text with control characters written out, and no half of a surrogate pair.

    What is JSON stays JSON of the same value.
    """
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _STEERS.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str, width: int | None) -> str:
    """Return the text on one line of at most ``width`` characters, line breaks as "⏎"."""
    if width is not None:
        text = text[: (width + 1) * 64]  # so that a result of megabytes costs no more than its cut
    return cut(" ⏎ ".join(visible(text).strip().split("\n")), width)


def _written_out(found: re.Match[str]) -> str:
    if found[0] < " ":  # JSON has none of these
        return f"\\x{ord(found[0]):02x}"
    return json.dumps(found[0])[1:-1] if found[0] > "\x7f" else "\\u007f"
