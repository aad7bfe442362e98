"""The right line that an unreadable text is answered with calls the tool that was meant."""

from __future__ import annotations

import pytest

from reactext.errors import TurnError
from reactext.reader import parse
from reactext.tools import tool


@tool
def look_up(city: str) -> str:
    """Look up."""
    return city


@tool
def look_up_all(cities: list[str]) -> str:
    """Look up all."""
    return str(cities)


@tool
def convert(amount: float, to: str) -> str:
    """Convert."""
    return to


TOOLS = [look_up, look_up_all, convert]
REMEDIES = [
    ("", "look_up("),
    (" I wonder.", "look_up("),
    (" I wonder.\nAction: convert(", "convert("),
    (" I wonder.\nAction: convert", "convert("),
    (' I wonder.\nAction: convert(amount=1, to="N', "convert("),
    (" I wonder.\nI would call convert, if I could.", "convert("),
    (" I wonder.\nAction: look_up_all(", "look_up_all("),
    (" I look_up what there is.\nAction: convert(amount=", "convert("),
    (" I wonder.\nAction: Convert:", "convert("),
]


@pytest.mark.parametrize(("text", "call"), REMEDIES)
def test_the_right_line_calls_the_tool_that_was_meant(text: str, call: str) -> None:
    with pytest.raises(TurnError) as caught:
        parse(text, TOOLS, cue="Thought:")
    assert caught.value.remedy.startswith(f"Action: {call}")
