"""The handle of one run: its events, its context, and the means to end it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from threading import Timer
from types import TracebackType

from reactext.cancellation import Cancellation
from reactext.context import ExecutionContext, Finished
from reactext.hooks import Event, Hook
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

    def cancel(self, reason: str = "cancelled") -> None:
        """End the run: the model stops writing, running tools are told, no step is lost."""
        self._state.cancellation.cancel(reason)

    def __next__(self) -> Event:
        return next(self._events)

    def close(self) -> None:
        """Cancel the run if it is still going on, and let go of the model's server."""
        self.cancel("closed")
        self._events.close()

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
        """Run the loop, end it when cancelled, and let the hooks see everything."""
        state = self._state
        timer = _timer(self._deadline, state.cancellation)
        try:
            yield from self._shown(events)
        except (Cancelled, KeyboardInterrupt):
            state.cancellation.cancel("interrupted")
            state.end("cancelled", reason=state.cancellation.reason)
        except GeneratorExit:
            state.cancellation.cancel("closed")
            state.end("cancelled", reason=state.cancellation.reason)
            raise
        except BaseException as error:
            state.end("failed", reason=f"{type(error).__name__}: {error}")
            with contextlib.suppress(AttributeError):  # an exception of the caller's with slots
                error.context = state.context  # type: ignore[attr-defined]
            raise
        finally:
            if timer is not None:
                timer.cancel()
            for hook in state.setup.hooks:
                hook.at_end(state.moment())
        yield Finished(context=state.context)

    def _shown(self, events: Generator[Event, None, None]) -> Iterator[Event]:
        watchers = [
            hook for hook in self._state.setup.hooks if type(hook).on_event is not Hook.on_event
        ]
        with contextlib.closing(events):  # now, so that a step that was begun is kept
            for event in events:
                for hook in watchers:
                    hook.on_event(self._state.moment(), event)
                yield event


def _timer(deadline: float | None, cancellation: Cancellation) -> Timer | None:
    if deadline is None:
        return None
    timer = Timer(deadline, cancellation.cancel, ("deadline",))
    timer.daemon = True
    timer.start()
    return timer
