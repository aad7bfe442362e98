"""What a run has done so far, and the transcript that the next prompt ends in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from reactext.canonical import call_text
from reactext.models import Action, Correction, Observation, Step, Usage, Value
from reactext.protocol import Protocol
from reactext.quoting import quoted

Status = Literal["running", "finished", "forced", "cancelled", "failed"]

_ONE_LINE = 120
"""Longest result, in characters, that is joined with others on one observation line."""


class ExecutionContext(Value):
    """A run: its task, the steps done, and how it stands.

    ``stop_reason`` says why a run ended other than by an answer of the model's own. ``cleared``
    counts the oldest steps whose observations no longer stand in the transcript, ``dropped`` the
    oldest steps that do not stand in it at all. The steps themselves are always kept whole.
    ``corrections`` are the readings that failed after the last step, where no step came of them,
    and the text that was being written when the run was stopped.
    """

    run_id: str
    task: str
    steps: tuple[Step, ...] = ()
    status: Status = "running"
    stop_reason: str = ""
    answer: str | None = None
    usage: Usage = Usage()
    cleared: int = 0
    dropped: int = 0
    corrections: tuple[Correction, ...] = ()

    def with_step(self, step: Step) -> ExecutionContext:
        """Return the context with one step more, its usage added."""
        return self.model_copy(
            update={"steps": (*self.steps, step), "usage": self.usage + step.usage}
        )

    def transcript(self, protocol: Protocol | None = None) -> str:
        """Return the text that the model continues: its own lines and the observations.

        It begins with the cue, replays each turn's text byte for byte, and ends in the cue while
        the run goes on. Each transcript begins with that of the step before, until something is
        cleared.
        """
        protocol = protocol or Protocol()
        return (
            "".join(
                transcript_part(self, index, protocol)
                for index in range(self.dropped, len(self.steps))
            )
            if self.steps
            else protocol.label("thought")
        )


class Finished(Value):
    """The last event of a run."""

    context: ExecutionContext


def transcript_part(context: ExecutionContext, index: int, protocol: Protocol) -> str:
    """Return what one step adds to the transcript, from after its cue to the next one.

    The first part that stands in the transcript begins with the cue too.
    """
    step, cue = context.steps[index], protocol.label("thought")
    opening = _opening(context.dropped, cue) if index == context.dropped else ""
    if step.turn.answer is not None and not step.observations:
        return opening + step.turn.text
    gap = "" if step.turn.text.endswith("\n") else "\n"
    body = observation_text(step.turn.actions, step.observations, protocol)
    if index < context.cleared:
        body = min(body, f"[{len(body)} characters cleared to save room]", key=len)
    return f"{opening}{step.turn.text}{gap}{protocol.label('observation')} {body}\n{cue}"


def _opening(dropped: int, cue: str) -> str:
    if not dropped:
        return cue
    return f"{cue} (earlier steps left out here to save room: {dropped})\n{cue}"


def observation_text(
    actions: Sequence[Action], observations: Sequence[Observation], protocol: Protocol
) -> str:
    """Return the observations of one turn as the model reads them, in the order of the calls.

    Short one-line results of several calls are joined as the calls were, which small models read
    best; anything else is numbered, each with its call.
    """
    texts = [quoted(each.text, protocol).strip() or "(empty)" for each in observations]
    if len(texts) == 1:
        return texts[0]
    syntax = protocol.calls
    own = (syntax.separator.strip(), "\n")
    if all(len(text) <= _ONE_LINE and not any(each in text for each in own) for text in texts):
        return syntax.separator.join(texts)
    calls = [call_text(each.tool, each.args, each.kwargs, syntax=syntax) for each in actions]
    return "\n".join(
        f"[{number}] {_short(quoted(call, protocol))} → {text}"
        for number, (call, text) in enumerate(zip(calls, texts, strict=True), 1)
    )


def _short(call: str) -> str:
    return call if len(call) <= _ONE_LINE else call[: _ONE_LINE - 1] + "…"
