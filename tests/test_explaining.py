"""An explanation has all of the text in it, and changes nothing of the reading."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactext import Turn, TurnError, parse
from reactext.explaining import explain

PIECES = [
    *("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "思考："),
    *("a(x=1)", '{"tool": "a"}', "f(", '"', "||", "**", "```", "\n", " "),
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"),
    "<|channel|>final<|message|>",
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.sampled_from(["", "Thought:", "Action:"]),
)
def test_all_of_the_text_is_there_and_the_turn_is_the_same(text: str, cue: str) -> None:
    explanation = explain(text, cue=cue)
    assert "".join(part.text for part in explanation.parts) == text
    assert (explanation.turn, explanation.problem) == _read(text, cue)
    actions = explanation.turn.actions if explanation.turn else ()
    assert list(explanation.rules) == [action.id for action in actions]


def _read(text: str, cue: str) -> tuple[Turn | None, str]:
    try:
        return parse(text, cue=cue), ""
    except TurnError as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("text", "taken_as"),
    [
        (
            "Thought: so\nAction: a(x=1)\nObservation: 1\nThought: it is 1",
            [
                "label thought",
                "thought",
                "label action",
                "action",
                "label observation, which has no place here: the turn is over",
                "not read: the turn was over",
            ],
        ),
        ("Final Answer: 1", ["label answer", "final answer"]),
        (
            "<think>so</think>It is.",
            ["mark think", "reasoning", "mark think_end", "text, no label yet"],
        ),
        ("It is.", ["text, no label yet"]),
    ],
)
def test_parts(text: str, taken_as: list[str]) -> None:
    assert [part.taken_as for part in explain(text).parts] == taken_as


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ('a(x="1")', "call of canonical.lark"),
        ("a(x: 1", "call of calls.lark"),
        ('{"tool": "a", "args": {}}', "JSON"),
    ],
)
def test_rules(call: str, rule: str) -> None:
    assert explain(f"Action: {call}").rules == {"c1.1": rule}
