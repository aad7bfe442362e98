"""The timeline of a run, as HTML: when the model was asked and wrote, when which tool ran."""

from __future__ import annotations

import math
from html import escape

from reactext.trace.account import call_of
from reactext.trace.values import Asked, Called, TracedRun
from reactext.visible import one_line

_KINDS = ("queue", "prompt", "generation", "tool")
_MOST_TICKS = 5


def timeline(run: TracedRun) -> str:
    """Return the timeline: for each step a row for the model, then one for each call."""
    whole = max(run.seconds, 1e-6)
    tick = tick_of(whole)
    rows = [f'<div></div><div class="axis">{_axis(whole, tick)}</div><div></div>']
    for step in run.steps:
        bars = "".join(_asked(asked, whole, run.seconds) for asked in step.asked)
        seconds = sum((asked.last or asked.begun) - asked.begun for asked in step.asked)
        rows.append(_row(f"step {step.number}", "", bars, f"{seconds:.2f} s"))
        rows += [_called(call, whole, run.seconds) for call in step.calls]
    legend = "".join(
        f'<span><i class="{kind}"></i>{kind}</span>' for kind in (*_KINDS, "tool failed")
    )
    return (
        f'<div class="timeline" style="--tick:{100 * tick / whole:.4f}%">{"".join(rows)}</div>'
        f'<div class="legend">{legend}</div>'
    )


def tick_of(whole: float) -> float:
    """Return a round number of seconds that divides the whole into at most five."""
    size = 10.0 ** math.floor(math.log10(whole / _MOST_TICKS))
    return next(size * each for each in (1, 2, 5, 10, 20) if whole / (size * each) <= _MOST_TICKS)


def _axis(whole: float, tick: float) -> str:
    last = int(whole / tick)
    return "".join(
        f'<span style="left:{100 * number * tick / whole:.3f}%">'
        f"{number * tick:g}{' s' if number == last else ''}</span>"
        for number in range(last + 1)
    )


def _asked(asked: Asked, whole: float, ended: float) -> str:
    """Bars of one prompt: the wait, as far as it was told apart, and the writing."""
    first = ended if asked.first is None else asked.first
    told = asked.usage.prompt_seconds
    reading = first - asked.begun if told is None else min(told, first - asked.begun)
    parts: list[tuple[str, float, float]] = [
        ("queue", asked.begun, first - reading),
        ("prompt", first - reading, first),
    ]
    if asked.last is not None:
        parts.append(("generation", first, asked.last))
    return "".join(
        _bar(kind, begun, until, whole, f"{kind}: {until - begun:.3f} s")
        for kind, begun, until in parts
        if until > begun
    )


def _called(call: Called, whole: float, ended: float) -> str:
    label = one_line(call.action.tool, 40)
    title = one_line(call_of(call.action), 200)
    observation = call.observation
    if call.begun is None:
        return _row(label, title, "", observation.status if observation else "not run")
    until = ended if call.ended is None else call.ended
    kind, took = "tool", f"{until - call.begun:.2f} s"
    if observation is None:
        kind, took = "tool open", "…"
    elif observation.status not in ("ok", "repeated"):
        kind, took = "tool failed", f"✗ {took}"
    bar = _bar(kind, call.begun, until, whole, title)
    return _row(label, title, bar, took, kind="label call")


def _row(label: str, title: str, bars: str, took: str, *, kind: str = "label") -> str:
    return (
        f'<div class="{kind}" title="{escape(title)}">{escape(label)}</div>'
        f'<div class="track">{bars}</div><div class="took">{escape(took)}</div>'
    )


def _bar(kind: str, begun: float, until: float, whole: float, title: str) -> str:
    left, width = 100 * begun / whole, 100 * (until - begun) / whole
    style = f"left:{left:.3f}%;width:{width:.3f}%"
    return f'<div class="bar {kind}" style="{style}" title="{escape(title)}"></div>'
