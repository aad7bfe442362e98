"""When a completion is asked for again, and when it is reported."""

from __future__ import annotations

from typing import Any

import pytest
from apis import NOT_FOUND, OLLAMA
from wire_server import as_json, serving

from reactext import Engine
from reactext.backends import NEVER, Retry
from reactext.backends._retry import Patience
from reactext.cancellation import Cancellation
from reactext.errors import (
    CompletionError,
    ContextOverflow,
    ModelMissing,
    ServerBusy,
    ServerFault,
    ServerUnreachable,
    SetupError,
    StreamCut,
)

AT_ONCE = Retry(attempts=3, wait=0, longest_wait=0, busy_seconds=1000)


def tries(policy: Retry, error: CompletionError, most: int = 10) -> int:
    """How often a completion that always fails so is tried."""
    patience = Patience(policy, None)
    return next((n for n in range(1, most) if not patience.again(error)), most)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ServerUnreachable("x"), 3),
        (StreamCut("x"), 3),
        (ServerFault("x", status=500), 3),
        (ServerFault("x", status=400), 1),
        (ServerFault("x"), 1),
        (ModelMissing("x"), 1),
        (ContextOverflow("x"), 1),
        (ServerBusy("x"), 10),
    ],
)
def test_tries_by_class_of_fault(error: CompletionError, expected: int) -> None:
    assert tries(AT_ONCE, error) == expected
    assert tries(NEVER, error) == 1


def test_a_busy_server_is_waited_for_no_longer_than_asked() -> None:
    assert tries(Retry(wait=0.001, busy_seconds=0.0005), ServerBusy("x")) == 1
    late = ServerBusy("x")
    late.retry_after = 1000
    assert tries(Retry(wait=0, busy_seconds=100), late) == 1


def test_the_time_that_the_server_asks_for_is_waited() -> None:
    """Seen by its cancellation, which ends the waiting."""
    cancellation = Cancellation()
    cancellation.cancel()
    error = ServerUnreachable("x")
    error.retry_after = 1000
    assert not Patience(AT_ONCE, cancellation).again(error)


@pytest.mark.parametrize("options", [{"attempts": 0}, {"wait": -1}, {"busy_seconds": -1}])
def test_policies_that_cannot_be(options: dict[str, int]) -> None:
    with pytest.raises(SetupError):
        Retry(**options)


def test_what_was_tried_again_in_vain_is_not_tried_again_by_the_engine() -> None:
    """Nor told twice: each attempt of the engine would be as many attempts here."""
    boom = as_json({"error": "boom"}, 500)
    with serving(lambda asked: [boom if OLLAMA.asks_for_text(asked) else NOT_FOUND]) as server:
        model = OLLAMA.model(server.url, retry=AT_ONCE)
        events: list[Any] = []
        with pytest.raises(ServerFault, match="boom"):
            events.extend(Engine(model=model, tools=[]).stream("x"))
        assert events == []
        assert server.paths() == ["/api/show", *["/api/generate"] * 3]
