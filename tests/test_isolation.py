"""Tools in processes of their own: what they give comes back, and they can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import reactext
from reactext.cancellation import Cancellation
from reactext.errors import SetupError
from reactext.models import Action, Observation
from reactext.runner import ActionRunner
from reactext.tools import RunContext, Toolbox, tool

LONG = 30.0


class Place(BaseModel):
    city: str


@tool(isolation="process", timeout=LONG)
def describe(place: Place, context: RunContext) -> dict[str, Any]:
    """Tell where and in which process."""
    return {
        "city": place.city,
        "run": context.run_id,
        "deps": context.deps,
        "apart": os.getpid() != context.deps,
    }


@tool(isolation="process", timeout=LONG)
async def later(number: int) -> int:
    """Double a number, in time."""
    return number * 2


@tool(isolation="process", timeout=LONG)
def raising() -> None:
    """Raise."""
    raise ValueError("no such city in /srv/app/cities.db")


@tool(isolation="process", timeout=LONG)
def leaving() -> None:
    """End the process."""
    os._exit(3)


@tool(isolation="process")
def hang(path: str) -> None:
    """Start another process, and hang."""
    child = os.fork()
    if child:
        Path(path).write_text(f"{os.getpid()} {child}", encoding="utf-8")
    time.sleep(600)


@tool(isolation="process", timeout=LONG)
def wait(path: str) -> None:
    """Say that it runs, and hang."""
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)


RUNNER = ActionRunner(Toolbox([describe, later, raising, leaving, wait]))


def run(action: Action, context: RunContext) -> Observation:
    [seen] = RUNNER.run([action], context)
    return seen


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    place = str(Path(reactext.__file__).parent.parent)
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": place},
    )


def is_gone_soon(pid: int) -> bool:
    """Whether a process ends; a signal takes its time to arrive."""
    return any(is_gone(pid) or threading.Event().wait(0.01) for _ in range(1000))


def is_gone(pid: int) -> bool:
    """Whether a process has ended, be it not yet reaped by who inherited it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_results_and_errors_come_back() -> None:
    seen = list(
        RUNNER.run(
            [
                Action(id="c1.1", tool="describe", kwargs={"place": {"city": "Oslo"}}),
                Action(id="c1.2", tool="later", kwargs={"number": "4"}),
                Action(id="c1.3", tool="raising"),
                Action(id="c1.4", tool="leaving"),
            ],
            RunContext("r1", deps=os.getpid()),
        )
    )
    assert seen[0].text == (
        f'{{"city": "Oslo", "run": "r1", "deps": {os.getpid()}, "apart": true}}'
    )
    assert seen[1].text == "8"
    assert seen[2].text == "raising failed: ValueError: no such city in …/cities.db"
    assert seen[2].detail is not None and "Traceback" in seen[2].detail
    assert seen[3].status == "error" and "without a result (exit code 3)" in seen[3].text


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_tool_is_killed_at_its_limit_with_what_it_has_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    for limit in (0.5, 5, 20):  # long enough, on any machine, to have started what is killed
        hanging = ActionRunner(Toolbox([tool(hang.function, isolation="process", timeout=limit)]))
        action = Action(id="c1.1", tool="hang", kwargs={"path": str(pids)})
        [seen] = hanging.run([action], RunContext())
        assert (seen.status, seen.text) == (
            "timeout",
            f"hang gave no result within {limit} s and was stopped",
        )
        if pids.exists() and len(pids.read_text(encoding="utf-8").split()) == 2:
            break
    for pid in pids.read_text(encoding="utf-8").split():
        assert is_gone_soon(int(pid))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_cancelling_kills_the_tool(tmp_path: Path) -> None:
    path, cancellation = tmp_path / "pid", Cancellation()
    action = Action(id="c1.1", tool="wait", kwargs={"path": str(path)})
    pending = RUNNER.start(action, RunContext(cancellation=cancellation))
    while not path.exists() or not path.read_text(encoding="utf-8"):
        assert not pending.ended
        threading.Event().wait(0.01)
    cancellation.cancel()
    seen = pending.result()
    assert (seen.status, seen.text) == ("error", "wait was stopped: the run was cancelled")
    assert is_gone_soon(int(path.read_text(encoding="utf-8")))


def test_what_cannot_be_sent_is_an_observation() -> None:
    action = Action(id="c1.1", tool="describe", kwargs={"place": {"city": "Oslo"}})
    seen = run(action, RunContext(deps=threading.Lock()))
    assert seen.status == "error" and "cannot pickle" in seen.text


def local() -> Any:
    def inside() -> None: ...

    return inside


def replaced() -> None: ...


original, replaced = replaced, tool(describe.function, name="replaced")


def test_function_that_another_process_cannot_import_is_refused() -> None:
    with pytest.raises(SetupError, match="at the top level of a module"):
        tool(local(), isolation="process")
    with pytest.raises(SetupError, match="is something else"):
        ActionRunner(Toolbox([tool(original, isolation="process")]))


def test_script_that_runs_again_in_the_process_is_told_of_its_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
from reactext.models import Action
from reactext.runner import ActionRunner
from reactext.tools import RunContext, Toolbox, tool

@tool(isolation="process")
def here() -> str:
    return "here"

runner = ActionRunner(Toolbox([here]))
GUARD
    print([each.text for each in runner.run([Action(id="c1.1", tool="here")], RunContext())])
""".replace("GUARD", "if True:"),
        encoding="utf-8",
    )
    ended = run_python(str(script))
    assert "exit code 1" in ended.stdout and "put what runs the engine under" in ended.stderr
    script.write_text(
        script.read_text(encoding="utf-8").replace("if True:", 'if __name__ == "__main__":'),
        encoding="utf-8",
    )
    ended = run_python(str(script))
    assert ended.stdout.strip() == "['here']"


def test_function_of_an_interpreter_is_refused() -> None:
    program = """
from reactext.runner import ActionRunner
from reactext.tools import Toolbox, tool

@tool(isolation="process")
def here() -> None: ...

try:
    ActionRunner(Toolbox([here]))
except ValueError as error:
    print(error)
"""
    ended = run_python("-c", program)
    assert "put it into a file" in ended.stdout
