"""Every case file is read right: whole, one character at a time, and in random pieces.

A regression becomes a case in `tests/cases`, in the file of its topic.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from reactext import Action, Turn, TurnError, TurnReader
from reactext.models import TextDelta
from reactext.testing import Case, check, each_case

EVERY_CASE = each_case(Path(__file__).parent / "cases")


def random_pieces(case: Case) -> list[str]:
    """The text of a case, cut at places that are the same each time."""
    random = Random(f"{case.path.name} {case.title}")
    count = random.randint(1, min(30, len(case.text)) + 1)
    cuts = sorted(random.choices(range(len(case.text) + 1), k=count))
    text = case.text
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def reading(case: Case, pieces: list[str]) -> tuple[list[TextDelta | Action], Turn | TurnError]:
    """All events of a text that comes in pieces, and what it came to."""
    reader = TurnReader(case.tools, cue=case.cue)
    events = [event for piece in pieces for event in reader.feed(piece)]
    try:
        turn = reader.close(cut=case.cut)
    except TurnError as error:
        return events + reader.rest(), error
    return events + reader.rest(), turn


@EVERY_CASE
def test_a_text_is_read_as_it_is_meant(case: Case) -> None:
    check(case)


@EVERY_CASE
def test_pieces_do_not_matter(case: Case) -> None:
    whole = reading(case, [case.text])
    for pieces in (list(case.text), random_pieces(case)):
        events, came_to = reading(case, pieces)
        assert str(came_to) == str(whole[1])
        assert together(events) == together(whole[0])


@EVERY_CASE
def test_what_was_told_is_the_turn(case: Case) -> None:
    events, came_to = reading(case, random_pieces(case))
    told = together(events)
    if isinstance(came_to, TurnError):
        assert not told.keys() & {"answer", "calls"}
        return
    assert told.get("answer") == came_to.answer
    assert tuple(event for event in events if isinstance(event, Action)) == came_to.actions
    assert case.text.startswith(came_to.text)


def together(events: list[TextDelta | Action]) -> dict[str, str]:
    """The pieces of each kind of text, joined; and the calls."""
    texts: dict[str, str] = {}
    for event in events:
        kind, text = (
            ("calls", str(event)) if isinstance(event, Action) else (event.kind, event.text)
        )
        texts[kind] = texts.get(kind, "") + text
    return texts
