"""Runs the actions of a turn side by side: one observation for each, in the order written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from reactext.cancellation import Cancellation
from reactext.given import Count, Limit, checked
from reactext.models import Action, Observation
from reactext.running.calls import CallLimits, Workshop, perform
from reactext.running.pending import Pending
from reactext.tools import RunContext, Toolbox

__all__ = ["ActionRunner", "Around", "Pending", "Proceed"]

Proceed = Callable[[Action], Observation]
Around = Callable[[Action, RunContext, Proceed], Observation]
"""What is done around an action; ``proceed`` validates and runs the action that it is given."""


@checked
class ActionRunner:
    """Runs actions with the tools of one engine; shared by all its runs.

    ``tool_timeout`` is in seconds, None is no limit; ``max_parallel`` holds for one turn. With
    ``debug`` the model is shown tracebacks. ``backoff`` is the usual wait before a second attempt.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        tool_timeout: Limit | None = 30.0,
        max_parallel: Count = 8,
        backoff: float = 0.5,
        debug: bool = False,
    ) -> None:
        for each in toolbox:
            if each.isolation == "process":
                from reactext.running.processes import check_importable

                check_importable(each)
        self._max_parallel = max_parallel
        self._alone = {each.name for each in toolbox if each.sequential}
        limits = CallLimits(tool_timeout, backoff, debug)
        self._workshop = Workshop(toolbox, limits)

    def start(
        self, action: Action, run_context: RunContext, *, around: Around | None = None
    ) -> Pending:
        """Start a call now; hand what this returns to `run` with the whole turn."""
        pending = self._pending(action, run_context, around)
        pending.launch()
        return pending

    def run(
        self,
        actions: Sequence[Action],
        run_context: RunContext,
        *,
        around: Around | None = None,
        started: Mapping[str, Pending] | None = None,
    ) -> Iterator[Observation]:
        """Yield one observation for each action, in their order, as soon as it is there.

        Actions run side by side, those of sequential tools alone. ``started`` holds calls that
        run already, by the ids of their actions. When the caller stops reading before the end,
        or Ctrl-C interrupts the waiting, the run is cancelled. What is raised ``around`` an
        action is raised here; the calls after it go on, and nobody waits for them.
        """
        early = started or {}
        calls = [
            early[each.id]
            if each.id in early and early[each.id].action == each
            else self._pending(each, run_context, around)
            for each in actions
        ]
        cancellation = run_context.cancellation
        group = _Group(calls, set(early.values()), self._alone, self._max_parallel, cancellation)
        try:
            group.advance()
            for call in calls:
                yield call.result()
        except (KeyboardInterrupt, GeneratorExit):
            if not all(call.ended for call in calls):
                cancellation.cancel("interrupted")
            raise

    def _pending(self, action: Action, run_context: RunContext, around: Around | None) -> Pending:
        def proceed(inner: Action) -> Observation:
            pending.at_work = True
            try:
                return perform(self._workshop, inner, run_context)
            finally:
                pending.at_work = False

        def conduct() -> Observation:
            if around is None:
                return proceed(action)
            seen = around(action, run_context, proceed)
            return seen.model_copy(update={"action_id": action.id})

        pending = Pending(action, run_context.cancellation, conduct)
        return pending


class _Group:
    """Launches the calls of a turn: so many at a time, and those of sequential tools alone."""

    def __init__(
        self,
        calls: list[Pending],
        running: set[Pending],
        alone: set[str],
        most: int,
        run: Cancellation,
    ) -> None:
        self._alone = alone
        self._most = most
        self._run = run
        self._lock = threading.Lock()
        self._waiting = deque(each for each in calls if each not in running)
        self._running = running & set(calls)
        for each in list(self._running):
            each.on_end(partial(self._ended, each))

    def advance(self) -> None:
        """Launch what may run now."""
        while (call := self._next()) is not None:
            call.on_end(partial(self._ended, call))
            call.launch()

    def _ended(self, call: Pending) -> None:
        with self._lock:
            self._running.discard(call)
        self.advance()

    def _next(self) -> Pending | None:
        with self._lock:
            if not self._waiting or self._run.cancelled or len(self._running) >= self._most:
                return None
            is_alone = self._waiting[0].action.tool in self._alone
            busy = any(each.action.tool in self._alone for each in self._running)
            if busy or (is_alone and self._running):
                return None
            call = self._waiting.popleft()
            self._running.add(call)
            return call
