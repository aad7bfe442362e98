"""Writes a case as it stands in a file, for a text whose reading is known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reactext.testing.escapes import escaped, is_visible
from reactext.testing.outcomes import NotationError, Outcome, outcome_text, read_outcomes

_TEXTS = ("thinking", "thought", "answer", "problem")


def case_text(title: str, text: str, *outcomes: Outcome, cue: str = "", cut: bool = False) -> str:
    """Write a case; `read_cases` gives it back.

    Texts stand as they are where all of them can be seen, else escaped.
    """
    settings = ["cut: yes"] * cut
    if "\n" in cue or not is_visible(cue) or not _can_stand_as_is(text, outcomes):
        settings.append("escaped: yes")
        cue = _on_one_line(cue)
        text = escaped(text)
        outcomes = tuple(map(_escaped, outcomes))
    settings += [f"cue: {cue}"] * bool(cue)
    content = [text] * bool(text)
    wanted = "\nor\n".join(map(outcome_text, outcomes))
    rows = re.findall(r"^\.+$", "\n".join([*content, wanted]), re.MULTILINE)
    row = "." * (1 + max(map(len, rows), default=0))
    return "\n".join([title, *settings, row, *content, row, wanted, row, ""])


def _can_stand_as_is(text: str, outcomes: Sequence[Outcome]) -> bool:
    wanted = "\nor\n".join(map(outcome_text, outcomes))
    if not is_visible(text) or not is_visible(wanted):
        return False
    try:
        return read_outcomes(wanted.split("\n")) == tuple(outcomes)
    except NotationError:
        return False


def _escaped(outcome: Outcome) -> Outcome:
    """Write each text on one line, so that none of its lines is taken for another's label."""
    texts = {name: getattr(outcome, name) for name in _TEXTS}
    changed = {name: _on_one_line(text) for name, text in texts.items() if text is not None}
    return outcome.model_copy(update=changed)


def _on_one_line(text: str) -> str:
    return escaped(text).replace("\n", r"\n")
