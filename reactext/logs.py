"""Tells Python's logging, under the name "reactext", how runs go: which, how far, how long.

Each record has its facts as attributes too (``event``, ``run_id``, ``step``, ``seconds`` …), for a
formatter that writes them as fields. INFO says nothing of what a task, a prompt, a model or a tool
says; DEBUG has the texts of turns and observations, but never a prompt, an option or ``deps``.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from reactext.hooks import Event, Hook, Moment
from reactext.models import Action, Correction, Observation, Step, Turn

logger = logging.getLogger("reactext")


class RunLog(Hook):
    """Logs the runs of an engine; every engine has one. What nobody listens to costs nothing."""

    only_watches = True

    def before_step(self, moment: Moment) -> None:
        """Log that a run begins."""
        if not moment.context.steps:
            _log(
                logging.INFO,
                moment,
                "run_started",
                task_characters=len(moment.context.task),
                tools=len(moment.toolbox),
            )

    def after_turn(self, moment: Moment, turn: Turn) -> Turn:
        """Log the text of a turn, for who debugs."""
        _log(logging.DEBUG, moment, "turn_read", step=_number(moment), text=turn.text)
        return turn

    def on_event(self, moment: Moment, event: Event) -> None:
        """Log steps, and what could not be read; for who debugs, calls and their results too."""
        match event:
            case Step():
                _log_step(moment, event)
            case Correction():
                _log(logging.INFO, moment, "turn_corrected", step=_number(moment))
                _log(logging.DEBUG, moment, "turn_unreadable", text=event.text, why=event.problem)
            case Action():
                _log(logging.DEBUG, moment, "action", action_id=event.id, call=event.text)
            case Observation():
                _log(
                    logging.DEBUG,
                    moment,
                    "observation",
                    action_id=event.action_id,
                    status=event.status,
                    text=event.text,
                )

    def at_end(self, moment: Moment) -> None:
        """Log how a run ended."""
        context = moment.context
        _log(
            logging.INFO,
            moment,
            "run_ended",
            status=context.status,
            reason=_kind(context.stop_reason),
            steps=len(context.steps),
            seconds=round(moment.seconds, 3),
            prompt_tokens=context.usage.prompt_tokens,
            completion_tokens=context.usage.completion_tokens,
        )


def _log_step(moment: Moment, step: Step) -> None:
    calls = (
        # a name that is none of a tool's is a text of the model's
        f"{each.tool if each.tool in moment.toolbox else 'unknown'}:{each.status}"
        for each in step.observations
    )
    _log(
        logging.INFO,
        moment,
        "step_done",
        step=len(moment.context.steps),
        calls=",".join(calls),
        answered=step.turn.answer is not None,
        prompt_tokens=step.usage.prompt_tokens,
        cached_tokens=step.usage.cached_tokens,
        completion_tokens=step.usage.completion_tokens,
    )


def _number(moment: Moment) -> int:
    return len(moment.context.steps) + 1


def _kind(reason: str) -> str:
    """Return what kind of end it was; the rest may be a server's message, with any text in it."""
    found = re.match(r"\w{0,40}", reason)
    return found.group() if found else ""


def _log(level: int, moment: Moment, event: str, **facts: Any) -> None:
    if not logger.isEnabledFor(level):
        return
    told = {name: value for name, value in facts.items() if value is not None}
    text = " ".join(f"{name}={_shown(value)}" for name, value in told.items())
    run_id = moment.context.run_id
    extra = {"event": event, "run_id": run_id, **told}
    logger.log(level, "%s run=%s %s", event, run_id, text, extra=extra)


def _shown(value: Any) -> str:
    if isinstance(value, str) and not re.fullmatch(r"[\w.,:-]+", value):
        return ascii(value) if not value.isprintable() else repr(value)
    return str(value)
