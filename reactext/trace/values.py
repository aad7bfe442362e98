"""What a trace tells of a run. All times are seconds since the run began."""

from __future__ import annotations

from reactext.context import Status
from reactext.models import Action, Correction, Observation, Turn, Usage, Value


class Asked(Value):
    """One prompt and what the model wrote on it, whether or not a turn could be read in it.

    ``begun`` is when the prompt was sent, ``first`` when the first piece came, ``last`` the latest;
    both are None where none did. ``prompt`` is None unless prompts were traced whole.
    """

    model: str = ""
    sha256: str = ""
    characters: int = 0
    prompt: str | None = None
    begun: float = 0.0
    first: float | None = None
    last: float | None = None
    text: str = ""
    thinking: str = ""
    usage: Usage = Usage()
    finish: str | None = None


class Called(Value):
    """One action with what came of it.

    ``begun`` is None for an action that was never run, ``observation`` and ``ended`` for one that
    had not ended when the trace did.
    """

    action: Action
    observation: Observation | None = None
    begun: float | None = None
    ended: float | None = None


class TracedStep(Value):
    """One step: all that was asked for it, the turn that was read, and its calls in their order.

    ``ended`` is None for a step that the trace does not see the end of.
    """

    number: int
    begun: float
    ended: float | None = None
    asked: tuple[Asked, ...] = ()
    corrections: tuple[Correction, ...] = ()
    turn: Turn | None = None
    calls: tuple[Called, ...] = ()


class TracedRun(Value):
    """One run as far as its trace goes.

    ``status`` is "running" when the trace does not see its end: the run goes on, or its process
    was killed. ``started`` is wall-clock time, ISO 8601. ``unreadable`` counts the lines of the
    file that could not be read, of whichever run.
    """

    run_id: str
    task: str = ""
    started: str = ""
    version: str = ""
    tools: tuple[str, ...] = ()
    steps: tuple[TracedStep, ...] = ()
    status: Status = "running"
    stop_reason: str = ""
    answer: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    unreadable: int = 0
