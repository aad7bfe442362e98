"""When a completion that failed before its first text is asked for again."""

from __future__ import annotations

import time
from dataclasses import dataclass

from reactext.cancellation import Cancellation
from reactext.errors import CompletionError, ServerBusy
from reactext.given import Count, Wait, checked


@checked
@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long to try; no text is ever asked for twice once some of it has come.

    A fault that may pass is tried ``attempts`` times in all, with ``wait`` seconds before the
    second, twice as many before the third, and so on up to ``longest_wait``. A server that is
    busy or still loading its model is asked for as long as ``busy_seconds``.
    """

    attempts: Count = 3
    wait: Wait = 0.25
    longest_wait: Wait = 8.0
    busy_seconds: Wait = 120.0


NEVER = Retry(attempts=1, busy_seconds=0)
"""The policy that reports the first fault."""


class Patience:
    """What is left of a retry policy in one completion."""

    def __init__(self, policy: Retry, cancellation: Cancellation | None) -> None:
        self._policy = policy
        self._cancellation = cancellation
        self._began = time.monotonic()
        self._waits = 0
        self._faults = 0

    @property
    def was_used(self) -> bool:
        """Whether anything was tried again."""
        return self._waits > 0

    def again(self, error: CompletionError) -> bool:
        """Wait as long as this fault asks for; False if it is to be reported instead.

        A cancellation ends the waiting, with False.
        """
        policy = self._policy
        wait = min(policy.longest_wait, policy.wait * 2**self._waits)
        if error.retry_after is not None:
            wait = max(wait, error.retry_after)
        if isinstance(error, ServerBusy):
            if time.monotonic() - self._began + wait > policy.busy_seconds:
                return False
        else:
            self._faults += 1
            if not error.retryable or self._faults >= policy.attempts:
                return False
        self._waits += 1
        if self._cancellation is not None:
            return not self._cancellation.wait(wait)
        time.sleep(wait)
        return True
