"""What one run holds between its steps: all that changes while an engine works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from reactext.cancellation import Cancellation
from reactext.completion import CompletionModel, CountsTokens, ModelCard, card_of
from reactext.context import ExecutionContext, Status, transcript_part
from reactext.errors import SetupError
from reactext.hooks import Moment, Proceed, action_through
from reactext.models import Action, Correction, Observation, Step, Turn, Usage
from reactext.observing import observation_text
from reactext.prompts import language_of
from reactext.quoting import whole_characters
from reactext.runner import Around
from reactext.running.apart import apart
from reactext.settings import Setup
from reactext.tools import RunContext, Toolbox
from reactext.underway import Underway
from reactext.window import TokenMeter


class Cancelled(Exception):  # noqa: N818 (not an error: it ends the run)
    """The run's cancellation was set; raised inside the engine only."""


@dataclass(slots=True)
class RunState:
    """What one run holds between its steps; all that changes while an engine works is here."""

    setup: Setup
    context: ExecutionContext
    cancellation: Cancellation
    deps: Any = None
    started: float = field(default_factory=monotonic)
    model_number: int = 0
    card: ModelCard = field(default_factory=ModelCard)
    meter: TokenMeter = field(default_factory=TokenMeter)
    language: str = "en"
    head: str = ""
    transcript: str = ""
    toolbox: Toolbox = field(init=False)
    whole: tuple[Observation, ...] = ()
    underway: Underway = field(default_factory=Underway)
    memory: dict[object, Any] = field(default_factory=dict)
    corrections: list[Correction] = field(default_factory=list)
    spent: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self.toolbox = self.setup.toolbox
        named = self.setup.options.language
        self.language = language_of(self.context.task) if named == "auto" else named
        self.replay()

    @property
    def model(self) -> CompletionModel:
        return self.setup.models[self.model_number]

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` when the run was cancelled."""
        if self.cancellation.cancelled:
            raise Cancelled

    def moment(self) -> Moment:
        """Return what a hook may look at now."""
        return Moment(
            self.context,
            self.setup.toolbox,
            self.cancellation,
            self.deps,
            self.started,
            self.card,
            self.memory,
        )

    def run_context(self) -> RunContext:
        """Return what a tool may know now."""
        step = len(self.context.steps) + 1
        return RunContext(self.context.run_id, step, self.cancellation, self.deps)

    def meet_model(self) -> None:
        """Ask the model what it is, and render what stands before the transcript for it."""
        options, count = self.setup.options, None
        card = apart(partial(card_of, self.model), self.cancellation)
        if card is None:
            raise Cancelled
        self.card = card
        if options.constrain is True and self.card.grammar is None:
            raise SetupError(
                f"constrain=True, but the server of {self.card.name or 'this model'} takes no "
                'grammar; use constrain="auto" to constrain where that can be done'
            )
        if isinstance(self.model, CountsTokens):
            count = self.model.count_tokens
        self.meter = TokenMeter(count)
        self.head = self.setup.prompts.head(
            self.context.task,
            self.setup.toolbox,
            language=self.language,
            frame=options.frame or self.card.frame,
            parallel=options.parallel,
        )

    def replay(self) -> None:
        """Build the transcript anew, after something was cleared from it."""
        self.transcript = self.context.transcript(self.setup.protocol)

    def around(self) -> Around:
        """Return what runs an action inside the hooks, and keeps what came of it."""
        underway = self.underway

        def around(action: Action, _: RunContext, proceed: Proceed) -> Observation:
            seen = action_through(self.setup.hooks, self.moment(), action, proceed)
            underway.observed[action.id] = _presentable(action, seen)
            return underway.observed[action.id]

        return around

    def start_early(self, action: Action) -> None:
        """Start a call while its turn is still being written, if its tool may be.

        Not behind a sequential tool's call, and never more than may run side by side.
        """
        tool, underway = self.setup.toolbox.get(action.tool), self.underway
        underway.barred |= tool is not None and tool.sequential
        full = len(underway.started) >= self.setup.options.max_parallel
        if tool is not None and tool.idempotent and not underway.barred and not full:
            underway.started[action.id] = self.setup.runner.start(
                action, self.run_context(), around=self.around()
            )

    def run_actions(self, actions: Sequence[Action]) -> Iterator[Observation]:
        """Run the actions of a turn; those that were started early are only waited for."""
        started = self.underway.started
        return self.setup.runner.run(
            actions, self.run_context(), around=self.around(), started=started
        )

    def add(self, turn: Turn, observations: tuple[Observation, ...] = ()) -> Step:
        """Append a step to the context and to the transcript, with what it cost until now."""
        first = not self.context.steps
        step = Step(
            turn=turn,
            observations=observations,
            usage=self.spent,
            corrections=tuple(self.corrections),
        )
        self.spent, self.corrections = Usage(), []
        self.underway = Underway()
        self.context = self.context.with_step(step)
        part = transcript_part(self.context, len(self.context.steps) - 1, self.setup.protocol)
        self.transcript = part if first else self.transcript + part
        if any(seen.truncated for seen in observations):
            self.toolbox = self.setup.toolbox_reading_on
        return step

    def end(self, status: Status, *, answer: str | None = None, reason: str = "") -> None:
        """Mark the run as over."""
        self.context = self.context.model_copy(
            update={
                "status": status,
                "answer": answer if answer is None else whole_characters(answer),
                "stop_reason": whole_characters(reason),
                "usage": self.context.usage + self.spent,
                "corrections": (*self.context.corrections, *self.corrections),
            }
        )
        self.spent, self.corrections = Usage(), []


def _presentable(action: Action, seen: Observation) -> Observation:
    """Return what a hook made of an observation as one of its action, in whole characters."""
    return seen.model_copy(
        update={
            "action_id": action.id,
            "text": observation_text(seen.text),
            "full": seen.full if seen.full is None else whole_characters(seen.full),
            "detail": seen.detail if seen.detail is None else whole_characters(seen.detail),
        }
    )
