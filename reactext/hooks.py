"""What a user, or we, add to the loop without touching it.

A hook is an object with some of the methods of `Hook`; those it does not override do nothing. It
is shared by all runs of its engine, so what it must remember of a run it reads from the `Moment`,
or keeps in its ``memory``. Hooks are asked in the order given; around an action the first is the
outermost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, ClassVar, TypeVar, cast

from reactext.arguments import copied
from reactext.cancellation import Cancellation
from reactext.completion import ModelCard
from reactext.context import ExecutionContext, Finished
from reactext.errors import CompletionError, SetupError
from reactext.given import checked
from reactext.models import (
    Action,
    Correction,
    Observation,
    Step,
    TextDelta,
    Turn,
    Value,
    made_anew,
)
from reactext.running.places import is_async
from reactext.tools import Toolbox

Event = TextDelta | Action | Observation | Correction | Step | Finished
Proceed = Callable[[Action], Observation]
Given = TypeVar("Given")


@checked
class AnswerNow(Exception):  # noqa: N818 (not an error: it steers the run)
    """Raised by a hook: no more tools, ask the model for its answer from what is known.

    ``reason`` becomes the ``stop_reason`` of the forced context.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@checked
class FinishRun(Exception):  # noqa: N818 (not an error: it steers the run)
    """Raised by a hook: the run is over and this is its answer, without asking the model."""

    def __init__(self, answer: str, reason: str) -> None:
        super().__init__(reason)
        self.answer = answer
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Moment:
    """What a hook may look at: the run as it stands, and what belongs to it.

    ``card`` is that of the model in use; it is empty until the model was asked for it. ``memory``
    is the run's own: a hook keeps there, under itself, what it must remember until the run ends.
    """

    context: ExecutionContext
    toolbox: Toolbox
    cancellation: Cancellation
    deps: Any = None
    started: float = field(default_factory=monotonic)
    card: ModelCard = field(default_factory=ModelCard)
    memory: dict[object, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return monotonic() - self.started


class Hook:
    """Override what you need. All but ``around_action`` are called in the run's own thread.

    Everywhere but in `at_end` a hook may raise `AnswerNow` or `FinishRun`. Any other exception
    ends the run, and reaches the caller with the steps done in its ``context``.

    ``only_watches`` is for a hook whose `after_turn` always returns the turn as it came (another
    is a SetupError): only beside such hooks calls are started early (``eager``), since they cannot
    be taken back.
    """

    only_watches: ClassVar[bool] = False

    def before_step(self, moment: Moment) -> None:
        """See the run before the model is asked for its next step.

        The place to raise `AnswerNow` or `FinishRun`.
        """

    def before_prompt(self, moment: Moment, prompt: str) -> str:
        """Return the prompt to send. What is changed before its end costs the server's cache."""
        return prompt

    def on_piece(self, moment: Moment, piece: str) -> None:
        """See a piece of the model's text as its server gives it, before it is read.

        It is a `Piece` where the model tells more than the text.
        """

    def after_turn(self, moment: Moment, turn: Turn) -> Turn:
        """Return the turn to act on, read from the model's text but not yet acted on."""
        return turn

    def around_action(self, moment: Moment, action: Action, proceed: Proceed) -> Observation:
        """Return the observation of an action; ``proceed(action)`` runs it.

        Called in a thread of the action's own, side by side with the others of its turn.
        """
        return proceed(action)

    def on_event(self, moment: Moment, event: Event) -> None:
        """See an event just before the caller does; of `Finished`, `at_end` tells."""

    def at_end(self, moment: Moment) -> None:
        """See the context of a run that has ended, however it ended; all hooks do."""


def check_hooks(hooks: Sequence[Hook]) -> None:
    """Raise SetupError for a method that nobody would wait for."""
    methods = [name for name in vars(Hook) if callable(getattr(Hook, name)) and name[0] != "_"]
    for hook in hooks:
        for name in methods:
            if is_async(getattr(hook, name)):
                raise SetupError(
                    f"{type(hook).__name__}.{name} is async; a hook is called in a thread of the "
                    "run's own and may wait there: write it without async"
                )


class OfHook(Exception):  # noqa: N818 (it carries an error)
    """Carries a hook's own `CompletionError` past what handles those of a server."""

    def __init__(self, error: CompletionError) -> None:
        super().__init__(error)
        self.error = error


def prompt_through(hooks: Sequence[Hook], moment: Moment, prompt: str) -> str:
    """Pass a prompt through all hooks, in their order."""
    for hook in hooks:
        try:
            changed = hook.before_prompt(moment, prompt)
        except CompletionError as error:
            raise OfHook(error) from error
        prompt = _returned(changed, str, hook, "before_prompt")
    return prompt


def turn_through(hooks: Sequence[Hook], moment: Moment, turn: Turn) -> Turn:
    """Pass a turn through all hooks, in their order."""
    for hook in hooks:
        seen = turn
        turn = _returned(hook.after_turn(moment, seen), Turn, hook, "after_turn", seen)
        if hook.only_watches and turn is not seen and turn != seen:
            raise SetupError(
                f"{type(hook).__name__}.after_turn returned another turn, but the hook says "
                "only_watches = True, and calls of the turn may run already; say False"
            )
    return turn


def piece_watchers(hooks: Sequence[Hook]) -> tuple[Hook, ...]:
    """Return the hooks that look at pieces: most do not, and there are many pieces."""
    return tuple(hook for hook in hooks if type(hook).on_piece is not Hook.on_piece)


def handed(action: Action) -> Action:
    """Return an action to give away: who changes its arguments changes nobody else's."""
    args = tuple(copied(list(action.args)))
    return action.model_copy(update={"args": args, "kwargs": copied(action.kwargs)})


def show_piece(watchers: Sequence[Hook], moment: Moment, piece: str) -> None:
    """Let hooks look at a piece, in their order."""
    for hook in watchers:
        try:
            hook.on_piece(moment, piece)
        except CompletionError as error:
            raise OfHook(error) from error


def action_through(
    hooks: Sequence[Hook], moment: Moment, action: Action, proceed: Proceed
) -> Observation:
    """Run an action inside all hooks, the first outermost."""
    if not hooks:
        return proceed(action)
    first, *rest = hooks
    if type(first).around_action is Hook.around_action:
        return action_through(rest, moment, action, proceed)

    told: Observation | None = None

    def inside(inner: Action) -> Observation:
        nonlocal told
        if not isinstance(inner, Action):
            name = type(first).__name__
            raise SetupError(f"{name}.around_action called proceed with {_kind(inner)}, no Action")
        told = action_through(rest, moment, inner, proceed)
        return told

    seen = first.around_action(moment, handed(action), inside)
    return _returned(seen, Observation, first, "around_action", told)


def end_through(hooks: Sequence[Hook], moment: Moment) -> BaseException | None:
    """Let all hooks see the end; return what the first of them raised that did."""
    raised: BaseException | None = None
    for hook in hooks:
        name = type(hook).__name__
        try:
            hook.at_end(moment)
        except BaseException as error:  # the hooks after it see the end too
            if isinstance(error, (AnswerNow, FinishRun)):
                told = f"{name}.at_end raised {type(error).__name__}, but the run has ended"
                error = SetupError(f"{told}; raise it in before_step")
            if raised is None:
                raised = error
            else:
                raised.add_note(f"{name}.at_end raised, too: {type(error).__name__}")
    return raised


def _returned(
    value: object, wanted: type[Given], hook: Hook, method: str, given: object = None
) -> Given:
    """Return what a hook returned, if it is right; what it was ``given`` itself is."""
    wrong = _kind(value)
    if isinstance(value, wanted):
        if value is given or not isinstance(value, Value):
            return value
        try:
            return cast("Given", made_anew(value))
        except SetupError as error:
            wrong = f"a wrong {error}"
    raise SetupError(f"{type(hook).__name__}.{method} returned {wrong}; {_TO_RETURN[method]}")


_TO_RETURN = {
    "before_prompt": "return the prompt, a text",
    "after_turn": "return the turn, or a changed copy of it",
    "around_action": "return an Observation: what proceed(action) returned, or one of your own",
}


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
