"""Actions run side by side, each gets exactly one observation, and limits hold."""

from __future__ import annotations

import asyncio
import functools
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from reactext.asynchronous import Passage
from reactext.cancellation import Cancellation
from reactext.errors import SetupError
from reactext.models import Action, Observation
from reactext.runner import ActionRunner, Proceed
from reactext.running.event_loop import CALLERS_LOOP
from reactext.running.gate import MOST_OVERDUE
from reactext.tools import Retry, RunContext, Tool, Toolbox, tool

LONG = 20.0
"""Seconds that no test waits for, unless it fails."""


def runner(*tools: Callable[..., Any], **options: Any) -> ActionRunner:
    return ActionRunner(Toolbox(tools), backoff=0.001, **options)


def call(number: int, name: str, /, **kwargs: Any) -> Action:
    return Action(id=f"c1.{number}", tool=name, kwargs=kwargs)


def run(
    made: ActionRunner, *actions: Action, context: RunContext | None = None, **options: Any
) -> list[Observation]:
    return list(made.run(actions, context or RunContext(), **options))


@tool
def add(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


def test_group_of_all_kinds_is_observed_in_the_order_of_the_calls() -> None:
    never, fast_done = threading.Event(), threading.Event()

    def fast() -> str:
        fast_done.set()
        return "fast"

    def slow() -> str:
        assert fast_done.wait(LONG)
        return "slow"

    def raising() -> None:
        raise ValueError("no such city")

    @tool(timeout=0.05)
    def hanging() -> None:
        never.wait(LONG)

    def big() -> str:
        return "x" * 5_000_000

    observations = run(
        runner(fast, slow, raising, hanging, big, add),
        call(1, "slow"),
        call(2, "hanging"),
        call(3, "raising"),
        call(4, "fast"),
        call(5, "big"),
        call(6, "subtract", left=1),
        call(7, "add", left="one"),
        call(8, "add", left=1),
        call(9, "add", left=1),
    )
    never.set()
    assert [each.action_id for each in observations] == [f"c1.{n}" for n in range(1, 10)]
    assert [each.status for each in observations] == [
        *("ok", "timeout", "error", "ok", "ok", "error", "error", "ok", "ok")
    ]
    texts = [each.text for each in observations]
    assert texts[0] == "slow"
    assert texts[1] == (
        "hanging gave no result within 0.05 s and is not waited for any longer; "
        "its work may still go on"
    )
    assert texts[2] == "raising failed: ValueError: no such city"
    assert texts[3] == "fast"
    assert texts[4] == "x" * 5_000_000
    assert texts[5].startswith("there is no tool 'subtract'")
    assert texts[6] == (
        'add was not run: left must be int, got "one". Write it like this: add(left=1)'
    )
    assert texts[7:] == ["2", "2"]


def test_traceback_is_for_people_only() -> None:
    def raising() -> None:
        raise ValueError("no")

    [seen] = run(runner(raising), call(1, "raising"))
    assert "Traceback" not in seen.text and __file__ not in seen.text
    assert seen.detail is not None and __file__ in seen.detail
    [seen] = run(runner(raising, debug=True), call(1, "raising"))
    assert "Traceback" in seen.text


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_nothing_that_a_tool_raises_leaves_it(error: BaseException) -> None:
    def raising() -> None:
        raise error

    async def raising_later() -> None:
        await asyncio.sleep(0)
        raise error

    made = runner(raising, raising_later, add)
    seen = run(made, call(1, "raising"), call(2, "raising_later"), call(3, "add", left=1))
    assert [each.status for each in seen] == ["error", "error", "ok"]
    assert type(error).__name__ in seen[0].text and type(error).__name__ in seen[1].text


def test_calls_of_a_turn_meet() -> None:
    barrier = threading.Barrier(4)

    def meet() -> str:
        barrier.wait(LONG)
        return "met"

    seen = run(runner(meet), *(call(n, "meet") for n in range(4)))
    assert [each.text for each in seen] == ["met"] * 4


class Crowd:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.peak = 0

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1


def test_no_more_than_max_parallel_run_at_once() -> None:
    crowd, pair = Crowd(), threading.Barrier(2)

    def meet() -> None:
        with crowd:
            pair.wait(LONG)

    seen = run(runner(meet, max_parallel=2), *(call(n, "meet") for n in range(8)))
    assert {each.status for each in seen} == {"ok"}
    assert crowd.peak == 2


def test_sequential_tool_runs_alone_and_in_its_place() -> None:
    log: list[str] = []
    crowd, both = Crowd(), threading.Barrier(2)

    def look(name: str) -> None:
        both.wait(LONG)
        log.append("look")

    @tool(sequential=True)
    def write(name: str) -> None:
        with crowd:
            log.append(f"write {name}")

    actions = [
        call(1, "look", name="a"),
        call(2, "look", name="b"),
        call(3, "write", name="c"),
        call(4, "write", name="d"),
        call(5, "look", name="e"),
        call(6, "look", name="f"),
    ]
    seen = run(runner(look, write), *actions)
    assert {each.status for each in seen} == {"ok"}
    assert log == ["look", "look", "write c", "write d", "look", "look"]
    assert crowd.peak == 1


def test_max_concurrency_holds_over_all_runs() -> None:
    crowd, pair = Crowd(), threading.Barrier(2)

    @tool(max_concurrency=2)
    def meet() -> None:
        with crowd:
            pair.wait(LONG)

    made = runner(meet)
    started = [made.start(call(n, "meet"), RunContext(f"run {n}")) for n in range(10)]
    assert {each.result().status for each in started} == {"ok"}
    assert crowd.peak == 2


def test_time_is_counted_from_the_start_of_the_tool() -> None:
    # one of the limits is long enough for a tool that does nothing, on any machine
    assert any(statuses_after_waiting(limit) == ["ok", "ok"] for limit in (0.2, 2, 8))


def statuses_after_waiting(limit: float) -> list[str]:
    @tool(timeout=LONG)
    def hold() -> None:
        threading.Event().wait(limit * 2)

    @tool(timeout=limit)
    def quick() -> None: ...

    made = runner(hold, quick, max_parallel=1)
    return [each.status for each in run(made, call(1, "hold"), call(2, "quick"))]


@pytest.mark.parametrize(
    ("most", "hanging", "says"),
    [
        (None, MOST_OVERDUE, f"{MOST_OVERDUE} earlier calls of it are past the time limit"),
        (1, 1, "1 earlier call of it is past the time limit"),
    ],
)
def test_hanging_tools_do_not_clog_the_others(most: int | None, hanging: int, says: str) -> None:
    never = threading.Event()

    @tool(timeout=0.01, max_concurrency=most)
    def hang() -> None:
        never.wait(LONG)

    made = runner(hang, add, max_parallel=16)
    seen = run(made, *(call(n, "hang") for n in range(hanging)))
    assert {each.status for each in seen} == {"timeout"}
    refused, works = run(made, call(1, "hang"), call(2, "add", left=1))
    assert refused.status == "error"
    assert says in refused.text
    assert works.text == "2"
    never.set()


def test_async_tools_share_one_loop() -> None:
    loops: set[int] = set()
    barriers: list[asyncio.Barrier] = []

    async def meet(count: int) -> str:
        loops.add(id(asyncio.get_running_loop()))
        if not barriers:
            barriers.append(asyncio.Barrier(count))
        await barriers[0].wait()
        return "met"

    seen = run(runner(meet), *(call(n, "meet", count=3) for n in range(3)))
    assert [each.text for each in seen] == ["met"] * 3
    assert len(loops) == 1


def test_async_tool_is_cancelled_at_its_limit() -> None:
    ended = threading.Event()

    @tool(timeout=0.02)
    async def sleep() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            ended.set()

    [seen] = run(runner(sleep), call(1, "sleep"))
    assert seen.status == "timeout"
    # whether it has stopped by then is a matter of its grace
    assert seen.text.startswith("sleep gave no result within 0.02 s")
    assert ended.wait(LONG)


def test_async_tool_that_blocks_its_loop_is_left_behind() -> None:
    release = threading.Event()

    @tool(timeout=0.02)
    async def block() -> None:
        release.wait(LONG)

    async def work() -> str:
        await asyncio.sleep(0)
        return "worked"

    made = runner(block, work)
    [blocked] = run(made, call(1, "block"))
    assert blocked.text.endswith("its work may still go on")
    assert [each.text for each in run(made, call(1, "work"))] == ["worked"]
    release.set()


def test_call_does_not_wait_for_a_loop_that_is_blocked() -> None:
    began, release = threading.Event(), threading.Event()

    async def block() -> None:
        began.set()
        release.wait(LONG)

    async def work() -> str:
        release.set()
        return "worked"

    made = runner(block, work)
    blocked = made.start(call(1, "block"), RunContext())
    assert began.wait(LONG)
    [seen] = run(made, call(2, "work"))
    assert seen.text == "worked" and blocked.result().status == "ok"


def test_async_tools_run_in_the_loop_of_an_async_caller() -> None:
    async def which() -> bool:
        return asyncio.get_running_loop() is CALLERS_LOOP.get()

    async def caller() -> list[Observation]:
        return [await Passage(made.run([call(1, "which")], RunContext())).take()]

    made = runner(which)
    assert [each.text for each in asyncio.run(caller())] == ["true"]
    assert [each.text for each in run(made, call(1, "which"))] == ["false"]


def test_async_generators_and_sync_functions_that_return_coroutines() -> None:
    async def stream() -> AsyncIterator[int]:
        yield 1
        yield 2

    async def later(number: int) -> int:
        await asyncio.sleep(0)
        return number

    class Service:
        async def __call__(self, number: int) -> int:
            return number

    wrapped = tool(lambda number: later(number), name="wrapped")
    partial = tool(functools.partial(later, 3), name="partial")
    made = runner(stream, wrapped, partial, tool(Service(), name="service"))
    seen = run(
        made,
        call(1, "stream"),
        call(2, "wrapped", number=5),
        call(3, "partial"),
        call(4, "service", number=7),
    )
    assert [each.text for each in seen] == ["[1, 2]", "5", "3", "7"]


def test_what_is_slow_to_write_is_under_the_limit_too() -> None:
    release = threading.Event()

    class Slow:
        def __str__(self) -> str:
            release.wait(LONG)
            return "slow"

    def endless() -> Iterator[int]:
        release.wait(LONG)
        yield 1

    async def later() -> Slow:
        return Slow()

    made = runner(tool(Slow, name="slow"), endless, later, tool_timeout=0.05)
    seen = run(made, call(1, "slow"), call(2, "endless"), call(3, "later"))
    release.set()
    assert [each.status for each in seen] == ["timeout"] * 3


def test_cancelling_ends_the_waiting_and_tells_the_tools() -> None:
    run_cancellation, began, told = Cancellation(), threading.Event(), threading.Event()

    def work(context: RunContext) -> str:
        began.set()
        if context.cancellation.wait(LONG) and context.cancelled:
            told.set()
        return "late"

    async def sleep() -> None:
        await asyncio.sleep(LONG)

    made = runner(work, sleep, add, max_parallel=2)
    context = RunContext("run", cancellation=run_cancellation)
    observations = made.run([call(1, "work"), call(2, "sleep"), call(3, "add", left=1)], context)

    def cancel() -> None:
        began.wait(LONG)
        run_cancellation.cancel("enough")

    threading.Thread(target=cancel).start()
    seen = list(observations)
    assert [each.action_id for each in seen] == ["c1.1", "c1.2", "c1.3"]
    assert seen[0].text.startswith("work is not waited for any longer: the run was cancelled")
    assert "the run was cancelled" in seen[1].text
    assert (seen[2].status, seen[2].text) == (
        "skipped",
        "add gave no result before the run was cancelled; it was not run",
    )
    assert told.wait(LONG)


def test_tool_is_told_when_its_time_is_up() -> None:
    told = threading.Event()

    @tool(timeout=0.02)
    def work(context: RunContext) -> None:
        if context.cancellation.wait(LONG):
            told.set()

    context = RunContext()
    [seen] = run(runner(work), call(1, "work"), context=context)
    assert seen.status == "timeout" and told.wait(LONG)
    assert not context.cancelled


def test_cancelled_before_it_began() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    context = RunContext(cancellation=cancellation)
    [seen] = run(runner(add), call(1, "add", left=1), context=context)
    assert seen.status == "skipped"


def test_cancelling_does_not_wait_for_a_hook() -> None:
    cancellation, asked, release = Cancellation(), threading.Event(), threading.Event()

    def around(action: Action, _: RunContext, proceed: Proceed) -> Observation:
        asked.set()
        release.wait(LONG)
        return proceed(action)

    made = runner(add)
    context = RunContext(cancellation=cancellation)
    pending = made.start(call(1, "add", left=1), context, around=around)
    assert asked.wait(LONG)
    cancellation.cancel()
    seen = pending.result()
    release.set()
    assert seen.status == "skipped" and "before the run was cancelled" in seen.text


def test_ctrl_c_while_waiting_is_raised_at_once_and_cancels_the_run() -> None:
    told = threading.Event()

    def interrupt(context: RunContext) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if context.cancellation.wait(LONG):
            told.set()

    context = RunContext()
    with pytest.raises(KeyboardInterrupt):
        run(runner(interrupt), call(1, "interrupt"), context=context)
    assert context.cancelled and told.wait(LONG)


def test_leaving_before_the_end_cancels_the_run() -> None:
    def wait(context: RunContext) -> None:
        context.cancellation.wait(LONG)

    made, context = runner(add, wait), RunContext()
    observations = made.run([call(1, "add", left=1), call(2, "wait")], context)
    assert next(observations).text == "2"
    observations.close()  # type: ignore[attr-defined]
    assert context.cancelled


def test_leaving_after_the_last_observation_cancels_nothing() -> None:
    context = RunContext()
    observations = runner(add).run([call(1, "add", left=1)], context)
    next(observations)
    observations.close()  # type: ignore[attr-defined]
    assert not context.cancelled


def flaky(error: Exception, failures: int, **options: Any) -> tuple[Tool, list[int]]:
    """Make a tool that raises so often before it returns."""
    calls: list[int] = []

    def fetch() -> str:
        calls.append(1)
        if len(calls) <= failures:
            raise error
        return "fetched"

    return tool(fetch, **options), calls


RETRIES: list[tuple[Exception, int, dict[str, Any], str, int]] = [
    (OSError("down"), 2, {"retries": 2, "idempotent": True}, "fetched", 3),
    (OSError("down"), 3, {"retries": 2, "idempotent": True}, "OSError: down (3 attempts)", 3),
    (OSError("down"), 1, {"retries": 2}, "OSError: down", 1),
    (OSError("down"), 1, {"idempotent": True}, "OSError: down", 1),
    (Retry("busy"), 2, {}, "fetched", 3),
    (Retry("busy"), 9, {}, "Retry: busy (3 attempts)", 3),
    (Retry("busy"), 4, {"retries": 4}, "fetched", 5),
    (Retry("busy", delay=3600), 1, {}, "Retry: busy", 1),
]


@pytest.mark.parametrize(("error", "failures", "options", "text", "attempts"), RETRIES)
def test_retries(
    error: Exception, failures: int, options: dict[str, Any], text: str, attempts: int
) -> None:
    made, calls = flaky(error, failures, **options)
    [seen] = run(runner(made), call(1, "fetch"))
    assert seen.text in (text, f"fetch failed: {text}")
    assert (seen.attempts, len(calls)) == (attempts, attempts)


@pytest.mark.parametrize("annotation", [list[int], list, Any, dict[str, Any]])
def test_each_attempt_has_arguments_of_its_own(annotation: Any) -> None:
    got: list[str] = []
    given_value: Any = {"a": [1, 2]} if annotation == dict[str, Any] else [1, 2]

    def take(items: Any) -> str:
        got.append(repr(items))
        (items["a"] if isinstance(items, dict) else items).pop()
        raise Retry("busy")

    take.__annotations__["items"] = annotation
    action = call(1, "take", items=given_value)
    [seen] = run(runner(take), action)
    assert (seen.attempts, set(got)) == (3, {repr(given_value)})
    assert action.kwargs == {"items": {"a": [1, 2]} if isinstance(given_value, dict) else [1, 2]}


def test_cancelling_ends_the_wait_for_another_attempt() -> None:
    cancellation = Cancellation()

    def fetch() -> None:
        threading.Thread(target=cancellation.cancel).start()
        raise Retry("busy", delay=LONG)

    [seen] = run(runner(fetch), call(1, "fetch"), context=RunContext(cancellation=cancellation))
    assert seen.status == "error" and seen.attempts == 1


VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="unset")


def test_context_variables_reach_the_tools() -> None:
    def read() -> str:
        return VARIABLE.get()

    async def read_later() -> str:
        return VARIABLE.get()

    made = runner(read, read_later)
    token = VARIABLE.set("of the caller")
    seen = run(made, call(1, "read"), call(2, "read_later"))
    VARIABLE.reset(token)
    assert [each.text for each in seen] == ["of the caller"] * 2


def test_run_context_is_filled_in() -> None:
    def tell(context: RunContext, word: str) -> str:
        return f"{context.run_id} {context.step} {context.deps['user']} {word}"

    context = RunContext("r1", 3, deps={"user": "Ada"})
    [seen] = run(runner(tell), call(1, "tell", word="hello"), context=context)
    assert seen.text == "r1 3 Ada hello"


def test_around_sees_every_action_and_what_it_changes_is_validated_again() -> None:
    seen_actions: list[str] = []

    def around(action: Action, context: RunContext, proceed: Proceed) -> Observation:
        seen_actions.append(f"{context.run_id} {action.id}")
        kwargs = {"left": action.kwargs["left"], "right": "ten" if action.id == "c1.2" else 10}
        inner = proceed(action.model_copy(update={"kwargs": kwargs}))
        return inner.model_copy(update={"action_id": "another", "text": f"<{inner.text}>"})

    seen = run(
        runner(add),
        call(1, "add", left=1),
        call(2, "add", left=2),
        context=RunContext("r"),
        around=around,
    )
    assert sorted(seen_actions) == ["r c1.1", "r c1.2"]
    assert [each.action_id for each in seen] == ["c1.1", "c1.2"]
    assert seen[0].text == "<11>"
    assert 'right must be int, got "ten"' in seen[1].text


def test_what_is_raised_around_an_action_is_raised_to_the_caller() -> None:
    class StopError(Exception):
        pass

    def around(action: Action, _: RunContext, proceed: Proceed) -> Observation:
        raise StopError

    context = RunContext()
    with pytest.raises(StopError):
        run(runner(add), call(1, "add", left=1), around=around, context=context)
    assert not context.cancelled


def test_started_calls_are_waited_for_and_not_run_again() -> None:
    calls: list[str] = []

    def look(name: str) -> str:
        calls.append(name)
        return name

    made, context = runner(look), RunContext()
    first, second = call(1, "look", name="a"), call(2, "look", name="b")
    started = {"c1.1": made.start(first, context), "c1.2": made.start(second, context)}
    changed = call(2, "look", name="c")
    seen = run(made, first, changed, call(3, "look", name="d"), context=context, started=started)
    started["c1.2"].result()
    assert [each.text for each in seen] == ["a", "c", "d"]
    assert sorted(calls) == ["a", "b", "c", "d"]


PROBLEMS = [
    (
        "the arguments cannot be read",
        "the arguments cannot be read. Write it like this: add(left=1)",
    ),
    ("a variable is no value.", "a variable is no value. Write it like this: add(left=1)"),
    ("write add(left=1)", "write add(left=1)"),
]


@pytest.mark.parametrize(("problem", "text"), PROBLEMS)
def test_call_with_a_problem_is_answered_without_being_run(problem: str, text: str) -> None:
    action = Action(id="c1.1", tool="add", problem=problem)
    [seen] = run(runner(add), action)
    assert (seen.status, seen.text) == ("error", text)


def test_positional_arguments_are_bound() -> None:
    [seen] = run(runner(add), Action(id="c1.1", tool="add", args=("3", 4)))
    assert seen.text == "7"


OPTIONS = [
    ({"tool_timeout": 0}, "tool_timeout=0"),
    ({"max_parallel": 0}, "max_parallel=0"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        runner(add, **options)


def test_no_limit_at_all() -> None:
    made = runner(add, tool_timeout=None)
    assert [each.text for each in run(made, call(1, "add", left=1))] == ["2"]


def test_a_hundred_runs_at_once_keep_apart() -> None:
    made = runner(add)
    results: dict[int, list[str]] = {}

    def one(number: int) -> None:
        actions = [call(n, "add", left=number * 100, right=n) for n in range(5)]
        results[number] = [each.text for each in run(made, *actions)]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(100)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results == {number: [str(number * 100 + n) for n in range(5)] for number in range(100)}


def test_hanging_tool_does_not_hold_up_the_end_of_the_interpreter() -> None:
    program = """
import threading
from reactext.models import Action
from reactext.runner import ActionRunner
from reactext.tools import RunContext, Toolbox, tool

@tool(timeout=0.01)
def hang() -> None:
    threading.Event().wait()

@tool(timeout=0.01)
async def block() -> None:
    threading.Event().wait()

made = ActionRunner(Toolbox([hang, block]))
actions = [Action(id="c1.1", tool="hang"), Action(id="c1.2", tool="block")]
print([each.status for each in made.run(actions, RunContext())])
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.strip() == "['timeout', 'timeout']"
    assert ended.stderr == ""
