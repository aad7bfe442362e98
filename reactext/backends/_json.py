"""JSON from a server, which may be anything else, or be made to hurt."""

from __future__ import annotations

import json
from typing import Any

_SHOWN = 80
_BOM = b"\xef\xbb\xbf"


def parsed(content: bytes) -> Any:
    """Return what this JSON says; raises ValueError for what is none that can be read."""
    try:
        return json.loads(content.removeprefix(_BOM).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("it nests too deep") from error


def shown(content: bytes | bytearray) -> str:
    """Return so much of an answer as tells a person what it is."""
    text = bytes(content[: 4 * _SHOWN]).decode("utf-8", "replace").strip()
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
