"""Shows where two long texts differ, in a few lines."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from reactext.graphemes import cut

_LINES = 40
_COMPARED = 200
"""Lines compared from the first that differs; comparing takes time that grows faster than they."""

_AROUND = 30
_WIDTH = 200


def nearest(text: str, others: Sequence[str]) -> str:
    """Return the text that has the longest beginning in common, the first of such."""
    return max(others, key=lambda other: _shared(text, other))


def difference(recorded: str, asked: str) -> str:
    """Return where two texts begin to differ, and a difference by lines, both bounded."""
    at = _shared(recorded, asked)
    line = recorded.count("\n", 0, at) + 1
    column = at - (recorded.rfind("\n", 0, at) + 1) + 1
    shown = [
        f"first difference at line {line}, column {column}:",
        f"  recorded {_around(recorded, at)}",
        f"  asked    {_around(asked, at)}",
        "--- recorded",
        "+++ asked",
    ]
    lines = list(_lines(recorded, asked, line))
    left_out = len(lines) - _LINES
    if left_out > 0:
        lines = [*lines[:_LINES], f"({left_out} more lines of difference are left out)"]
    return "\n".join(shown + lines)


def _shared(left: str, right: str) -> int:
    """Return how many characters two texts begin with in common."""
    least, most = 0, min(len(left), len(right))
    while least < most:
        middle = (least + most + 1) // 2
        if left[least:middle] == right[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _around(text: str, at: int) -> str:
    begun = max(0, at - _AROUND)
    return f"{'…' if begun else ''}{text[begun : at + _AROUND]!r}"


def _lines(recorded: str, asked: str, line: int) -> Iterator[str]:
    begun = max(0, line - 4)
    before, after = (
        [cut(each, _WIDTH) for each in text.split("\n")[begun : begun + _COMPARED]]
        for text in (recorded, asked)
    )
    for each in list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]:
        yield "…" if each.startswith("@@") else each
