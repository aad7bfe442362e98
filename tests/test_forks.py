"""A forked child runs tools, whatever its parent was doing when it forked."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from reactext.forking import ForkLock
from reactext.models import Action
from reactext.runner import ActionRunner
from reactext.tools import RunContext, Toolbox, tool

LONG = 20.0
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="wants fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def in_child(work: Callable[[], bool]) -> bool:
    """Return what the work says in a forked child, False if it takes too long."""
    child = os.fork()
    if not child:
        threading.Timer(LONG, os._exit, (1,)).start()
        os._exit(0 if work() else 1)
    return os.waitpid(child, 0)[1] == 0


def test_a_tool_that_may_run_once_at_a_time_runs_in_the_child() -> None:
    began, release = threading.Event(), threading.Event()

    @tool(max_concurrency=1)
    def hold(wait: bool = False) -> str:
        """Hold."""
        if wait:
            began.set()
            release.wait(LONG)
        return "held"

    runner = ActionRunner(Toolbox([hold]))

    def call(wait: bool) -> Action:
        return Action(id="c1.1", tool="hold", kwargs={"wait": wait})

    pending = runner.start(call(True), RunContext())
    assert began.wait(LONG)
    try:
        assert in_child(
            lambda: (
                [each.text for each in runner.run([call(False)] * 2, RunContext())] == ["held"] * 2
            )
        )
    finally:
        release.set()
    assert pending.result().text == "held"
    assert [each.text for each in runner.run([call(False)], RunContext())] == ["held"]


def test_a_tool_that_forks_leaves_its_gate_in_both(tmp_path: Path) -> None:
    @tool(max_concurrency=1)
    def fork() -> str:
        """Fork."""
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        return "forked"

    runner = ActionRunner(Toolbox([fork]))
    for _ in range(2):
        actions = [Action(id="c1.1", tool="fork")]
        assert [each.text for each in runner.run(actions, RunContext())] == ["forked"]


def test_a_lock_is_free_in_the_child() -> None:
    lock, held, release = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait(LONG)

    threading.Thread(target=hold).start()
    assert held.wait(LONG)

    def take() -> bool:
        with lock:
            return True

    try:
        assert in_child(take)
    finally:
        release.set()
