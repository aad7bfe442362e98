"""The handle of one run: its events, its context, and the means to end it."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Generator, Iterator
from threading import Timer
from types import TracebackType

from reactext.cancellation import Cancellation
from reactext.context import ExecutionContext, Finished
from reactext.errors import SetupError
from reactext.hooks import AnswerNow, Event, FinishRun, Hook, OfHook, end_through
from reactext.state import Cancelled, RunState


class Run(Iterator[Event]):
    """One run of an engine: iterate it for its events, the last of which is `Finished`.

    Nothing happens until the first event is asked for. `cancel` may be called from any thread;
    leaving a ``with`` block, or `close`, ends the run too. ``context`` is the run as it stands.
    """

    def __init__(
        self, state: RunState, events: Generator[Event, None, None], deadline: float | None
    ) -> None:
        self._state = state
        self._deadline = deadline
        self._events = self._watched(events)

    @property
    def context(self) -> ExecutionContext:
        """The steps done so far, and how the run stands."""
        return self._state.context

    @property
    def cancellation(self) -> Cancellation:
        """What `cancel` sets, and whoever else holds it."""
        return self._state.cancellation

    def cancel(self, reason: str = "cancelled") -> None:
        """End the run: the model stops writing, running tools are told, no step is lost."""
        self._state.cancellation.cancel(reason)

    def __next__(self) -> Event:
        if _is_running(self._events):
            raise SetupError(
                "the run is being iterated already, by another thread or around this hook or "
                "tool; iterate it in one place, and end it from elsewhere with cancel()"
            )
        return next(self._events)

    def finish(self) -> ExecutionContext:
        """Go on to the end, whatever the events, and return the context.

        The first Ctrl-C ends the run only; another one within two seconds is raised.
        """
        try:
            for _ in self:
                pass
        except KeyboardInterrupt:  # one that came between two events, or the second
            over = self.context.status != "running"
            if not over:
                self.cancel("interrupted")
            self.close()
            if over or not self._state.setup.interrupts.is_first():
                raise
        finally:
            self.close()
        return self.context

    def close(self) -> None:
        """Cancel the run if it is still going on, and let go of the model's server.

        While another thread iterates it, this is `cancel`.
        """
        if self.context.status == "running":
            self.cancel("closed")
        if not _is_running(self._events):
            try:
                self._events.close()
            except ValueError as error:
                if "already executing" not in str(error):
                    raise
                return
            self._cancelled("closed")  # one that was never begun

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _watched(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """Run the loop to its end, whatever that is; what is raised carries the steps done."""
        try:
            yield from self._ended(events)
        except GeneratorExit:
            raise
        except BaseException as error:
            with contextlib.suppress(AttributeError, TypeError):  # the caller's, with slots
                error.context = self.context  # type: ignore[attr-defined]
            raise
        yield Finished(context=self.context)

    def _ended(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """Run the loop, end it when cancelled, and let all hooks see the end."""
        state = self._state
        timer = _timer(self._deadline, state.cancellation)
        raised: BaseException | None = None
        try:
            yield from self._shown(events)
        except (Cancelled, KeyboardInterrupt) as stop:
            self._cancelled("interrupted")
            if isinstance(stop, KeyboardInterrupt) and not state.setup.interrupts.is_first():
                raised = stop
        except GeneratorExit:
            self._cancelled("closed")
        except BaseException as error:
            raised = error.error if isinstance(error, OfHook) else error
            if state.context.status == "running":
                state.end("failed", reason=_told(raised))
        if timer is not None:
            timer.cancel()
        of_hooks = end_through(state.setup.hooks, state.moment())
        if raised is not None:
            if of_hooks is not None:
                raised.add_note(f"a hook raised at the end, too: {_told(of_hooks)}")
            raise raised
        if of_hooks is not None:
            raise of_hooks

    def _cancelled(self, how: str) -> None:
        state = self._state
        if state.context.status == "running":
            state.cancellation.cancel(how)
            state.end("cancelled", reason=state.cancellation.reason)

    def _shown(self, events: Generator[Event, None, None]) -> Iterator[Event]:
        """Show each event to the hooks and to the caller; a hook may steer the loop by it."""
        watchers = [
            hook for hook in self._state.setup.hooks if type(hook).on_event is not Hook.on_event
        ]
        stop: AnswerNow | FinishRun | None = None
        with contextlib.closing(events):  # now, so that a step that was begun is kept
            while True:
                try:
                    event = next(events) if stop is None else events.throw(stop)
                except StopIteration:
                    return
                stop = None
                for hook in watchers:
                    try:
                        hook.on_event(self._state.moment(), event)
                    except (AnswerNow, FinishRun) as steering:
                        stop = stop or steering
                yield event


def _is_running(events: Generator[Event, None, None]) -> bool:
    return inspect.getgeneratorstate(events) == inspect.GEN_RUNNING


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # its __str__ is the caller's code
        return type(error).__name__


def _timer(deadline: float | None, cancellation: Cancellation) -> Timer | None:
    if deadline is None:
        return None
    timer = Timer(min(deadline, threading.TIMEOUT_MAX), cancellation.cancel, ("deadline",))
    timer.daemon = True
    timer.start()
    return timer
