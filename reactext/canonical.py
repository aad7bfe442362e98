"""Writes values, calls and turns in the one form that the prompts ask for.

``parse`` of what is written here gives back what was put in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

SEPARATOR = " || "


def value_text(value: Any) -> str:
    """Write an argument's value: JSON, Unicode kept."""
    return json.dumps(value, ensure_ascii=False)


def call_text(tool: str, args: Iterable[Any] = (), kwargs: Mapping[str, Any] | None = None) -> str:
    """Write one call: ``get_weather(city="Oslo", days=2)``."""
    parts = [value_text(value) for value in args]
    parts += [f"{name}={value_text(value)}" for name, value in (kwargs or {}).items()]
    return f"{tool}({', '.join(parts)})"
