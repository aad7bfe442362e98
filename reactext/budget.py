"""Keeps the prompts of a run within the window of its model, and notices when a server did not."""

from __future__ import annotations

from collections.abc import Sequence

from reactext.context import observation_text
from reactext.errors import ContextOverflow, ContextTruncated
from reactext.models import Action, Observation, Turn
from reactext.read_more import read_more
from reactext.showing import cut, shares, shown
from reactext.state import RunState
from reactext.window import KEPT_STEPS, fit, size_of

_RESULTS_SHARE = 3
"""The results of one step take a third of what the window has beside the task, so that those of
the latest two stand in it together with what the model wrote."""

_LITTLE = 400
"""Tokens that they may take of a window so small that a third would show nothing."""

_SEAM = 32
"""Tokens that are kept free for what is not counted: labels, a word of the engine's."""

_LONGEST_TOKEN = 16
"""Characters; a text of more than these for each token of the window need not be counted."""

_TRIES = 6
"""So often a cut is made smaller, each time in proportion to what it was too long by."""


def least_room(window: int) -> int:
    """What is kept free for the model's own text: a quarter of a small window."""
    return min(512, window // 4)


def room_for_reply(state: RunState, prompt: str) -> int:
    """Return how many tokens may be written after a prompt."""
    wanted, window = state.setup.options.step_tokens, state.card.window
    if window is None or window - state.meter.most(prompt) >= wanted:
        return wanted
    return max(least_room(window), min(wanted, window - state.meter.estimate_prompt(prompt)))


def prompt_within(state: RunState, tail: str) -> str:
    """Return the prompt, its transcript followed by ``tail``, with so much cleared that it fits.

    The oldest goes first; where all but the latest step is gone, that one's results are cut.
    Raises `ContextOverflow` when what may not be cleared does not fit.
    """
    budget, prompt = _budget(state), _prompt(state, tail)
    if budget is None or state.meter.fits(prompt, budget):
        return prompt
    for kept in range(KEPT_STEPS, 0, -1):
        _clear(state, budget, tail, kept)
        if state.meter.fits(prompt := _prompt(state, tail), budget):
            return prompt
    if state.context.steps:
        _show_less(state, tail)
        if state.meter.fits(prompt := _prompt(state, tail), budget):
            return prompt
    tokens, window = state.meter.measure_prompt(prompt), state.card.window
    raise ContextOverflow(
        f"the prompt takes about {tokens} tokens and the window is {window}, of "
        f"which {(window or 0) - budget} are kept for the reply",
        remedy="use a larger window, fewer tools, a shorter task or shorter observations",
        prompt_tokens=tokens,
        window=window,
    )


def _budget(state: RunState) -> int | None:
    """Return the tokens that a prompt may take, or None where no window is known."""
    window = state.card.window
    if window is None:
        return None
    return window - min(state.setup.options.step_tokens, least_room(window))


def _prompt(state: RunState, tail: str) -> str:
    return state.head + state.transcript + tail


def _clear(state: RunState, budget: int, tail: str, kept: int) -> None:
    """Clear the oldest from the transcript until it takes half the budget."""
    protocol, head = state.setup.protocol, state.head + tail
    state.context = fit(state.context, head, state.meter, budget, protocol, kept=kept)
    state.replay()


def results_within(
    state: RunState, turn: Turn, whole: Sequence[Observation]
) -> tuple[Observation, ...]:
    """Return the results of a step as the model reads them, each within its own limit.

    All of them together take at most a third of what the window has beside the task; the short
    ones stay whole, and the long ones share what is left.
    """
    state.whole = tuple(whole)
    budget = _budget(state)
    if budget is None:
        return tuple(result_within(state, each) for each in whole)
    least = (budget - size_of(state.head)) // _RESULTS_SHARE
    seen = tuple(result_within(state, each) for each in whole)
    if size_of(observation_text(turn.actions, seen, state.setup.protocol)) <= least:
        return seen
    room = budget - state.meter.estimate(state.head)
    alone = room - state.meter.estimate(turn.text) - _SEAM
    return _within(state, turn.actions, max(room // _RESULTS_SHARE, min(alone, _LITTLE)))


def result_within(state: RunState, whole: Observation) -> Observation:
    """Return one result as its own limit leaves it, that of its tool or of the engine."""
    return _cut(state, whole, None)


def _within(state: RunState, actions: Sequence[Action], room: int) -> tuple[Observation, ...]:
    """Cut the results of the latest step until together they take no more tokens than this."""
    most = max(0, room) * _LONGEST_TOKEN
    limits: list[int | None] = [most for _ in state.whole]
    seen = [_cut(state, each, most) for each in state.whole]
    for _ in range(_TRIES):
        text = observation_text(actions, seen, state.setup.protocol)
        if size_of(text) <= room or (tokens := state.meter.measure(text)) <= room:
            break
        costs = [state.meter.measure(each.text) for each in seen]
        beside = max(0, tokens - sum(costs))  # the calls that stand before numbered results
        for index, share in enumerate(shares(costs, room - beside)):
            if share < costs[index]:
                limits[index] = len(seen[index].text) * share // costs[index]
        seen = [_cut(state, *each) for each in zip(state.whole, limits, strict=True)]
    return tuple(seen)


def _cut(state: RunState, whole: Observation, limit: int | None) -> Observation:
    tool = state.setup.toolbox.get(whole.tool)
    own = tool.max_observation_chars if tool is not None else None
    limits = [own or state.setup.options.max_observation_chars, limit]
    known = [each for each in limits if each is not None]
    return shown(
        whole, min(known, default=None), reads_on=read_more.name not in state.setup.toolbox
    )


def _show_less(state: RunState, tail: str) -> None:
    """Cut the results of the latest step to what the window leaves beside everything else."""
    budget, whole, step = _budget(state) or 0, state.whole, state.context.steps[-1]
    _replace_results(state, tuple(each.model_copy(update={"text": ""}) for each in whole))
    room = budget - state.meter.measure_prompt(_prompt(state, tail)) - _SEAM
    _replace_results(state, _within(state, step.turn.actions, room))


def _replace_results(state: RunState, observations: tuple[Observation, ...]) -> None:
    *before, last = state.context.steps
    step = last.model_copy(update={"observations": observations})
    state.context = state.context.model_copy(update={"steps": (*before, step)})
    state.replay()


def failed_within(state: RunState, text: str) -> str:
    """Return a text that could not be read as its correction shows it: no quarter of the window."""
    window = state.card.window
    if window is None or size_of(text) <= (most := window // 4):
        return text
    tokens = state.meter.measure(text)
    return text if tokens <= most else cut(text, len(text) * most // tokens)


def shrink(state: RunState, error: ContextOverflow, tail: str) -> bool:
    """Take in why a server refused a prompt; False when no shorter one can be sent.

    A server that tells no figures has refused what was thought to fit: then the window is taken
    for a part of that, and for less the next time.
    """
    refused, window = _prompt(state, tail), error.window or state.card.window
    if error.prompt_tokens is not None:
        state.meter.learn(refused, error.prompt_tokens)
    thought = state.meter.estimate_prompt(refused)
    if error.prompt_tokens is None or window is None:
        window = min(window or thought, thought) * 4 // 5
    state.card = state.card.model_copy(update={"window": window})
    try:
        return prompt_within(state, tail) != refused
    except ContextOverflow:
        return False


def check_whole(state: RunState, prompt: str, counted: int | None) -> None:
    """Raise when the server cannot have read all that it was sent; else learn from its count."""
    if state.meter.seems_cut(prompt, counted):
        raise ContextTruncated(
            f"the server counted {counted} tokens in a prompt of about "
            f"{state.meter.estimate_prompt(prompt)}, so it dropped a part of it",
            remedy="give the model a larger window (num_ctx), or the engine a smaller one",
            prompt_tokens=counted,
            window=state.card.window,
        )
    state.meter.learn(prompt, counted)
