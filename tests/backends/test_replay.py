"""A prompt in tokens and texts is the same prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from apis import NOT_FOUND, SOON, heard, llama_end
from hypothesis import given
from hypothesis import strategies as st
from wire_server import Asked, as_json, chunked, serving

from reactext.backends import NEVER, LlamaCppModel
from reactext.backends._replay import Line, Part, Replay
from reactext.completion import Completion

TOKENS = ["a", "b", "ab", "\n", "北", "", "aba"]
WRITTEN = st.lists(st.tuples(st.integers(0, len(TOKENS) - 1), st.booleans()), max_size=8)


def write(line: Line, written: list[tuple[int, bool]]) -> None:
    """Extend a line as a server tells of it, holding back the text of some tokens for a while."""
    held = ""
    for token, is_held in written:
        held += TOKENS[token]
        line.extend("" if is_held else held, [token])
        held = held if is_held else ""
    line.extend(held, [])


def spelled(parts: list[Part]) -> str:
    return "".join(TOKENS[part] if isinstance(part, int) else part for part in parts)


@given(st.lists(st.tuples(st.text("ab\n北", max_size=4), WRITTEN), max_size=4), st.data())
def test_the_parts_of_a_prompt_spell_it(
    turns: list[tuple[str, list[tuple[int, bool]]]], data: st.DataObject
) -> None:
    replay = Replay()
    prompt = "Q"
    for observation, written in turns:
        prompt += observation
        line = replay.line(prompt)
        assert spelled(line.parts) == prompt
        assert line.ends[-1] == len(prompt)
        write(line, written)
        replay.remember(line)
        # a reader may stop before the end of what was written
        prompt = line.text[: data.draw(st.integers(0, len(line.text)))]
    assert spelled(replay.line(prompt + "x").parts) == prompt + "x"


def test_what_the_model_wrote_stays_in_its_tokens() -> None:
    replay = Replay()
    line = replay.line("Q")
    assert line.parts == ["Q"]
    write(line, [(0, False), (1, False), (2, False)])
    replay.remember(line)
    assert replay.line("Qabab\nO").parts == ["Q", 0, 1, 2, "\nO"]
    assert replay.line("Qaba\nO").parts == ["Q", 0, 1, "a\nO"]
    assert replay.line("Qabab").parts == ["Q", 0, 1, 2]
    assert replay.line("Qx").parts == ["Qx"]
    assert replay.line("").parts == [""]


def test_conversations_do_not_forget_each_other() -> None:
    replay = Replay()
    for number in range(3):
        line = replay.line(f"Q{number}")
        write(line, [(0, False)])
        replay.remember(line)
    for number in range(3):
        assert replay.line(f"Q{number}a!").parts == [f"Q{number}", 0, "!"]


class LlamaServer:
    """Writes two tokens a time, and tells how its tokenizer cuts a text amid tokens."""

    def __init__(self, tokenized: Any) -> None:
        self.tokenized = tokenized

    def __call__(self, asked: Asked) -> Iterable[Any]:
        if asked.path == "/tokenize":
            return [as_json(self.tokenized) if self.tokenized is not None else NOT_FOUND]
        events = [
            b'data: {"content":" a","tokens":[7],"stop":false}\n\n',
            b'data: {"content":"b","tokens":[8],"stop":false}\n\n',
            llama_end(),
        ]
        return chunked(events, "text/event-stream")


JOINS = {"tokens": [{"id": 1, "piece": "\n"}, {"id": 2, "piece": "Ob"}]}


@pytest.mark.parametrize(
    ("tokenized", "second"),
    [
        (JOINS, ["Q", 7, 8, "\nO"]),
        ({"tokens": [{"id": 1, "piece": " "}, {"id": 2, "piece": "\nOb"}]}, "Q ab\nO"),
        ({"tokens": [1, 2]}, "Q ab\nO"),
        ({}, "Q ab\nO"),
        (None, "Q ab\nO"),
    ],
)
def test_tokens_are_sent_where_texts_amid_them_stay_themselves(tokenized: Any, second: Any) -> None:
    with serving(LlamaServer(tokenized)) as server:
        model = LlamaCppModel(server.url, timeouts=SOON, retry=NEVER)
        for prompt in ("Q", "Q ab\nO", "Q ab\nO ab\nO"):
            heard(model, prompt)
        sent = [asked.body["prompt"] for asked in server.asked if asked.path == "/completion"]
        assert server.paths().count("/tokenize") == 1
    assert sent[:2] == ["Q", second]
    if tokenized is JOINS:
        assert sent[2] == ["Q", 7, 8, "\nO", 7, 8, "\nO"]


def test_an_early_close_remembers_what_came() -> None:
    with serving(LlamaServer(JOINS)) as server:
        model = LlamaCppModel(server.url, timeouts=SOON, retry=NEVER)
        pieces = model.complete("Q", stop=(), options=Completion())
        next(pieces)
        pieces.close()  # type: ignore[attr-defined]
        heard(model, "Q a\nO")
        assert server.asked[-1].body["prompt"][:2] == ["Q", 7]
