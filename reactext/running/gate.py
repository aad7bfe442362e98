"""Counts the calls of one tool over all runs, and holds back what would be too many at once."""

from __future__ import annotations

import threading
from typing import Literal

from reactext.cancellation import Cancellation
from reactext.forking import renewed_in_child

MOST_OVERDUE = 32
"""So many calls that are past their time limit and still at work are left to one tool."""


class Gate:
    """Lets ``limit`` calls of a tool in at a time; None is any number.

    A call that was given up counts until its work is really over. When such calls fill the gate,
    nobody is let in: he would wait for ever, or pile up more of them.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._most_overdue = MOST_OVERDUE if limit is None else min(limit, MOST_OVERDUE)
        self.renew()
        renewed_in_child(self)

    def renew(self) -> None:
        """Open it, with nobody inside."""
        self._changed = threading.Condition()
        self._inside: set[Place] = set()
        self.overdue = 0

    def enter(self, place: Place, run: Cancellation) -> Literal["entered", "refused", "cancelled"]:
        """Wait for a place; "refused" when overdue calls hold all of them."""
        forget = run.on_cancel(self._wake)
        try:
            with self._changed:
                while True:
                    if run.cancelled:
                        return "cancelled"
                    if self.overdue >= self._most_overdue:
                        return "refused"
                    if self._limit is None or len(self._inside) < self._limit:
                        self._inside.add(place)
                        return "entered"
                    self._changed.wait()
        finally:
            forget()

    def give_up(self, place: Place) -> None:
        """Count a call as overdue, unless its work is over by now."""
        with self._changed:
            if place in self._inside and not place.overdue:
                place.overdue = True
                self.overdue += 1
                self._changed.notify_all()

    def leave(self, place: Place) -> None:
        """Let the next in: the work of a call is over."""
        with self._changed:
            if place in self._inside:  # not so where a tool has forked, and left in the child
                self._inside.discard(place)
                self.overdue -= place.overdue
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Place:
    """The place of one call inside a gate."""

    def __init__(self) -> None:
        self.overdue = False
