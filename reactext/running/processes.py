"""Runs a tool in a process of its own, which can be killed.

The process is started afresh for each call and imports the tool's module, so what a tool keeps in
its module does not outlive the call. Outcomes come back as texts: nothing is unpickled here that
the tool has made.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from reactext.errors import SetupError
from reactext.forking import ForkLock
from reactext.running.attempts import Launch, Progress, Running
from reactext.running.outcomes import Outcome, failed, outcome_of
from reactext.running.threads import TOOLS
from reactext.tools import RunContext, Tool

_SPAWN = multiprocessing.get_context("spawn")
_BEGUN = "begun"

_PREPARING = 30.0
"""Seconds, beside the tool's own, until its process has started and imported its module."""

_REAPING = ForkLock()
"""Starting a process reaps those that have ended, and two must not reap the same one."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What the other process is sent. A cancellation cannot be sent: it is killed instead."""

    module: str
    place: str
    positional: list[Any]
    named: dict[str, Any]
    written: str
    context_parameter: str | None = None
    run_id: str = ""
    step: int = 0
    deps: Any = None


def errand(
    tool: Tool, positional: list[Any], named: dict[str, Any], written: str, context: RunContext
) -> Errand:
    """Return what must be sent for a call of a tool."""
    _refuse_in_second_import()
    place = (tool.function.__module__, tool.function.__qualname__)
    if tool.context_parameter is None:
        return Errand(*place, positional, named, written)
    named = {name: value for name, value in named.items() if name != tool.context_parameter}
    return Errand(
        *place,
        positional,
        named,
        written,
        tool.context_parameter,
        context.run_id,
        context.step,
        context.deps,
    )


def check_importable(tool: Tool) -> None:
    """Raise SetupError where another process could not import the tool's function."""
    module, place = tool.function.__module__, tool.function.__qualname__
    main = sys.modules["__main__"]
    if module == "__main__" and not hasattr(main, "__file__"):
        raise _not_importable(tool, "it is typed in an interpreter; put it into a file")
    try:
        found = _found(module, place)
    except (ImportError, AttributeError) as error:
        raise _not_importable(tool, f"{module}.{place} is not there: {error}") from error
    if found is not tool.function:
        raise _not_importable(tool, f"{module}.{place} is something else")


def _refuse_in_second_import() -> None:
    """Raise SetupError in a tool's process that is only importing the caller's script."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SetupError(
            "the process of a tool imports this script, and must not run it once more; put what "
            'runs the engine under if __name__ == "__main__":'
        )


def _not_importable(tool: Tool, why: str) -> SetupError:
    return SetupError(
        f"tool {tool.name!r} has isolation='process', but another process cannot import it: {why}"
    )


def _found(module: str, place: str) -> Callable[..., Any]:
    found: Any = import_module(module)
    for name in place.split("."):
        found = getattr(found, name)
    return found.function if isinstance(found, Tool) else found


class _InProcess:
    """The handle of a tool in another process; one of our threads starts it and listens to it."""

    def __init__(self, sent: Errand, progress: Progress) -> None:
        self._sent = sent
        self._progress = progress
        self._lock = threading.Lock()
        self._stopped = False
        self._process: Any = None
        self._ended = threading.Event()
        self._job = TOOLS.submit(self._work)

    def hurry(self) -> None:
        """Have a thread for it."""
        TOOLS.hurry()

    def stop(self) -> bool:
        """Kill the process with all that it has started."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _kill(self._process)
        if TOOLS.drop(self._job):
            self._progress.finish(Outcome("cancelled"))
            return True
        return self._ended.wait(2.0)

    def _work(self) -> None:
        self._progress.start(preparing=_PREPARING)
        try:
            outcome = self._outcome()
        except BaseException as error:  # what cannot be pickled raises nearly anything
            outcome = failed(error, self._sent.written)
        self._progress.finish(outcome)
        self._ended.set()

    def _outcome(self) -> Outcome:
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(theirs, self._sent), daemon=True)
        with self._lock:
            if self._stopped:
                return Outcome("cancelled")
            with _REAPING:
                process.start()
            self._process = process
        theirs.close()
        try:
            return self._heard(ours)
        finally:
            with self._lock:
                self._process = None
            _reap(process)
            ours.close()

    def _heard(self, ours: Any) -> Outcome:
        try:
            while (said := ours.recv()) == _BEGUN:
                self._progress.restart()
        except (EOFError, OSError):
            return Outcome("cancelled") if self._stopped else self._died()
        return said if isinstance(said, Outcome) else self._died()

    def _died(self) -> Outcome:
        with _REAPING:
            self._process.join(2.0)
            code = self._process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return Outcome("error", f"the process of the tool ended without a result ({how})")


def _reap(process: Any) -> None:
    """Let a process that has spoken end by itself, but not for long."""
    process.join(0.2)
    _kill(process)
    with _REAPING:
        process.join()
        process.close()


def _kill(process: Any) -> None:
    if process.pid is not None and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # also what the tool has started
    process.kill()


def in_process(sent: Errand) -> Launch:
    """Run a tool in a process of its own."""

    def launch(progress: Progress) -> Running:
        return _InProcess(sent, progress)

    return launch


def _serve(connection: Connection, sent: Errand) -> None:
    """Be the other process: run the tool and send its outcome."""
    if hasattr(os, "setsid"):
        os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    named = dict(sent.named)
    if sent.context_parameter is not None:
        named[sent.context_parameter] = RunContext(sent.run_id, sent.step, deps=sent.deps)
    try:
        function = _found(sent.module, sent.place)
    except BaseException as error:  # importing runs the caller's module
        connection.send(failed(error))
        return
    connection.send(_BEGUN)
    connection.send(outcome_of(function, sent.positional, named, sent.written))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _leave()


def _leave() -> None:
    if hasattr(os, "killpg"):
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
