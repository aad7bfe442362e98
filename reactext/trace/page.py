"""Runs as one HTML page that needs nothing but itself: no script, nothing from outside.

All that a run says stands in it as text; its policy forbids the browser everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from reactext.trace.account import TABLE_COLUMNS, call_of, outcome, table_rows
from reactext.trace.timeline import timeline
from reactext.trace.values import Asked, Called, TracedRun, TracedStep
from reactext.visible import one_line, visible

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(runs: Sequence[TracedRun]) -> str:
    """Return a page that shows the runs: timeline, table of steps, and all texts whole."""
    title = one_line(runs[0].task, 60) if len(runs) == 1 else f"{len(runs)} runs"
    style = files("reactext.trace").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(_run(run, number) for number, run in enumerate(runs, 1))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{_contents(runs)}{body}\n</body>\n</html>\n"
    )


def _contents(runs: Sequence[TracedRun]) -> str:
    if len(runs) < 2:
        return ""
    items = "".join(
        f'<li><a href="#run-{number}">{escape(one_line(run.task, 100))}</a> {_badge(run)}</li>'
        for number, run in enumerate(runs, 1)
    )
    return f"<ol>{items}</ol>\n"


def _run(run: TracedRun, number: int) -> str:
    facts = " · ".join(
        filter(None, (run.started, f"{run.seconds:.2f} s", _models(run), f"run {run.run_id}"))
    )
    parts = [
        f"<h1>{_text(run.task)}</h1>",
        f'<p class="facts">{_badge(run)} {_text(facts)}</p>',
    ]
    if run.unreadable:
        parts.append(
            f'<p class="note">{run.unreadable} unreadable line(s) of the file were passed over</p>'
        )
    if run.status != "finished":
        parts.append(f'<p class="note">{_text(outcome(run))}</p>')
    if run.answer is not None:
        parts.append(f'<pre class="answer">{_text(run.answer)}</pre>')
    parts += ["<h2>Timeline</h2>", timeline(run), "<h2>Steps</h2>", _table(run)]
    parts += [_step(step) for step in run.steps]
    return f'<section class="run" id="run-{number}">\n' + "\n".join(parts) + "\n</section>"


def _models(run: TracedRun) -> str:
    names = dict.fromkeys(asked.model for step in run.steps for asked in step.asked)
    return ", ".join(name for name in names if name)


def _badge(run: TracedRun) -> str:
    word = "unfinished" if run.status == "running" else run.status
    return f'<span class="badge {run.status}">{word}</span>'


def _table(run: TracedRun) -> str:
    head = "".join(f"<th>{name}</th>" for name in TABLE_COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in table_rows(run)
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _step(step: TracedStep) -> str:
    return (
        f"<details open><summary>step {step.number}</summary>\n"
        + "\n".join(_parts(step))
        + "\n</details>"
    )


def _parts(step: TracedStep) -> Iterator[str]:
    for correction in step.corrections:
        yield _block("could not be read", correction.text, kind="bad")
        yield _block("and was corrected", f"{correction.problem}\n{correction.remedy}")
    turn = step.turn
    if turn is not None:
        yield _block("thinking", turn.thinking, prose=True)
        yield _block("thought", turn.thought, prose=True)
        yield _block("tolerated", "\n".join(turn.repairs))
    elif len(step.asked) > len(step.corrections):
        yield _block("was writing when the trace ended", step.asked[-1].text)
    for call in step.calls:
        yield from _call(call)
    if turn is not None and turn.answer is not None:
        yield _block("answer", turn.answer, prose=True)
    for asked in step.asked:
        yield _asked(asked)


def _call(call: Called) -> Iterator[str]:
    yield _block(f"action {call.action.id}", call_of(call.action))
    observation = call.observation
    if observation is None:
        yield '<div class="name">not ended when the trace did</div>'
        return
    attempts = f", {observation.attempts} attempts" if observation.attempts > 1 else ""
    name = f"observation: {observation.status} in {observation.seconds:.2f} s{attempts}"
    kind = "ok" if observation.status in ("ok", "repeated") else "bad"
    yield _block(name, observation.text or "(empty)", kind=kind)
    if observation.full is not None:
        yield _folded(f"all {len(observation.full)} characters of it", observation.full)
    if observation.detail:
        yield _folded("detail", observation.detail)


def _asked(asked: Asked) -> str:
    size = f"{asked.characters} characters"
    prompt = _text(asked.prompt) if asked.prompt is not None else "(its text was not traced)"
    return (
        f"<details><summary>what the model was sent ({size}) and wrote</summary>"
        f'<div class="name">prompt, SHA-256 {_text(asked.sha256)}</div><pre>{prompt}</pre>'
        f'<div class="name">text{", " + _text(asked.finish) if asked.finish else ""}</div>'
        f"<pre>{_text(asked.text)}</pre></details>"
    )


def _folded(name: str, text: str) -> str:
    return f"<details><summary>{_text(name)}</summary><pre>{_text(text)}</pre></details>"


def _block(name: str, text: str, *, kind: str = "", prose: bool = False) -> str:
    if not text.strip():
        return ""
    face = ' class="prose"' if prose else ""
    return f'<div class="name {kind}">{_text(name)}</div><pre{face}>{_text(text.strip())}</pre>'


def _text(text: str) -> str:
    return escape(visible(text))
