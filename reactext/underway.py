"""The step that is being taken: its calls that run already, and what is kept of it if it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reactext.errors import TurnError
from reactext.models import Action, Observation, Turn
from reactext.reader import TurnReader
from reactext.runner import Pending


@dataclass(slots=True)
class Underway:
    """One attempt at a step. A failed one takes with it all that was begun for it.

    ``started`` are the calls that run while the model still writes. They cannot be taken back, so
    from the first of them on the attempt is not made again: when it breaks off, its turn ends
    there. ``texts`` is what the model has written by now, ``observed`` what came of each call, by
    its id, ``told`` what the caller was told.
    """

    reader: TurnReader | None = None
    texts: Sequence[str] = ()
    turn: Turn | None = None
    barred: bool = False
    started: dict[str, Pending] = field(default_factory=dict)
    observed: dict[str, Observation] = field(default_factory=dict)
    told: list[Observation] = field(default_factory=list)

    def written(self) -> Turn | None:
        """Return the turn, or what there is of it if a call of it was started."""
        if self.turn is not None or self.reader is None or not self.started:
            return self.turn
        try:
            return self.reader.close(cut=True)
        except TurnError as error:
            calls = tuple(each.action for each in self.started.values())
            return Turn(text=error.text, actions=calls)

    def kept(self) -> tuple[Turn, tuple[Observation, ...]] | None:
        """Return the step as far as it had come, with one observation for each call."""
        turn = self.written()
        if turn is None or not turn.actions:
            return None
        missing = turn.actions[len(self.told) :]
        known = dict(self.observed)  # a call that nobody waits for may still write to it
        rest = (known.get(action.id) or _not_observed(action) for action in missing)
        return turn, (*self.told, *rest)


def _not_observed(action: Action) -> Observation:
    return Observation(
        action_id=action.id,
        tool=action.tool,
        text="The run was stopped before this call ended; its work may still be going on.",
        status="skipped",
        attempts=0,
    )
