"""The formats that other engines teach, in the shapes that their own parsers are tested with."""

from __future__ import annotations

import pytest
from texts import short

from reactext import Toolbox, Turn, TurnError, parse


def search(query: str) -> str:
    """Search."""
    return query


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def terminal(command: str) -> str:
    """Run a command."""
    return command


def python(code: str) -> str:
    """Run code."""
    return code


def query_sql(statement: str) -> str:
    """Query."""
    return statement


def image_gen(prompt: str) -> str:
    """Draw."""
    return prompt


TOOLS = Toolbox([search, add, terminal, python, query_sql, image_gen])

SINGLE_INPUT = [
    ("Thought: I look.\nAction: search\nAction Input: weather in SF?", "weather in SF?"),
    ('Thought: I look.\nAction: search\nAction Input: "weather in SF?"', "weather in SF?"),
    ("Action: search \nAction Input: NBA", "NBA"),
    ("Action: search\nAction Input: NBA \n", "NBA"),
    ("Action 1: search\nAction 1 Input: NBA", "NBA"),
    ("Action 12: search\nAction Input 12: NBA", "NBA"),
    ("Action:search\nAction Input:NBA", "NBA"),
    ("Thought: a\n\nAction: search\n\nAction Input: NBA\n\nObservation: x", "NBA"),
    ("Action: search\nAction Input: what's 2 + 2?", "what's 2 + 2?"),
    ("Action: search\nAction Input: a\n\nb", "a\n\nb"),
    ("Action: search\nAction Input: **bold** words", "**bold** words"),
    ('Action: search\nAction Input: "Dune" and "Dune Two"', '"Dune" and "Dune Two"'),
    ("Action: search\nAction Input: { query }", "{ query }"),
    ("Action: search\nAction Input: ", "error"),
]


@pytest.mark.parametrize(("text", "query"), SINGLE_INPUT)
def test_one_text_as_the_input(text: str, query: str) -> None:
    read = short(parsed(text))
    assert read == (query if query == "error" else [("search", {"query": query})])


def parsed(text: str) -> Turn | TurnError:
    try:
        return parse(text, TOOLS)
    except TurnError as error:
        return error


def test_code_stands_in_a_fence() -> None:
    text = (
        "Now I need a test.\n\nAction: python\nAction Input:\n```\nimport unittest\n\n"
        "unittest.main()\n```"
    )
    assert short(parse(text, TOOLS)) == [("python", {"code": "import unittest\n\nunittest.main()"})]


def test_labels_stand_alone_on_their_lines() -> None:
    text = "I can use `ls`.\n\nAction:\nterminal\n\nAction Input:\nls -l ~/.bashrc.d/\n"
    assert short(parse(text, TOOLS)) == [("terminal", {"command": "ls -l ~/.bashrc.d/"})]


def test_quotes_of_a_statement_are_its_own() -> None:
    statement = 'SELECT "UserName", MAX(total) FROM shifts GROUP BY "UserName"'
    text = f"I should query.\nAction: query_sql\nAction Input: {statement} "
    assert short(parse(text, TOOLS)) == [("query_sql", {"statement": statement})]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Final Answer: 100 degrees", "100 degrees"),
        ("Thought: I can answer.\nFinal Answer:\nThe quick brown fox.", "The quick brown fox."),
        ("Thought: I can answer.\nFinal Answer: a\nb\n\nc", "a\nb\n\nc"),
        ("Thought: I can answer.\nFinal Answer:   two  ", "two"),
        ("Final Answer: The fox.\n\nAction: search\nAction Input: NBA", "The fox."),
        ("Thought: (Implicit) I can answer without any more tools!\nAnswer: 2", "2"),
        ("Thought: I can answer without using any more tools.\nAnswer: 2\n", "2"),
        ("Thought: x\nAnswer: see\nThought: y", "see"),
        ("Thought: x\nFinal Answer: \n```\ncode\n```", "```\ncode\n```"),
        ("Thought: Do I need to use a tool? No\nFinal Answer: Hi!", "Hi!"),
        ("Hello, how can I help?", "Hello, how can I help?"),
    ],
)
def test_answers(text: str, answer: str) -> None:
    assert short(parse(text, TOOLS)) == answer


@pytest.mark.parametrize(
    "text",
    [
        "Thought: do the thing\nBad: thing",
        "Thought: do the thing\nAction Input: thing",
        "Thought: do the thing\nAction: ",
    ],
)
def test_what_none_of_them_reads(text: str) -> None:
    with pytest.raises(TurnError):
        parse(text, TOOLS)


JSON_BLOBS = [
    '{"action": "add", "action_input": {"a": 1, "b": 2}}',
    '```{"action": "add", "action_input": {"a": 1, "b": 2}}```',
    '```json\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n```',
    'Thought: x\nAction:\n```\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n```',
    'Thought: x\nAction:\n```json\n{"action": "add", "action_input": {"a": 1, "b": 2}}```',
    'Thought: x\nAction: ```\n{"action": "add",\n"action_input": {"a": 1, "b": 2}}\n```\nSo.',
    'Thought: x\nAction:```json\n\n\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n\n```',
    'Thought: x\nAction:\n{"action": "add", "action_input": {"a": 1, "b": 2}}',
    'Action:\n```\n[{"action": "add", "action_input": {"a": 1, "b": 2}}]\n```',
    'Action:\n\n ```json\n {"action": "add", "action_input": {"a": 1, "b": 2}}\n ```',
    "Action: {'action': 'add', 'action_input': {'a': 1, 'b': 2}}",
    '{"name": "add", "arguments": {"a": 1, "b": 2}}',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
    'Thought: x\nAction: add\nAction Input: {"a": 1, "b": 2}',
    "Thought: x\nAction: add\nAction Input: {'a': 1, 'b': 2}",
    "Thought: x\nAction: add\nAction Input: {a: 1, b: 2}",
    'Thought: x\nAction: add\nAction Input: {"a": 1, "b": 2} (waiting)',
    'Thought: x\nAction: add\nAction Input: {"a": 1, "b": 2}\nObservation: 3\nAnswer: 3',
    'Thought: x\nAction: add (the tool)\nAction Input: {"a": 1, "b": 2}',
    'Thought: x\nAction: add\nAction Input: ```{"a": 1, "b": 2}```',
    'Thought: x\nAction: add\nAction Input: {{"a": 1, "b": 2}}',
    'Thought: x\nAction: add\nAction Input: {"a": 1, "b": 2,}',
    'Thought: x\nAction: add\nAction Input: {"properties": {"a": 1, "b": 2}}',
    'Thought: x\nAction: Add\nAction Input: {"a": 1, "b": 2}',
    '✿FUNCTION✿: add\n✿ARGS✿: {"a": 1, "b": 2}\n✿RESULT✿: 3',
    "Thought: x\nAction: add(a=1, b=2)",
    "Thought: x\nAction: add(1, 2)",
    '<tool>add</tool><tool_input>{"a": 1, "b": 2}</tool_input>',
]


@pytest.mark.parametrize("text", JSON_BLOBS)
def test_objects_and_calls(text: str) -> None:
    assert short(parse(text, TOOLS)) == [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('```json\n{"action": "Final Answer", "action_input": "bar"}\n```', "bar"),
        ('Action:\n```\n{"action": "Final Answer", "action_input": "a\\n```\\nb\\n```"}\n```',
         "a\n```\nb\n```"),
        ('{"action": "Final Answer", "action_input": {"x": 1}}', '{"x": 1}'),
        ("<final_answer>The answer</final_answer>", "The answer"),
    ],
)  # fmt: skip
def test_answers_as_objects(text: str, answer: str) -> None:
    assert short(parse(text, TOOLS)) == answer


def test_a_made_up_round_is_dropped() -> None:
    text = (
        '\nThought: I draw.\nAction: image_gen\nAction Input: {"prompt": "a cat"}\n'
        "Observation: {'image_url': 'x'}\nThought: Done.\nFinal Answer: Here it is."
    )
    turn = parse(text, TOOLS)
    assert short(turn) == [("image_gen", {"prompt": "a cat"})]
    assert turn.text.endswith('{"prompt": "a cat"}\n') and turn.thought == "I draw."
