"""Measures what running an action costs beside the tool: python benchmarks/runner.py

Prints the overhead of one call, alone and in a group, of a sync and of an async tool, inside and
outside of hooks, and what a thousand runs at once take in time, threads and memory.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable

from reactext.arguments import validate
from reactext.models import Action, Observation
from reactext.runner import ActionRunner, Proceed
from reactext.tools import RunContext, Toolbox, tool

RUNS, STEPS = 1000, 5


@tool
def add(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


@tool
async def add_later(left: int, right: int = 1) -> int:
    """Add two numbers, in an event loop."""
    return left + right


@tool
def pause(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "done"


def around(action: Action, _: RunContext, proceed: Proceed) -> Observation:
    return proceed(action)


def action(name: str, number: int = 1) -> Action:
    return Action(id=f"c1.{number}", tool=name, kwargs={"left": number})


def microseconds(work: Callable[[], object], times: int, per: int = 1) -> float:
    """Return the time of one piece of work, the best of five rounds."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, time.perf_counter() - began)
    return best / times / per * 1e6


def overheads(runner: ActionRunner) -> None:
    context = RunContext()
    group = [action("add", number) for number in range(8)]
    lines: list[tuple[str, Callable[[], object], int]] = [
        ("validation of its arguments", lambda: validate(add, {"left": "3", "right": 2}), 1),
        ("one call, sync", lambda: list(runner.run([action("add")], context)), 1),
        ("one call, async", lambda: list(runner.run([action("add_later")], context)), 1),
        ("in a hook", lambda: list(runner.run([action("add")], context, around=around)), 1),
        ("in a group of eight", lambda: list(runner.run(group, context)), 8),
    ]
    for name, work, per in lines:
        print(f"{name:30} {microseconds(work, 300, per):8.0f} µs a call")


def crowd(runner: ActionRunner, seconds: float) -> None:
    """Start all runs at once; each calls its tool so many times, one after the other."""
    peak, ended, wrong = 0, threading.Event(), 0

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.005):
            peak = max(peak, threading.active_count())

    def one(number: int) -> None:
        nonlocal wrong
        for step in range(STEPS):
            if seconds:
                call = Action(id=f"c{step}.1", tool="pause", kwargs={"seconds": seconds})
                expected = "done"
            else:
                call = Action(id=f"c{step}.1", tool="add", kwargs={"left": number, "right": step})
                expected = str(number + step)
            [seen] = runner.run([call], RunContext(str(number)))
            wrong += seen.text != expected

    watcher = threading.Thread(target=watch)
    watcher.start()
    runs = [threading.Thread(target=one, args=(number,)) for number in range(RUNS)]
    began = time.perf_counter()
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    taken = time.perf_counter() - began
    ended.set()
    watcher.join()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{RUNS} runs x {STEPS} calls of {seconds:g} s: {taken:.2f} s "
        f"(ideal {STEPS * seconds:.2f} s), at most {peak} threads, {RUNS} of them the runs' own, "
        f"{memory:.0f} MB, {wrong} wrong"
    )


if __name__ == "__main__":
    shared = ActionRunner(Toolbox([add, add_later, pause]))
    overheads(shared)
    crowd(shared, 0.0)
    crowd(shared, 0.1)
    crowd(shared, 1.0)
