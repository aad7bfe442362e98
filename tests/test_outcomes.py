"""What a tool returns or raises, however odd: an observation, and a traceback that begins in it."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from reactext.errors import SetupError
from reactext.models import Action, Observation
from reactext.observing import MOST_ITEMS
from reactext.runner import ActionRunner
from reactext.tools import Retry, RunContext, Toolbox, tool


def observed(function: Callable[..., Any], **kwargs: Any) -> Observation:
    made = tool(function, name="made")
    runner = ActionRunner(Toolbox([made]), backoff=0.001, tool_timeout=10)
    [seen] = runner.run([Action(id="c1.1", tool="made", kwargs=kwargs)], RunContext())
    return seen


def breaking() -> Iterator[int]:
    yield 1
    raise LookupError("no more")


async def breaking_later() -> AsyncIterator[int]:
    yield 1
    raise LookupError("no more")


async def gives_breaking() -> Iterator[int]:
    return breaking()


def gives_breaking_later() -> AsyncIterator[int]:
    return breaking_later()


@pytest.mark.parametrize(
    "function", [breaking, breaking_later, gives_breaking, gives_breaking_later]
)
def test_what_a_generator_raises_is_the_tools_error(function: Callable[..., Any]) -> None:
    seen = observed(function)
    assert (seen.status, seen.text) == ("error", "made failed: LookupError: no more")


def test_a_generator_without_an_end_is_closed() -> None:
    closed: list[str] = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("sync")

    async def endless_later() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("async")

    for function in (endless, endless_later):
        assert f"only the first {MOST_ITEMS} items" in observed(function).text
    assert closed == ["sync", "async"]


class Hostile:
    @property
    def tolist(self) -> Any:
        raise SystemExit(1)

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


class Shy(BaseException):
    def __str__(self) -> str:
        raise ValueError


class Stubborn(BaseException):
    def __str__(self) -> str:
        raise SystemExit


def cyclic() -> Any:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def nested() -> Any:
    value: Any = "x"
    for _ in range(100_000):
        value = [value]
    return value


def deep(number: int = 0) -> int:
    return deep(number + 1)


def closes_stdin() -> str:
    sys.stdin.close()
    return "closed"


def returns_exception() -> Any:
    return ValueError("a value")


def raises(error: BaseException) -> Callable[[], None]:
    def raising() -> None:
        raise error

    return raising


ODD: list[tuple[Callable[..., Any], str]] = [
    (Hostile, "error"),
    (lambda: [Hostile()], "error"),
    (lambda: {"a": (each for each in [1, 2])}, "ok"),
    (cyclic, "ok"),
    (nested, "ok"),
    (deep, "error"),
    (returns_exception, "ok"),
    (lambda: "x" * 10_000_000, "ok"),
    (lambda: "\ud800", "ok"),
    (lambda: b"\xff\x00", "ok"),
    (lambda: math.nan, "ok"),
    (lambda: NotImplemented, "ok"),
    (lambda: Hostile, "ok"),
    (lambda: iter([]), "ok"),
    *((raises(error), "error") for error in (SystemExit(0), StopIteration(), GeneratorExit())),
    *((raises(error), "error") for error in (Shy(), asyncio.CancelledError(), MemoryError())),
    (raises(BaseExceptionGroup("several", [Shy(), ValueError()])), "error"),
    (raises(Stubborn()), "error"),
    (raises(Retry("x", delay=1e9)), "error"),
]


@pytest.mark.parametrize(("function", "status"), ODD)
def test_whatever_a_tool_does_is_one_observation(function: Callable[..., Any], status: str) -> None:
    seen = observed(function)
    assert seen.status == status
    assert seen.text
    seen.model_dump_json()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_traceback_begins_at_the_tools_own_frame(is_async: bool) -> None:
    def inside() -> None:
        raise ValueError("no")

    def sync() -> None:
        inside()

    async def later() -> None:
        await asyncio.sleep(0)
        inside()

    detail = observed(later if is_async else sync).detail
    assert detail is not None
    frames = [line.strip() for line in detail.split("\n") if line.strip().startswith("File ")]
    assert [each.rpartition("in ")[2] for each in frames] == [
        "later" if is_async else "sync",
        "inside",
    ]


@pytest.mark.parametrize("delay", ["2", None, math.nan, -1, True])
def test_a_wrong_delay_is_told_where_it_is_given(delay: Any) -> None:
    with pytest.raises(SetupError, match="delay="):
        Retry("busy", delay=delay)

    def busy() -> None:
        raise Retry("busy", delay=delay)

    seen = observed(busy)
    assert seen.status == "error"
    assert "must be a number of at least 0" in seen.text
    assert seen.attempts == 1


def test_arguments_nested_deeper_than_python_likes_are_refused() -> None:
    def take(value: list[Any]) -> str:
        return "taken"

    value: Any = []
    for _ in range(5000):
        value = [value]
    seen = observed(take, value=value)
    assert (seen.status, seen.attempts) in {("error", 0), ("ok", 1)}
    assert "Traceback" not in seen.text
