"""What a tool returned or raised becomes the text that a model reads."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Set, ValuesView
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any

from pydantic import BaseModel

NOTHING = "done, nothing was returned"
EMPTY = "(an empty text was returned)"
MOST_ITEMS = 10_000
"""So many items are taken from a generator; it may have no end."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def observation_text(value: Any) -> str:
    """Write any value for a model: a text as it is, everything else as JSON, Unicode kept.

    Never raises: what JSON cannot say is shown as ``str`` shows it.
    """
    if value is None:
        return NOTHING
    try:
        plain = value if isinstance(value, str) else _plain(value)
        text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    except Exception:  # any object of the caller's can be in there, with any method failing
        text = _as_str(value)
    return clean_text(text) or EMPTY


def clean_text(text: str) -> str:
    """Return the text with LF as line ends and whole characters only; "" if it is all blank."""
    text = _SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.strip() else ""


def _as_str(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # its __str__ or __repr__ is the caller's code
        return f"(a value of type {type(value).__name__} that cannot be shown)"


def _plain(value: Any) -> Any:
    """Return the value as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Mapping):
        return {_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, (list, tuple, range, deque, ValuesView)):
        return [_plain(each) for each in value]
    if isinstance(value, (Set, Iterator)):
        return _gathered(value)
    return _single(value)


def _key(key: Any) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _gathered(value: Any) -> list[Any]:
    if isinstance(value, Set):  # in an order that does not change from run to run
        return sorted((_plain(each) for each in value), key=lambda each: json.dumps(each))
    items = [_plain(each) for each in islice(value, MOST_ITEMS)]
    if len(items) == MOST_ITEMS:
        items.append(f"(only the first {MOST_ITEMS} items were read)")
    return items


def _single(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (timedelta, Decimal)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _decoded(bytes(value))
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if hasattr(value, "tolist"):  # an array or a scalar of numpy
        return _plain(value.tolist())
    return _as_str(value)


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"(binary data, {len(data)} bytes)"
    return f"(binary data, {len(data)} bytes)" if "\0" in text else text


def error_text(error: BaseException, written: str = "") -> str:
    """Write an exception for a model: its type and message, no traceback, no place of a file.

    Of a path its last part stays, and the whole of one that the model itself has ``written``.
    """
    try:
        message = clean_text(str(error)).strip()
    except Exception:  # its __str__ is the caller's code
        message = "(its message cannot be shown)"
    name = type(error).__name__
    return f"{name}: {_concealed(message, written)}" if message else name


_PATH = re.compile(
    r"""
    (?<=['"]) /[^'"\n]*/ (?=[^/'"\n]+['"])          # '/srv/my data/' of a quoted path
    | \b (?: [a-z][\w+.-]{0,20}:/{3,} | (?:file|smb|cifs|nfs|afp):/+ )
      (?:[^\s/'"<>|]+/)*                            # file:///srv/data/, smb://host/share/
    | (?<![\w/.]) (?: / | ~/ | ~[a-z_][\w-]*/ | (?:\.{1,2}/)+ )
      (?:[^\s/'"<>|]+/)+                            # /srv/data/, ~/data/, ./data/ of a bare one
    | (?<![\w/.]) ~ (?:[a-z_][\w-]*)? /             # ~/
    | (?<!\w) [a-z]: [\\/]+ (?:[^\\/\s'"]+[\\/]+)*    # C:\Users\ada\ of Windows
    | (?<![\w\\]) (?: \\{2} (?:[^\\/\s'"<>|]+ \\(?!\\))+
      | \\{4} (?:[^\\/\s'"<>|]+ \\{2}(?!\\))+ )       # \\host\share\, and with each one escaped
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _concealed(message: str, written: str) -> str:
    head, trace, tail = message.partition("Traceback (most recent call last)")
    if trace:
        message = f"{head}{tail.rstrip().rpartition(chr(10))[2]}"
    return _PATH.sub(lambda found: found[0] if found[0] in written else "…/", message)
