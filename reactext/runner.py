"""Runs the actions of a turn side by side: one observation for each, in the order written."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import partial

from reactext.attempts import wait_within
from reactext.calls import CallLimits, Workshop, perform
from reactext.cancellation import Cancellation
from reactext.errors import SetupError
from reactext.models import Action, Observation
from reactext.threads import CALLS, PATIENCE
from reactext.tools import RunContext, Toolbox

Proceed = Callable[[Action], Observation]
Around = Callable[[Action, RunContext, Proceed], Observation]
"""What is done around an action; ``proceed`` validates and runs the action that it is given."""

_GRACE = 1.0
"""So many seconds a cancelled call has to say how it ended, before it is spoken for."""


class Pending:
    """A call on its way; `result` waits for its observation."""

    def __init__(
        self, action: Action, context: RunContext, perform: Callable[[], Observation]
    ) -> None:
        self.action = action
        self._run = context.cancellation
        self._perform = perform
        self._context = copy_context()
        self._begun = False
        self._observation: Observation | None = None
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._watchers: list[Callable[[], None]] = []

    @property
    def ended(self) -> bool:
        """Whether `result` returns at once."""
        return self._ended.is_set()

    def launch(self) -> None:
        """Begin, in a thread of its own."""
        CALLS.submit(self._conduct)

    def on_end(self, watcher: Callable[[], None]) -> None:
        """Call the watcher when the call has ended, at once if it has."""
        with self._lock:
            if not self._ended.is_set():
                self._watchers.append(watcher)
                return
        watcher()

    def result(self) -> Observation:
        """Wait for the observation; after a cancelling, not for long.

        Raises what was raised around the action, by a hook; a tool's own exceptions are
        observations.
        """
        woken = threading.Event()
        forget = self._run.on_cancel(woken.set)
        self.on_end(woken.set)
        try:
            while not self._ended.is_set() and not self._run.cancelled:
                wait_within(woken, None if self._begun else PATIENCE)
                if not self._begun:
                    CALLS.hurry()
            if self._begun and not self._ended.wait(_GRACE):
                return self._unanswered("its work may still go on")
        finally:
            forget()
        if self._error is not None:
            raise self._error
        return self._observation or self._unanswered("it was not run")

    def _unanswered(self, how: str) -> Observation:
        return Observation(
            action_id=self.action.id,
            tool=self.action.tool,
            text=f"{self.action.tool} gave no result before the run was cancelled; {how}",
            status="skipped",
        )

    def _conduct(self) -> None:
        self._begun = True
        try:
            if not self._run.cancelled:
                self._observation = self._context.run(self._perform)
        except BaseException as error:  # of a hook: it is raised where the result is waited for
            self._error = error
        with self._lock:
            self._ended.set()
            watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher()


class ActionRunner:
    """Runs actions with the tools of one engine; shared by all its runs.

    ``tool_timeout`` is in seconds, None is no limit; ``max_parallel`` holds for one turn. With
    ``debug`` the model is shown tracebacks. ``backoff`` is the usual wait before a second attempt.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        tool_timeout: float | None = 30.0,
        max_parallel: int = 8,
        max_observation_chars: int | None = 4000,
        backoff: float = 0.5,
        debug: bool = False,
    ) -> None:
        if tool_timeout is not None and not tool_timeout > 0:
            raise SetupError(f"tool_timeout={tool_timeout!r} must be seconds above 0, or None")
        if not isinstance(max_parallel, int) or max_parallel < 1:
            raise SetupError(f"max_parallel={max_parallel!r} must be a whole number of at least 1")
        if max_observation_chars is not None and max_observation_chars < 100:
            raise SetupError(
                f"max_observation_chars={max_observation_chars!r} must be at least 100"
            )
        for tool in toolbox:
            if tool.isolation == "process":
                from reactext.processes import check_importable

                check_importable(tool)
        self._max_parallel = max_parallel
        seconds = math.inf if tool_timeout is None else tool_timeout
        limits = CallLimits(seconds, max_observation_chars, backoff, debug)
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
        or Ctrl-C interrupts the waiting, the run is cancelled.
        """
        early = started or {}
        calls = [
            early[each.id]
            if each.id in early and early[each.id].action == each
            else self._pending(each, run_context, around)
            for each in actions
        ]
        alone = {each.name for each in self._workshop.toolbox if each.sequential}
        group = _Group(
            calls, set(early.values()), alone, self._max_parallel, run_context.cancellation
        )
        try:
            group.advance()
            for call in calls:
                yield call.result()
        except BaseException:
            if not all(call.ended for call in calls):
                run_context.cancellation.cancel("interrupted")
            raise

    def _pending(self, action: Action, run_context: RunContext, around: Around | None) -> Pending:
        def proceed(inner: Action) -> Observation:
            return perform(self._workshop, inner, run_context)

        def conduct() -> Observation:
            if around is None:
                return proceed(action)
            seen = around(action, run_context, proceed)
            return (
                seen
                if seen.action_id == action.id
                else seen.model_copy(update={"action_id": action.id})
            )

        return Pending(action, run_context, conduct)


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
