"""What each step of a run took: waiting, reading the prompt, writing, tools, tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reactext.models import Value
from reactext.trace.values import Asked, TracedStep


class Figures(Value):
    """What a step took, in seconds and tokens; None where nobody told.

    Where the server tells how long it read the prompt, ``queue`` is the rest of the wait for the
    first piece (queueing, loading, the way there); else ``prompt`` is the whole wait. ``tools`` is
    wall-clock time: actions side by side count once.
    """

    queue: float | None = None
    prompt: float | None = None
    generation: float | None = None
    tools: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def cached_share(self) -> float | None:
        """How much of the prompt the server did not have to read again, from 0 to 1."""
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens


def figures(step: TracedStep) -> Figures:
    """Return what a step took, all its prompts together."""
    return total([*(_asking(asked) for asked in step.asked), Figures(tools=_tools(step))])


def total(parts: Iterable[Figures]) -> Figures:
    """Add figures up; what nobody told counts as nothing."""
    parts = list(parts)
    sums = {}
    for name in Figures.model_fields:
        told = [value for part in parts if (value := getattr(part, name)) is not None]
        sums[name] = sum(told) if told else None
    return Figures(**sums)


def _asking(asked: Asked) -> Figures:
    usage = asked.usage
    queue, prompt, generation = None, usage.prompt_seconds, usage.completion_seconds
    if asked.first is not None and asked.last is not None:
        wait = asked.first - asked.begun
        if prompt is None:
            prompt = wait
        else:
            queue = max(0.0, wait - prompt)
        if generation is None:
            generation = asked.last - asked.first
    return Figures(
        queue=queue,
        prompt=prompt,
        generation=generation,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
    )


def _tools(step: TracedStep) -> float | None:
    spans = sorted(_spans(step))
    if not spans:
        return None
    seconds, reached = 0.0, 0.0
    for begun, ended in spans:
        seconds += max(0.0, ended - max(begun, reached))
        reached = max(reached, ended)
    return seconds


def _spans(step: TracedStep) -> Iterator[tuple[float, float]]:
    for call in step.calls:
        if call.begun is not None and call.ended is not None:
            yield call.begun, call.ended
