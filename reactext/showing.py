"""How much of a result a model reads: all of it, or its head and tail and how to read on."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from reactext.models import Observation

WORTH_READING = 16
"""With fewer characters than these a result is not shown, and a page is not read."""


def shown(observation: Observation, limit: int | None, *, reads_on: bool) -> Observation:
    """Return the observation as a model reads it, in at most ``limit`` characters.

    What was cut is marked as ``truncated``, its whole text is in ``full``, and the text ends in
    the call that reads on, where it ``reads_on`` and there is room to say so.
    """
    whole = observation.text
    if limit is None or len(whole) <= limit:
        return observation
    if reads_on and observation.full is None:
        text = _cut_to_read_on(whole, limit, observation.action_id)
    else:  # a text that a hook has cut has other places than the whole
        text = cut(whole, limit)
    if len(text) >= len(whole):
        return observation
    full = whole if observation.full is None else observation.full
    return observation.model_copy(update={"text": text, "truncated": True, "full": full})


def cut(text: str, limit: int) -> str:
    """Return a text's head and tail within so many characters, and in between what is left out."""
    return _cut(text, limit)[0]


def _cut_to_read_on(text: str, limit: int, action_id: str) -> str:
    """Cut a text, and say how to read on; in little room both are said in a few words."""
    longest = _call(action_id, len(text))
    room = limit - len(f"\n[{longest} reads on]")
    if room * 3 >= limit * 2:
        told, begin = _cut(text, room)
        return f"{told}\n[{_call(action_id, begin)} reads on]"
    room = limit - len(_short_note(len(text), f": {longest}"))
    if room < WORTH_READING:
        return cut(text, limit)
    head = _boundary(text, room)
    return text[:head] + _short_note(len(text) - head, f": {_call(action_id, head)}")


def _call(action_id: str, offset: int) -> str:
    return f'read_more(id="{action_id}", offset={offset})'


def _cut(text: str, limit: int) -> tuple[str, int]:
    """Return also where what is left out begins."""
    note, short = _cut_note(len(text), len(text)), _short_note(len(text))
    if len(note) * 3 > limit:
        head = _boundary(text, max(0, limit - len(short)))
        return f"{text[:head]}{_short_note(len(text) - head)}", head
    room = limit - len(note)
    head = _boundary(text, room * 2 // 3)
    tail = _boundary(text, len(text) - (room - head))
    return f"{text[:head]}{_cut_note(tail - head, len(text))}{text[tail:]}", head


def _cut_note(left_out: int, whole: int) -> str:
    return f"\n[… {left_out} of {whole} characters are left out here …]\n"


def _short_note(left_out: int, call: str = "") -> str:
    return f" [… {left_out} more{call}]"


def _boundary(text: str, position: int) -> int:
    """Move forward to where no mark is torn from its letter; not far, a text may be all marks."""
    end = min(len(text), position + 16)
    while position < end and _joins(text, position):
        position += 1
    return position


def _joins(text: str, position: int) -> bool:
    """Whether the character belongs to the one before: a mark, a joiner, a skin tone."""
    char = text[position]
    return (
        bool(unicodedata.combining(char))
        or char in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or (position > 0 and text[position - 1] == "\u200d")
    )


def shares(costs: Sequence[int], allowance: int) -> list[int]:
    """Divide an allowance: what costs little is kept whole, and the rest have equal parts.

    The shares, of which none is more than its cost, together are at most the allowance.
    """
    left, given = max(0, allowance), [0] * len(costs)
    by_cost = sorted(range(len(costs)), key=costs.__getitem__)
    for place, index in enumerate(by_cost):
        given[index] = min(costs[index], left // (len(costs) - place))
        left -= given[index]
    return given
