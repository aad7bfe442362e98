"""Whatever a turn holds and whenever it is cancelled, each call gets exactly one observation."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reactext.cancellation import Cancellation
from reactext.models import Action
from reactext.runner import ActionRunner
from reactext.tools import Retry, RunContext, Toolbox, tool


@tool
def fast(number: int) -> int:
    return number


@tool
def slow(number: int) -> int:
    threading.Event().wait(0.002)
    return number


@tool
async def later(number: int) -> int:
    await asyncio.sleep(0.001)
    return number


@tool(sequential=True)
def alone(number: int) -> int:
    return number


@tool(max_concurrency=1)
def one_by_one(number: int) -> int:
    return number


@tool(timeout=0.001)
def late(number: int, context: RunContext) -> int:
    context.cancellation.wait(5)
    return number


@tool(timeout=0.001)
async def late_later(number: int) -> int:
    await asyncio.sleep(5)
    return number


@tool
def raising(number: int) -> int:
    raise SystemExit(number)


@tool
def again(number: int) -> int:
    raise Retry("busy")


TOOLS = Toolbox([fast, slow, later, alone, one_by_one, late, late_later, raising, again])
RUNNER = ActionRunner(TOOLS, max_parallel=3, backoff=0.0001)
EXPECTED = {
    **dict.fromkeys(("fast", "slow", "later", "alone", "one_by_one"), "ok"),
    **dict.fromkeys(("late", "late_later"), "timeout"),
    **dict.fromkeys(("raising", "again", "unknown", "wrong"), "error"),
}


def action(number: int, kind: str) -> Action:
    kwargs: dict[str, Any] = {"number": number} if kind != "wrong" else {"number": "x"}
    return Action(id=f"c1.{number}", tool="fast" if kind == "wrong" else kind, kwargs=kwargs)


KINDS = st.lists(st.sampled_from(sorted(EXPECTED)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(KINDS, st.sets(st.integers(0, 11)))
def test_each_call_gets_its_own_observation(kinds: list[str], early: set[int]) -> None:
    context = RunContext()
    actions = [action(number, kind) for number, kind in enumerate(kinds)]
    started = {
        each.id: RUNNER.start(each, context) for each in actions if int(each.id[3:]) in early
    }
    seen = list(RUNNER.run(actions, context, started=started))
    assert [each.action_id for each in seen] == [each.id for each in actions]
    assert [each.status for each in seen] == [EXPECTED[kind] for kind in kinds]
    for number, each in enumerate(seen):
        assert each.status != "ok" or each.text == str(number)


@settings(max_examples=60, deadline=None)
@given(KINDS, st.floats(0, 0.01))
def test_cancelling_at_any_moment_loses_nothing(kinds: list[str], seconds: float) -> None:
    cancellation = Cancellation()
    actions = [action(number, kind) for number, kind in enumerate(kinds)]
    timer = threading.Timer(seconds, cancellation.cancel)
    timer.start()
    seen = list(RUNNER.run(actions, RunContext(cancellation=cancellation)))
    timer.join()
    assert [each.action_id for each in seen] == [each.id for each in actions]
    for kind, each in zip(kinds, seen, strict=True):
        assert each.status in {EXPECTED[kind], "skipped", "error"}
