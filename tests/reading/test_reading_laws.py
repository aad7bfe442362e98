"""What holds of every text: three outcomes, whatever the pieces; and what we write, we read."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import CASES, TOOLS, in_pieces, told

from reactext import Action, Protocol, Toolbox, Turn, TurnError, TurnReader, parse
from reactext.canonical import turn_text

CUES = (
    "",
    "Thought:",
    "Thought: x\nAction:",
    "Thought:\nFinal Answer:",
    "Action: search\nAction Input:",
)
FRAGMENTS = (
    "Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "Answer:", "Question:",
    "Human:", "思考：", "行动：", "\n", "\n\n", " ", "\r\n", "```", "```json\n", "{", "}", "(", ")",
    "[", "]", '"', "'", '"""', "“", "”", "\\", "||", "|", ",", ":", "=", "*", "**", "- ", "1. ",
    "get_weather", "search", "city", "Oslo", "None", "finish", "a", "I will ", "Observ", "Result:",
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<action>", "</action>", "[TOOL_CALLS]",
    "<|im_end|>", "</s>", "<|im_start|>user\n", "<|start|>assistant",
    "<|channel|>final<|message|>", "<|channel|>analysis<|message|>", "/*", "*/", "//", "# ",
    'get_weather(city="Oslo")', '{"query": "x"}', '{"action": "search", "action_input": "x"}',
)  # fmt: skip

soup = st.lists(st.sampled_from(FRAGMENTS), max_size=24).map("".join)
written = st.sampled_from([case.text for case in CASES])


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A text that somebody wrote, with one or two faults of a kind that happens."""
    text = draw(written)
    for _ in range(draw(st.integers(1, 2))):
        text = draw(st.sampled_from(FAULTS))(text, draw(st.randoms(use_true_random=False)))
    return text


def _cut(text: str, random: Random) -> str:
    return text[: random.randint(0, len(text))]


def _double_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return "\n".join(lines)


def _swap_lines(text: str, random: Random) -> str:
    lines = text.split("\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _flip_quotes(text: str, random: Random) -> str:
    if random.random() < 0.5:
        return text.translate(str.maketrans("\"'", "'\""))
    return text.replace(random.choice("\"'"), "", 1)


def _insert(text: str, random: Random) -> str:
    place = random.randint(0, len(text))
    return text[:place] + random.choice(FRAGMENTS) + text[place:]


def _drop(text: str, random: Random) -> str:
    place = random.randint(0, len(text))
    return text[:place] + text[place + random.randint(1, 4) :]


def _go_on(text: str, random: Random) -> str:
    return text + random.choice(["\n", "", " "]) + random.choice(CASES).text


FAULTS = (_cut, _double_line, _swap_lines, _flip_quotes, _insert, _drop, _go_on)


def summary(text: str, tools: Toolbox | None, cue: str, pieces: list[str]) -> Any:
    """All that must not depend on the pieces."""
    events, came_to = told(pieces, tools, cue=cue)
    if isinstance(came_to, TurnError):
        return events, came_to.problem, came_to.position, came_to.text
    return events, came_to


def hold(text: str, tools: Toolbox | None, cue: str, random: Random) -> None:
    whole = summary(text, tools, cue, [text])
    assert summary(text, tools, cue, list(text)) == whole
    assert summary(text, tools, cue, in_pieces(text, random)) == whole
    events, came_to = told([text], tools, cue=cue)
    actions = tuple(event for event in events if isinstance(event, Action))
    if isinstance(came_to, TurnError):
        assert came_to.problem and came_to.remedy and 0 <= came_to.position <= len(text)
        return
    assert actions == came_to.actions
    answer = "".join(
        event.text for event in events if not isinstance(event, Action) and event.kind == "answer"
    )
    assert answer == (came_to.answer or "")
    thought = "".join(
        event.text for event in events if not isinstance(event, Action) and event.kind == "thought"
    )
    if "missing opening tag" not in came_to.repairs:  # else it turned out to be thinking
        assert thought.strip() == came_to.thought
    assert (came_to.answer is None) == bool(came_to.actions)
    assert text.startswith(came_to.text)
    assert Turn.model_validate_json(came_to.model_dump_json()) == came_to


@pytest.mark.parametrize(
    "pieces",
    [
        # the bars between two inputs are no remark
        ['Action: get_weather\nAction Input: {"city": "Oslo"} |', '| {"city": "Bergen"}'],
        # a tag around a label may come in pieces, before it and after it
        ["<b>Action:<", "/b> get_time()"],
        ["Thought: Look.\n<str", "ong>Action:</str", "ong> get_time()"],
        # what is read after a native call is over at its first word, not at the comma
        ['The syntax is <tool_call>{"name": ...}</tool_call>, ', "as in Hermes."],
        # a bracket that the next call opens says nothing of the call before it
        ['Action: send_email(to="a@b.org", \\subject="x", body="p || q(1)', '") || get_time(', ")"],
    ],
)
def test_what_comes_later_does_not_change_what_was_read(pieces: list[str]) -> None:
    text = "".join(pieces)
    for tools in (TOOLS, None):
        whole = summary(text, tools, "", [text])
        assert summary(text, tools, "", pieces) == whole
        assert summary(text, tools, "", list(text)) == whole


@given(text=soup, cue=st.sampled_from(CUES), known=st.booleans(), random=st.randoms())
@settings(max_examples=150, deadline=None)
def test_any_text_comes_to_the_same_however_it_comes(
    text: str, cue: str, known: bool, random: Random
) -> None:
    hold(text, TOOLS if known else None, cue, random)


@given(text=damaged(), cue=st.sampled_from(CUES), known=st.booleans(), random=st.randoms())
@settings(max_examples=150, deadline=None)
def test_damaged_texts_come_to_the_same_however_they_come(
    text: str, cue: str, known: bool, random: Random
) -> None:
    hold(text, TOOLS if known else None, cue, random)


@pytest.mark.parametrize("label", ["Action", "Action:", "Action Input", "Thought", "Observ"])
def test_a_label_that_a_cut_completes_does_not_complete_the_call(label: str) -> None:
    _, came_to = told([f"Action: get_time\n{label}"], cut=True)
    assert isinstance(came_to, TurnError) or came_to.actions[0].problem is not None


@given(text=damaged())
@settings(max_examples=50, deadline=None)
def test_of_a_cut_text_only_what_was_complete_is_run(text: str) -> None:
    reader = TurnReader(TOOLS, cue="Thought:")
    complete = [event for event in reader.feed(text) if isinstance(event, Action)]
    _, came_to = told([text], cue="Thought:", cut=True)
    if isinstance(came_to, Turn):
        sound = [each for each in came_to.actions if each.problem is None]
        if not text.rstrip().endswith(
            ("```", "~~~", ">")
        ):  # a fence or a tag that the end completes
            # a call at the very end was complete, though it could have been one of a choice
            is_closed = ")" in text.rsplit("\n", 1)[-1]  # and a comment may follow it
            assert sound[: len(complete)] == [each for each in complete if each.problem is None]
            assert len(sound) <= len(complete) + is_closed


# -- what we write, we read ------------------------------------------------------------------

names = st.sampled_from(["city", "unit", "query", "to", "x_1", "größe", "城市"])
texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=40
) | st.sampled_from(["e:\n", "\\d\b", "\\\\d", "C:\\new\\x.txt", "Q:\nWhy?\nA:\nSo.", "\\", '\\"'])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
calls = st.builds(
    lambda tool, kwargs: (tool, kwargs),
    st.sampled_from(["lookup", "a.b", "查询", "Two Words", "tool-1"]),
    st.dictionaries(names, values, max_size=3),
)
thoughts = st.text(st.characters(categories=["Ll", "Zs"]), max_size=30).map(str.strip)


@given(thought=thoughts, written=st.lists(calls, min_size=1, max_size=4))
@settings(max_examples=120, deadline=None)
def test_calls_are_read_as_they_are_written(
    thought: str, written: list[tuple[str, dict[str, Any]]]
) -> None:
    actions = tuple(
        Action(id=f"c1.{number}", tool=tool, kwargs=kwargs)
        for number, (tool, kwargs) in enumerate(written, 1)
    )
    text = turn_text(Turn(thought=thought, actions=actions))
    read = parse(text)
    assert [(each.tool, each.kwargs) for each in read.actions] == written
    assert read.thought == thought
    assert read.repairs == ()
    assert read.text == text


@given(thought=thoughts, answer=st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1))
@settings(max_examples=60, deadline=None)
def test_an_answer_is_read_as_it_is_written(thought: str, answer: str) -> None:
    turn = Turn(thought=thought, answer=answer.strip() or "a")
    read = parse(turn_text(turn))
    assert (read.thought, read.answer, read.repairs) == (thought, turn.answer, ())


def test_an_answer_may_be_a_word_that_a_label_is_made_of() -> None:
    words = {word for _, names in Protocol().labels for word in names}
    beginnings = {word[:length].strip() for word in words for length in range(1, len(word) + 1)}
    for answer in sorted(beginnings):
        assert parse(turn_text(Turn(thought="k", answer=answer))).answer == answer
