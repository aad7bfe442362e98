"""What is told as soon as it is certain, and never before; and when the turn is over."""

from __future__ import annotations

import pytest
from texts import TOOLS, joined, short, told

from reactext import Action, Turn, TurnError, TurnReader
from reactext.models import TextDelta


def heard(pieces: list[str], cue: str = "") -> list[str]:
    """What each piece makes certain, in a short form; "." where nothing is."""
    reader = TurnReader(TOOLS, cue=cue)
    return [shown(reader.feed(piece)) for piece in pieces]


def shown(events: list[TextDelta | Action]) -> str:
    parts = [
        f"call {event.tool}" if isinstance(event, Action) else f"{event.kind} {event.text!r}"
        for event in joined(events)
    ]
    return ", ".join(parts) or "."


@pytest.mark.parametrize(
    ("cue", "pieces", "certain"),
    [
        ("Thought:", [" Yes", " look", " it"], ["thought 'Yes'", "thought ' look'", "thought ' it'"]),
        ("Thought:", ["x\nAct", "ually y"], ["thought 'x'", "thought '\\nActually y'"]),
        ("Thought:", ["x\n```py", "\na=1\n", "```\n"],
         ["thought 'x'", ".", "thought '\\n```py\\na=1\\n```'"]),
        ("Thought:", [" {\"final_answer\": ", "\"x\"}"], [".", "."]),
        ("Thought:", ["x\n{}", "\ny\nAction: get_time()\n"],
         ["thought 'x'", "thought '\\n{}\\ny', call get_time"]),
        ("", ["Action: ", 'search(query="a"', ")", " || "], [".", ".", ".", "call search"]),
        ("", ["Action: get_time(", ")", " |", "| "], [".", ".", ".", "call get_time"]),
        ("", ["Action: get_time()", " o", "r", " else"], [".", ".", ".", "."]),
        ("", ["Action: get_time()", " o", "f", " now"], [".", ".", "call get_time", "."]),
        ("", ["Action: get_time()", "\n"], [".", "call get_time"]),
        ("", ["Action: search('a')", " |", "|", " get"], [".", ".", "call search", "."]),
        ("", ["Action: search\nAction Input: {", '"query": "a"', "}"], [".", ".", "call search"]),
        ("", ["Action: search\nAction Input: a", " b\n", "Obs", "ervation:", " x"],
         [".", ".", ".", ".", "call search"]),
        ("", ['Action: {"tool": "search", "args": {"query": "a"}', "}"], [".", "call search"]),
        ("", ["<tool_call>", '{"name": "get_time"}', "</tool_call>"], [".", ".", "call get_time"]),
        ("", ["Final Answer: It", " is ", "noon. ", "\n"],
         ["answer 'It'", "answer ' is'", "answer ' noon.'", "."]),
        ("", ["Final Answer: a\n", "Tho", "ught: b"], ["answer 'a'", ".", "."]),
        ("", ["Final Answer: a\n", "Tho", "se are"], ["answer 'a'", ".", "answer '\\nThose are'"]),
        ("", ["Final Answer: a<|im_", "end|>", "\n"], ["answer 'a'", ".", "."]),
        ("", ["Final Answer: a\n```", "\n"], ["answer 'a'", "."]),
        ("", ["Final Answer: <your", " answer", "> is"], [".", ".", "answer '<your answer> is'"]),
        ("", ["Hello", " there", "\nFinal Answer: x"], [".", ".", "thought 'Hello there'"]),
        ("", ["<think>", "yes", "</thi", "nk>\nThought: yes"],
         [".", "thinking 'yes'", ".", "thought 'yes'"]),
    ],
)  # fmt: skip
def test_each_piece_tells_what_it_makes_certain(
    cue: str, pieces: list[str], certain: list[str]
) -> None:
    assert heard(pieces, cue) == certain


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('Action: search(query="a")\nObservation: ', "x"),
        ('Action: search(query="a")\nThought: ', "x"),
        ('Action: search(query="a")\nFinal Answer: ', "x"),
        ('Action: search\nAction Input: {"query": "a"}\n\n', "Yes, I wait"),
        ("Thought: a\nObservation: ", "b"),
        ("Final Answer: a\nObservation: ", "b"),
        ("Final Answer: a\nThought: ", "b"),
        ("Final Answer: a\n\nQuestion: b\nThought: ", "c"),
        ("Final Answer: a<|im_end|>\n", "<|im_start|>user"),
    ],
)
def test_the_turn_is_over_as_soon_as_it_is(text: str, rest: str) -> None:
    reader = TurnReader(TOOLS, cue="Thought:")
    for character in text.rstrip():
        reader.feed(character)
    assert not reader.done
    reader.feed(text[len(text.rstrip()) :] + rest[0])
    assert reader.done
    assert reader.feed("Action: get_time()") == []


def test_ids_carry_the_step() -> None:
    reader = TurnReader(TOOLS, step=3)
    reader.feed("Action: get_time() || get_time()")
    assert [each.id for each in reader.close().actions] == ["c3.1", "c3.2"]


def test_reasoning_that_the_prompt_has_opened() -> None:
    reader = TurnReader(TOOLS, cue="", thinking_open=True)
    events = reader.feed("Action: get_time()\nno.</think>\nFinal Answer: Noon.")
    turn = reader.close()
    assert (turn.thinking, turn.answer, turn.actions) == ("Action: get_time()\nno.", "Noon.", ())
    assert shown(events) == "thinking 'Action: get_time()\\nno.', answer 'Noon.'"


@pytest.mark.parametrize(
    ("cue", "text", "read"),
    [
        ("Thought: x\nAction:", " get_time()", [("get_time", {})]),
        ("Thought: x\nAction: search\nAction Input:", " a b", [("search", {"query": "a b"})]),
        ("Action: search\nAction Input:", ' {"query": "a"}', [("search", {"query": "a"})]),
        ("Action: search(", 'query="a")', [("search", {"query": "a"})]),
        ("Thought: x\nFinal Answer:", " It is noon.\nThought: y", "It is noon."),
        ("Thought:", " just a thought", "error"),
        ("Thought:", " x\nFinal Answer: y", "y"),
        ("no label here", " just a text", "just a text"),
    ],
)
def test_a_text_continues_its_cue(cue: str, text: str, read: object) -> None:
    events, came_to = told([text], cue=cue)
    assert short(came_to) == read
    assert told(list(text), cue=cue) == (events, came_to) or isinstance(came_to, TurnError)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('Action: search(query="a"', "error"),
        ('Action: search(query="a") || search(query="b"', [("search", {"query": "a"})]),
        ("Action: search\nAction Input: half a que", "error"),
        ('Action: search\nAction Input: {"query": "a"', "error"),
        ("Action: sear", "error"),
        ("Action: search", "error"),
        ('Action: search(query="a")', [("search", {"query": "a"})]),
        ('Action: search\nAction Input: {"query": "a"}', [("search", {"query": "a"})]),
        ('<tool_call>{"name": "get_time"}', "error"),
        ("Final Answer: half an ans", "half an ans"),
        ("a plain tex", "error"),
        ("Thought: half", "error"),
    ],
)
def test_at_the_length_limit_only_what_is_complete_counts(text: str, read: object) -> None:
    _, came_to = told([text], cut=True)
    if isinstance(came_to, Turn) and came_to.actions:
        came_to = came_to.model_copy(
            update={"actions": tuple(each for each in came_to.actions if each.problem is None)}
        )
    assert short(came_to) == read
