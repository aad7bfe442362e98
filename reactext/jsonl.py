"""Files of JSON objects, one a line: written so that a crash costs one line at most, read likewise.

Lines end in LF alone; other line breaks of Unicode may stand inside of texts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reactext.observing import observation_text


def line_of(fields: Mapping[str, Any]) -> bytes:
    """Write an object as one line; what JSON cannot say is said as a model would be told it."""
    text = json.dumps(fields, ensure_ascii=False, default=observation_text, skipkeys=True)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 has no bytes for
        escaped = json.dumps(fields, default=observation_text, skipkeys=True)
        return escaped.encode() + b"\n"


def append(path: Path, line: bytes) -> None:
    """Append a line in one write, on a line of its own even where the last one was cut.

    The file is opened anew for each: thousands of runs at once need no thousands of files open.
    Raises OSError, also when only a part could be written.
    """
    with open(path, "a+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        written = file.write(line)
    if written != len(line):
        raise OSError(f"only {written} of {len(line)} bytes could be written")


def read_objects(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the object of each line, None for a line that holds none; blank lines are skipped."""
    with open(path, "rb") as file:
        for line in file:
            if line.strip():
                yield _object(line)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
