"""The account of a run, told while it goes on.

Thoughts, actions and observations go to stderr, the answer to stdout: piped, the answer is alone.
On a terminal it is shown as it comes.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console

from reactext.cli.waiting import Waiting
from reactext.context import ExecutionContext, Finished
from reactext.graphemes import cut
from reactext.hooks import Event
from reactext.models import Action, Correction, Observation, Step, TextDelta
from reactext.reading.settling import CUT
from reactext.visible import visible

LONGEST = 600
"""Characters of an observation that are shown; all of it is in the context."""

_STYLES = {"thought": "dim", "thinking": "dim italic", "answer": "none"}


class _Screen(Console):
    """A console that says when nobody reads it any more, where rich would end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Account:
    """Shows each event as it comes; it remembers only where the cursor is.

    ``out`` is where the answer goes, stdout by default. ``model`` is named in the last line.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        answer: bool = True,
        out: TextIO | None = None,
        model: str = "",
    ) -> None:
        self._out = out or sys.stdout
        self._told = _Screen(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._on_screen = answer and self._out.isatty()
        self._answers = _Screen(file=self._out, quiet=not self._on_screen, highlight=False)
        self._answer = answer
        self._model = model
        self._started = time.monotonic()
        self._wait = Waiting(self._told)
        self._problem = ""
        self._kind = ""
        self._blank = ""
        self._open: _Screen | None = None
        self._awaited: set[str] = set()
        self._several = False
        self._streamed = ""

    def __enter__(self) -> Account:
        self._wait.start("loading the model and reading the task")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wait.stop()
        self._end_line()
        if self._problem and self._problem not in str(error):  # an error is told by who catches it
            self._tell_problem()

    def show(self, event: Event) -> None:
        """Tell one event."""
        self._wait.stop()
        self._tell_problem()
        match event:
            case TextDelta():
                self._show_text(event)
            case Action():
                self._several = bool(self._awaited)
                self._awaited.add(event.id)
                self._line(f"→ {event.text or event.tool}", "cyan")
            case Observation():
                self._show_observation(event)
            case Correction():
                self._problem = event.problem
                self._wait.start("asking the model again")
            case Step():
                self._wait.start("the model reads what came of it")
            case Finished():
                self._finish(event.context)

    def _show_text(self, delta: TextDelta) -> None:
        """Write a piece; blanks wait for what follows them, since nothing may."""
        if delta.kind != self._kind:
            self._end_line()
            self._kind, self._blank, self._streamed = delta.kind, "", ""
        text = self._blank + delta.text if self._open else delta.text.lstrip()
        shown = text.rstrip()
        self._blank = text[len(shown) :]
        if shown:
            console = self._answers if delta.kind == "answer" else self._told
            console.out(visible(shown), style=_STYLES[delta.kind], end="")
            console.file.flush()
            self._open = console
            self._streamed += text[: len(shown)]

    def _show_observation(self, observation: Observation) -> None:
        self._awaited.discard(observation.action_id)
        name = f"{observation.tool}: " if self._several else ""
        text = observation.text.strip()
        if len(text) > LONGEST:
            text = f"{cut(text, LONGEST)} ({len(text)} characters)"
        self._line(f"← {name}{text}", "green" if observation.status == "ok" else "red")

    def _tell_problem(self) -> None:
        problem, self._problem = self._problem, ""
        if problem:
            self._line(f"✗ {problem}", "yellow")

    def _line(self, text: str, style: str) -> None:
        self._end_line()
        self._told.out(visible(text), style=style)

    def _end_line(self) -> None:
        if self._open is not None:
            self._open.out("")
        self._open, self._kind = None, ""

    def _finish(self, context: ExecutionContext) -> None:
        streamed = self._on_screen and self._kind == "answer"
        self._end_line()
        if self._answer and context.answer and not (streamed and self._is_shown(context.answer)):
            answer = visible(context.answer) if self._on_screen else context.answer
            print(answer, file=self._out, flush=True)
        if is_cut(context):
            self._line("the answer is cut: it came to the limit of tokens", "yellow")
        elif context.status != "finished":
            self._line(_outcome(context), "yellow")
        seconds = time.monotonic() - self._started
        self._line(_figures(context, seconds, self._model), "dim")

    def _is_shown(self, answer: str) -> bool:
        return answer.strip() == self._streamed.strip()


def is_cut(context: ExecutionContext) -> bool:
    """Whether the answer ended where the model's tokens did."""
    return context.status == "finished" and context.stop_reason == CUT


def _outcome(context: ExecutionContext) -> str:
    reason = context.stop_reason or "no reason given"
    if context.status == "forced":
        return f"not finished ({reason}): this is what the steps so far allow to say"
    return f"{context.status}: {reason}"


def _figures(context: ExecutionContext, seconds: float, model: str) -> str:
    usage = context.usage
    steps = f"{len(context.steps)} step{'s' * (len(context.steps) != 1)}"
    parts = [*filter(None, [visible(model)]), steps, f"{seconds:.1f} s"]
    if usage.prompt_tokens is not None:
        cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
        parts.append(f"{usage.prompt_tokens} tokens read{cached}")
    if usage.completion_tokens is not None:
        parts.append(f"{usage.completion_tokens} written")
    return " · ".join(parts)
