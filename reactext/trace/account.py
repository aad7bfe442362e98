"""A run as people read it: what was thought, done and seen, and what each step took."""

from __future__ import annotations

from collections.abc import Iterator

from reactext.canonical import call_text
from reactext.models import Action
from reactext.trace.figures import Figures, figures, total
from reactext.trace.values import Called, TracedRun, TracedStep
from reactext.visible import one_line, visible

TABLE_COLUMNS = ("step", "queue", "prompt", "generation", "tools", "tokens in", "out", "cached")


def account(run: TracedRun, *, width: int | None = 200) -> str:
    """Return what happened in a run, as text; `step_table` has the figures.

    With a ``width`` each thing stands on one line and is cut after so many characters, as a
    reader counts them; with None it is whole, line breaks and all. Control characters are
    written out, so that no text of a model or a tool steers the terminal.
    """
    lines = [*_heading(run, width)]
    for step in run.steps:
        lines += ["", *_step(step, width)]
    lines += ["", *_ending(run, width)]
    return "\n".join(lines) + "\n"


def call_of(action: Action) -> str:
    """Return a call as the model wrote it, or would write it."""
    return action.text.strip() or call_text(action.tool, action.args, action.kwargs)


def outcome(run: TracedRun) -> str:
    """Say in a few words how a run ended, or that its trace does not say."""
    if run.status == "running":
        return "the trace ends here: the run goes on, or its process was killed"
    return f"{run.status}: {run.stop_reason}" if run.stop_reason else run.status


def step_table(run: TracedRun) -> str:
    """Return a table of what each step took: seconds, tokens, and how much was cached."""
    rows = [TABLE_COLUMNS, *table_rows(run)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def table_rows(run: TracedRun) -> list[tuple[str, ...]]:
    """Return the rows of the table, a step each and the sum last; "-" for what nobody told."""
    parts = [figures(step) for step in run.steps]
    return [
        *((str(step.number), *_cells(each)) for step, each in zip(run.steps, parts, strict=True)),
        ("all", *_cells(total(parts))),
    ]


def _cells(given: Figures) -> tuple[str, ...]:
    seconds = (given.queue, given.prompt, given.generation, given.tools)
    tokens = (given.prompt_tokens, given.completion_tokens)
    return (
        *("-" if each is None else f"{each:.2f}" for each in seconds),
        *("-" if each is None else str(each) for each in tokens),
        "-" if given.cached_share is None else f"{given.cached_share:.0%}",
    )


def _heading(run: TracedRun, width: int | None) -> Iterator[str]:
    count = f"{len(run.steps)} step{'' if len(run.steps) == 1 else 's'}"
    yield f"run {visible(run.run_id)}"
    yield " · ".join(filter(None, (run.started, count, f"{run.seconds:.2f} s", run.status)))
    yield _entry("task", run.task, width, indent="")
    if run.unreadable:
        yield f"({run.unreadable} unreadable line(s) of the file were passed over)"


def _step(step: TracedStep, width: int | None) -> Iterator[str]:
    ended = "…" if step.ended is None else f"{step.ended:.2f} s"
    yield f"step {step.number} · {step.begun:.2f}–{ended}"
    for correction in step.corrections:
        yield _entry("wrote", correction.text, width)
        yield _entry("✗ corrected", f"{correction.problem} {correction.remedy}", width)
    turn = step.turn
    if turn is None:
        if len(step.asked) > len(step.corrections):
            yield _entry("was writing", step.asked[-1].text or "(nothing yet)", width)
    else:
        for name, text in (("thinking", turn.thinking), ("thought", turn.thought)):
            if text.strip():
                yield _entry(name, text, width)
        for repair in turn.repairs:
            yield _entry("tolerated", repair, width)
    for call in step.calls:
        yield from _call(call, width)
    if turn is not None and turn.answer is not None:
        yield _entry("answer", turn.answer, width)


def _call(call: Called, width: int | None) -> Iterator[str]:
    yield _entry(f"→ {call.action.id}", call_of(call.action), width)
    observation = call.observation
    if observation is None:
        begun = "was not run" if call.begun is None else "was running"
        yield f"  ← {begun} when the trace ended"
        return
    attempts = f", {observation.attempts} attempts" if observation.attempts > 1 else ""
    name = f"← {observation.status} in {observation.seconds:.2f} s{attempts}"
    yield _entry(name, observation.full or observation.text, width)
    if observation.detail:
        yield _entry("detail", observation.detail, width, indent="    ")


def _ending(run: TracedRun, width: int | None) -> Iterator[str]:
    yield f"→ {one_line(outcome(run), width)}"
    told = run.steps[-1].turn if run.steps else None
    if run.answer is not None and (told is None or told.answer != run.answer):
        yield _entry("answer", run.answer, width, indent="")


def _entry(name: str, text: str, width: int | None, indent: str = "  ") -> str:
    if width is not None:
        return f"{indent}{name}: {one_line(text, width)}"
    return f"{indent}{name}: " + visible(text).strip().replace("\n", f"\n{indent}  ")
