"""Writes values, calls and turns in the one form that the prompts ask for.

``parse`` of what is written here gives back what was put in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from reactext.models import Action, Turn
from reactext.protocol import CallSyntax, Protocol


def value_text(value: Any) -> str:
    """Write an argument's value: JSON, Unicode kept; what JSON does not know, as its text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def call_text(
    tool: str,
    args: Iterable[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    syntax: CallSyntax | None = None,
) -> str:
    """Write one call: ``get_weather(city="Oslo", days=2)``."""
    syntax = syntax or CallSyntax()
    parts = [value_text(value) for value in args]
    parts += [
        syntax.argument.format(name=name, value=value_text(value))
        for name, value in (kwargs or {}).items()
    ]
    return syntax.call.format(tool=tool, arguments=syntax.comma.join(parts))


def turn_text(turn: Turn, protocol: Protocol | None = None) -> str:
    """Write a turn as a model should: its thought, then its calls or its answer."""
    protocol = protocol or Protocol()
    lines = [f"{protocol.label('thought')} {turn.thought}"] if turn.thought else []
    if turn.actions:
        calls = protocol.calls.separator.join(_action_text(each, protocol) for each in turn.actions)
        lines.append(f"{protocol.label('action')} {calls}")
    elif turn.answer is not None:
        lines.append(f"{protocol.label('answer')} {turn.answer}")
    return "\n".join(lines)


def _action_text(action: Action, protocol: Protocol) -> str:
    return call_text(action.tool, action.args, action.kwargs, syntax=protocol.calls)
