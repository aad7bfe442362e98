"""Keeps the prompts of a run within the window of its model, and notices when a server did not."""

from __future__ import annotations

from reactext.errors import ContextOverflow, ContextTruncated
from reactext.state import RunState
from reactext.window import KEPT_STEPS, fit


def least_room(window: int) -> int:
    """What is kept free for the model's own text: a quarter of a small window."""
    return min(512, window // 4)


def prompt_within(state: RunState, tail: str) -> str:
    """Return the prompt, its transcript followed by ``tail``, with so much cleared that it fits.

    Raises `ContextOverflow` when what may not be cleared does not fit.
    """
    prompt = state.head + state.transcript + tail
    if state.card.window is None:
        return prompt
    reserve = min(state.setup.options.step_tokens, least_room(state.card.window))
    budget = state.card.window - reserve
    if state.meter.estimate(prompt) <= budget * 0.8 or state.meter.exact(prompt) <= budget:
        return prompt
    for kept in range(KEPT_STEPS, 0, -1):
        _clear(state, budget, tail, kept)
        prompt = state.head + state.transcript + tail
        if (tokens := state.meter.exact(prompt)) <= budget:
            break
    else:
        raise ContextOverflow(
            f"the prompt takes about {tokens} tokens and the window is {state.card.window}, of "
            f"which {reserve} are kept for the reply",
            remedy="use a larger window, fewer tools, a shorter task or shorter observations",
            prompt_tokens=tokens,
            window=state.card.window,
        )
    return prompt


def shrink(state: RunState, error: ContextOverflow) -> bool:
    """Clear the oldest after the server refused a prompt; False when nothing could be cleared."""
    sent = state.head + state.transcript
    window = error.window or error.prompt_tokens or state.meter.estimate(sent)
    before = (state.context.cleared, state.context.dropped)
    _clear(state, window, "", KEPT_STEPS)
    return (state.context.cleared, state.context.dropped) != before


def _clear(state: RunState, budget: int, tail: str, kept: int) -> None:
    """Clear the oldest from the transcript until it takes half the budget."""
    protocol, head = state.setup.protocol, state.head + tail
    state.context = fit(state.context, head, state.meter, budget, protocol, kept=kept)
    state.replay()


def check_whole(state: RunState, prompt: str, counted: int | None) -> None:
    """Raise when the server cannot have read all that it was sent; else learn from its count."""
    if state.meter.seems_cut(prompt, counted, state.card.window):
        raise ContextTruncated(
            f"the server counted {counted} tokens in a prompt of about "
            f"{state.meter.estimate(prompt)}, so it dropped a part of it",
            remedy="give the model a larger window (num_ctx), or the engine a smaller one",
            prompt_tokens=counted,
            window=state.card.window,
        )
    state.meter.learn(prompt, counted)
