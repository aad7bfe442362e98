"""The turn that a case wants, as it is written in a case file: the canonical form itself.

    Thought: Two days will do.
    Action: get_weather(city="Oslo", days=2)
    Action: search("fjords")
    or
    error: no tool is named

A thought is compared only where one is wanted. A call stands on one line, its values are JSON, and
``?`` in its place stands for arguments that cannot be read. The text of an answer runs to the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import Field

from reactext.canonical import call_text
from reactext.errors import TurnError
from reactext.models import Turn, Value


class Call(Value):
    """A call that is wanted; ``is_readable`` is False where its arguments should not be."""

    tool: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = Field(default_factory=dict)
    is_readable: bool = True


class Outcome(Value):
    """What a text is read as: calls, an answer or an error.

    ``problem`` is a part of the error's sentence; "" is any error. What is None in an outcome
    that is wanted is not compared, if it is reasoning, and must not be there, if it is not.
    """

    thinking: str | None = None
    thought: str | None = None
    calls: tuple[Call, ...] = ()
    answer: str | None = None
    problem: str | None = None


class NotationError(Exception):
    """A line does not say what is wanted; ``line`` counts from 0."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def outcome_of(reading: Turn | TurnError) -> Outcome:
    """Return what a reading came to."""
    if isinstance(reading, TurnError):
        return Outcome(problem=reading.problem)
    calls = (
        Call(tool=each.tool, args=each.args, kwargs=each.kwargs, is_readable=each.problem is None)
        for each in reading.actions
    )
    return Outcome(
        thinking=reading.thinking or None,
        thought=reading.thought or None,
        calls=tuple(calls),
        answer=reading.answer,
    )


def outcome_text(outcome: Outcome) -> str:
    """Write an outcome as it stands in a case file."""
    lines = []
    if outcome.thinking is not None:
        lines.append(f"Thinking: {outcome.thinking}")
    if outcome.thought is not None:
        lines.append(f"Thought: {outcome.thought}")
    lines += [f"Action: {_call_text(each)}" for each in outcome.calls]
    if outcome.answer is not None:
        lines.append(f"Final Answer: {outcome.answer}")
    if outcome.problem is not None:
        lines.append(f"error: {outcome.problem}" if outcome.problem else "error")
    return "\n".join(lines)


def _call_text(call: Call) -> str:
    if not call.is_readable:
        return f"{call.tool}(?)"
    return call_text(call.tool, call.args, call.kwargs)


_HEAD = re.compile(r"(Thinking|Thought|Action|Final Answer):(?: |\Z)|error(?:: |\Z)")


def read_outcomes(lines: list[str], unescaped: Callable[[str], str] = str) -> tuple[Outcome, ...]:
    """Read the outcomes that are wanted, one or the other. Raises `NotationError`.

    The texts of thoughts and answers go through ``unescaped``; a call has the escapes of JSON.
    """
    starts = [0]
    for number, line in enumerate(lines):
        if line == "or" and number + 1 < len(lines) and _HEAD.match(lines[number + 1]):
            starts.append(number + 1)
    ends = [start - 1 for start in starts[1:]] + [len(lines)]
    return tuple(
        _outcome(lines[start:end], start, unescaped)
        for start, end in zip(starts, ends, strict=True)
    )


def _outcome(lines: list[str], first: int, unescaped: Callable[[str], str]) -> Outcome:
    fields: dict[str, Any] = {}
    calls: list[Call] = []
    for number, name, content in _parts(lines):
        where = first + number
        if name != "Action" and name in fields:
            raise NotationError(where, f"{name!r} stands twice")
        if name in ("Thinking", "Thought") and (calls or "Final Answer" in fields):
            raise NotationError(where, f"{name!r} stands before the actions and the answer")
        if name == "Action":
            calls.append(_call(content, where))
        else:
            fields[name] = unescaped(content)
    kinds = [bool(calls), "Final Answer" in fields, "error" in fields]
    if sum(kinds) != 1:
        problem = "say what is wanted: Action lines, or Final Answer, or error, and one of them"
        raise NotationError(first, problem)
    return Outcome(
        thinking=fields.get("Thinking"),
        thought=fields.get("Thought"),
        calls=tuple(calls),
        answer=fields.get("Final Answer"),
        problem=fields.get("error"),
    )


def _parts(lines: list[str]) -> Iterable[tuple[int, str, str]]:
    """Cut at the heads; an answer takes all that follows, a call or an error its own line."""
    number = 0
    while number < len(lines):
        head = _HEAD.match(lines[number])
        if head is None:
            problem = (
                f"{lines[number]!r} begins with none of Thought:, Action:, Final Answer:, error"
            )
            raise NotationError(number, problem)
        name = head[1] or "error"
        end = number + 1
        if name == "Final Answer":
            end = len(lines)
        elif name in ("Thinking", "Thought"):
            while end < len(lines) and not _HEAD.match(lines[end]):
                end += 1
        yield number, name, "\n".join([lines[number][head.end() :], *lines[number + 1 : end]])
        number = end


_NAME = re.compile(r"([^\s=,()\[\]{}\"]+)=")
_JSON = json.JSONDecoder()


def _call(written: str, line: int) -> Call:
    tool, bracket, rest = written.partition("(")
    if not tool.strip() or not bracket or not rest.endswith(")"):
        raise NotationError(line, f'{written!r} is no call such as get_weather(city="Oslo")')
    if rest == "?)":
        return Call(tool=tool, is_readable=False)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    position = 0
    while position < len(rest) - 1:
        name = _NAME.match(rest, position)
        try:
            value, position = _JSON.raw_decode(rest, name.end() if name else position)
        except ValueError as error:
            place = rest[name.end() if name else position : -1]
            raise NotationError(line, f"no JSON value at {place!r}") from error
        if name is None:
            args.append(value)
        elif name[1] in kwargs:
            raise NotationError(line, f"{name[1]!r} is given twice")
        else:
            kwargs[name[1]] = value
        if not rest.startswith(", ", position) and position != len(rest) - 1:
            raise NotationError(
                line, f"a comma and a space, or the end, is missing before {rest[position:]!r}"
            )
        position += 2 * (position < len(rest) - 1)
    return Call(tool=tool, args=tuple(args), kwargs=kwargs)
