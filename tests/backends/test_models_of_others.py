"""A model that somebody else wrote is held to the protocol: its errors and texts become ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from reactext import Engine, ModelCard, tool
from reactext.completion import Completion, ScriptedModel
from reactext.errors import CompletionError, ServerUnreachable, SetupError
from reactext.recording import RecordingModel, ReplayModel

ANSWER = " I know.\nFinal Answer: 4"
CALL = " I add.\nAction: add(a=2, b=2)"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


ERRORS: list[tuple[Exception, type[CompletionError], int]] = [
    # (what is raised, what it becomes, how often the model is asked)
    (ValueError("no JSON"), CompletionError, 1),
    (KeyError("choices"), CompletionError, 1),
    (RuntimeError(""), CompletionError, 1),
    (ConnectionError("refused"), ServerUnreachable, 2),
    (TimeoutError("too long"), ServerUnreachable, 2),
    (OSError(5, "broken"), ServerUnreachable, 2),
    (requests.HTTPError("500"), ServerUnreachable, 2),
    (requests.Timeout("slow"), ServerUnreachable, 2),
]


class Raising:
    """A model that gives some pieces, and then raises."""

    def __init__(self, error: BaseException, *pieces: Any, card: bool = False) -> None:
        self.error = error
        self.pieces = pieces
        self.asked = 0
        if card:
            self.card = self._card

    def _card(self) -> ModelCard:
        raise self.error

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        self.asked += 1
        yield from self.pieces
        raise self.error


@pytest.mark.parametrize(("error", "kind", "asked"), ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_of_a_function_keeps_the_steps(
    error: Exception, kind: type[CompletionError], asked: int
) -> None:
    prompts: list[str] = []

    def function(prompt: str) -> str:
        prompts.append(prompt)
        if len(prompts) == 1:
            return CALL
        raise error

    with pytest.raises(CompletionError) as raised:
        Engine(model=function, tools=[add]).run("2 + 2?")
    assert type(raised.value) is kind
    assert raised.value.__cause__ is error
    assert "the model function" in str(raised.value)
    assert f"raised {type(error).__name__}" in str(raised.value)
    context: Any = raised.value.context
    assert context.steps[0].observations[0].text == "4"
    assert len(prompts) == 1 + asked


@pytest.mark.parametrize("where", ["before", "amid", "card"])
@pytest.mark.parametrize(("error", "kind", "asked"), ERRORS, ids=lambda each: type(each).__name__)
def test_the_next_model_takes_over(
    error: Exception, kind: type[CompletionError], asked: int, where: str
) -> None:
    del kind, asked
    first = Raising(error, *([" I th"] if where == "amid" else []), card=where == "card")
    second = ScriptedModel([ANSWER])
    context = Engine(model=[first, second], tools=[add]).run("2 + 2?")
    assert context.answer == "4"


def test_our_own_errors_and_exits_are_left_alone() -> None:
    for error in (SetupError("bad"), SystemExit(3)):
        engine = Engine(model=[Raising(error), ScriptedModel([ANSWER])], tools=[add])
        with pytest.raises(type(error)) as raised:
            engine.run("2 + 2?")
        assert raised.value is error


@pytest.mark.parametrize("piece", [None, 3, b" I know.", ["a"]])
def test_a_piece_that_is_no_text(piece: Any) -> None:
    came = re.escape(f" gave {piece!r} as a piece of text; it must give str")
    with pytest.raises(SetupError, match=f"the model Raising{came}"):
        Engine(model=Raising(ValueError(), piece), tools=[add]).run("2 + 2?")
    with pytest.raises(SetupError, match=f"the model function .*<lambda>{came}"):
        Engine(model=lambda _: iter([piece]), tools=[add]).run("2 + 2?")


class Giving:
    """A model whose ``complete`` returns whatever it was made with."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Any:
        return self.given


@pytest.mark.parametrize("given", [None, 3, b" I know.", bytearray(b"x"), {"text": "x"}])
def test_what_is_no_text_and_no_texts(given: Any) -> None:
    came = re.escape(f" gave {given!r}; it must give texts, as a generator or a list")
    with pytest.raises(SetupError, match=f"the model Giving{came}"):
        Engine(model=Giving(given), tools=[add]).run("2 + 2?")
    with pytest.raises(SetupError, match=f"the model function .*<lambda>{came}"):
        Engine(model=lambda _: given, tools=[add]).run("2 + 2?")


@pytest.mark.parametrize("given", [ANSWER, [ANSWER], (ANSWER[:3], ANSWER[3:])])
def test_texts_need_no_generator(given: Any) -> None:
    for model in (Giving(given), lambda _: given):
        assert Engine(model=model, tools=[add]).run("2 + 2?").answer == "4"


def test_a_text_before_the_error_is_kept_with_it() -> None:
    with pytest.raises(CompletionError) as raised:
        Engine(model=Raising(ValueError("x"), " I th", "ink"), tools=[add]).run("2 + 2?")
    assert raised.value.text == " I think"


def test_such_an_error_is_recorded_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "model.jsonl"
    for model in (RecordingModel(Raising(ConnectionError("gone")), path), None):
        with pytest.raises(ServerUnreachable, match="raised ConnectionError: gone"):
            Engine(model=model or ReplayModel(path), tools=[add], max_retries=0).run("2 + 2?")


def test_a_fault_that_passes_is_told_with_what_follows() -> None:
    model = ScriptedModel([ConnectionError("gone"), ANSWER])
    context = Engine(model=model, tools=[add]).run("2 + 2?")
    (told,) = context.steps[0].corrections
    assert told.problem.startswith("the model ScriptedModel raised ConnectionError: gone (")
    assert told.remedy == "it is asked again"
