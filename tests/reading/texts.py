"""Tools and texts that the tests of the reader share."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from reactext import Action, Toolbox, Turn, TurnError, TurnReader
from reactext.models import TextDelta
from reactext.testing import read_cases


def get_weather(city: str, unit: str = "c") -> str:
    """Tell the weather of a city."""
    return f"{city} {unit}"


def search(query: str) -> str:
    """Search the web."""
    return query


def send_email(to: str, subject: str, body: str) -> str:
    """Send a letter."""
    return f"{to} {subject} {body}"


def run_python(code: str) -> str:
    """Run code."""
    return code


def get_time() -> str:
    """Tell the time."""
    return "12:00"


def create_event(title: Any, date: Any = None, guests: Any = None) -> str:
    """Put something into the calendar."""
    return f"{title} {date} {guests}"


TOOLS = Toolbox([get_weather, search, send_email, run_python, get_time, create_event])

CASES = [
    case
    for path in sorted((Path(__file__).parent.parent / "cases").glob("*.case"))
    for case in read_cases(path)
    if len(case.text) < 2000
]


def told(
    pieces: list[str], tools: Toolbox | None = TOOLS, *, cue: str = "", cut: bool = False
) -> tuple[list[TextDelta | Action], Turn | TurnError]:
    """All events of a text that comes in pieces, deltas joined, and what it came to."""
    reader = TurnReader(tools, cue=cue)
    events = [event for piece in pieces for event in reader.feed(piece)]
    came_to: Turn | TurnError
    try:
        came_to = reader.close(cut=cut)
    except TurnError as error:
        came_to = error
    return joined(events + reader.rest()), came_to


def joined(events: list[TextDelta | Action]) -> list[TextDelta | Action]:
    """The same events with neighbouring deltas of one kind as one."""
    result: list[TextDelta | Action] = []
    for event in events:
        last = result[-1] if result else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta) and event.kind == last.kind:
            result[-1] = TextDelta(kind=last.kind, text=last.text + event.text)
        else:
            result.append(event)
    return result


def short(turn: Turn | TurnError) -> object:
    """What a table compares: the answer, the calls, or "error"."""
    if isinstance(turn, TurnError):
        return "error"
    if turn.answer is not None:
        return turn.answer
    return [
        (each.tool, each.problem or {**dict(enumerate(each.args)), **each.kwargs})
        for each in turn.actions
    ]


def in_pieces(text: str, random: Random) -> list[str]:
    """The text cut at random."""
    cuts = sorted(random.choices(range(len(text) + 1), k=random.randint(1, 20)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
