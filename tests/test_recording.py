"""A recording gives again what a model wrote, to the same questions and no others."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.backends import EmbeddedModel
from reactext.completion import (
    Completion,
    CompletionModel,
    CountsTokens,
    ModelCard,
    Piece,
    ScriptedModel,
    card_of,
)
from reactext.context import ExecutionContext
from reactext.differing import difference
from reactext.engine import Engine
from reactext.errors import (
    CompletionError,
    ContextOverflow,
    ReactextError,
    ReplayMismatch,
    ServerBusy,
    ServerFault,
    SetupError,
    StreamCut,
)
from reactext.models import Usage
from reactext.recording import RecordingModel, ReplayModel
from reactext.tools import tool

STOP = ("\nObservation:",)


def asked(model: CompletionModel, prompt: str, **options: Any) -> list[str]:
    return list(model.complete(prompt, stop=STOP, options=Completion(**options)))


def recorded(path: Path, replies: Sequence[Any], prompts: Sequence[str]) -> None:
    model = RecordingModel(ScriptedModel(replies), path)
    for prompt in prompts:
        asked(model, prompt)


def facts(piece: str) -> tuple[Any, ...]:
    if isinstance(piece, Piece):
        return (str(piece), piece.channel, piece.usage, piece.finish)
    return (piece,)


REPLIES: list[list[str]] = [
    ["one text"],
    ["in ", "pieces", "\n", " 上海 👩‍👩‍👧 \u2028"],
    [Piece("hm", channel="thinking"), Piece("so", usage=Usage(prompt_tokens=7)), "plain"],
    [Piece(finish="eos", usage=Usage(prompt_tokens=7, cached_tokens=3, prompt_seconds=0.25))],
    [],
]


@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
def test_the_same_pieces_come_again_with_all_they_said(tmp_path: Path, reply: list[str]) -> None:
    path = tmp_path / "new" / "folder" / "r.jsonl"
    recording = RecordingModel(ScriptedModel([reply]), path)
    original = asked(recording, "Q\nThought:")
    replayed = asked(ReplayModel(path), "Q\nThought:")
    assert [facts(piece) for piece in replayed] == [facts(piece) for piece in original]
    assert [type(piece) for piece in replayed] == [type(piece) for piece in original]


@given(st.lists(st.tuples(st.text(), st.lists(st.text(min_size=1))), max_size=8))
def test_whatever_was_asked_is_answered_alike(
    tmp_path_factory: pytest.TempPathFactory, exchanges: list[tuple[str, list[str]]]
) -> None:
    path = tmp_path_factory.mktemp("law") / "r.jsonl"
    model = RecordingModel(ScriptedModel([pieces for _, pieces in exchanges]), path)
    originals = [asked(model, prompt) for prompt, _ in exchanges]
    if exchanges:
        replay = ReplayModel(path)
        assert [asked(replay, prompt) for prompt, _ in exchanges] == originals


FAULTS = [
    ServerBusy("the queue is full", text="so far", remedy="wait"),
    ServerFault("it broke", status=503),
    ServerFault("it refused", status=400, text="abc"),
    ContextOverflow("too long", prompt_tokens=9000, window=4096, remedy="shorten it"),
    StreamCut("it was cut", text="half"),
    CompletionError("something"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_fault_of_the_server_comes_again(tmp_path: Path, fault: CompletionError) -> None:
    fault.retry_after = 1.5
    path = tmp_path / "r.jsonl"
    recording = RecordingModel(ScriptedModel([["half ", fault], ["whole"]]), path)
    with pytest.raises(CompletionError):
        asked(recording, "Q")
    asked(recording, "Q")
    replay = ReplayModel(path)
    pieces = replay.complete("Q", stop=STOP, options=Completion())
    assert next(pieces) == "half "
    with pytest.raises(type(fault)) as again:
        next(pieces)
    assert type(again.value) is type(fault)
    assert str(again.value) == str(fault)
    assert vars(again.value) == vars(fault)
    assert again.value.retryable == fault.retryable
    assert asked(replay, "Q") == ["whole"]


class OwnFault(ServerBusy):
    """A fault of a model of the user's."""


def test_a_fault_of_another_class_comes_again_as_the_nearest_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with pytest.raises(OwnFault):
        asked(RecordingModel(ScriptedModel([OwnFault("busy")]), path), "Q")
    with pytest.raises(ServerBusy, match="busy"):
        asked(ReplayModel(path), "Q")


def test_a_completion_that_is_closed_early_is_recorded_as_far_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recording = RecordingModel(ScriptedModel([["a", "b", "c"]]), path)
    with closing(recording.complete("Q", stop=STOP, options=Completion())) as pieces:  # type: ignore[type-var]
        assert [next(pieces), next(pieces)] == ["a", "b"]
    replay = ReplayModel(path).complete("Q", stop=STOP, options=Completion())
    assert [next(replay), next(replay)] == ["a", "b"]
    with pytest.raises(ReplayMismatch, match="more is read of a completion than was when"):
        next(replay)


def test_nothing_is_asked_or_written_before_the_first_piece_is(tmp_path: Path) -> None:
    scripted, path = ScriptedModel(["x"]), tmp_path / "r.jsonl"
    RecordingModel(scripted, path).complete("Q", stop=STOP, options=Completion())
    assert not scripted.prompts
    assert not path.exists()


def test_a_prompt_that_differs_shows_where_and_how_to_record_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["yes"], ["Rules\nQuestion: is Oslo cold?\nThought:"])
    with pytest.raises(ReplayMismatch) as caught:
        asked(ReplayModel(path), "Rules\nQuestion: is Rome cold?\nThought:")
    message = str(caught.value)
    assert "first difference at line 2, column 14" in message
    assert "-Question: is Oslo cold?\n+Question: is Rome cold?\n" in message
    assert f"record it anew with RecordingModel(model, {str(path)!r})" in message


def test_the_difference_is_that_to_the_prompt_most_like_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["1", "2"], ["Task A\nThought:", "Task A\nThought: so\nObservation: 1"])
    replay = ReplayModel(path)
    asked(replay, "Task A\nThought:")
    with pytest.raises(ReplayMismatch, match="-Observation: 1\n\\+Observation: 2"):
        asked(replay, "Task A\nThought: so\nObservation: 2")


def test_asked_more_often_than_recorded(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["1", "2"], ["P", "Q"])
    replay = ReplayModel(path)
    asked(replay, "P")
    with pytest.raises(ReplayMismatch, match="this prompt is asked more often than it was"):
        asked(replay, "P")
    asked(replay, "Q")
    with pytest.raises(ReplayMismatch, match="all 2 recorded completions are used up"):
        asked(replay, "R")


def test_other_stop_texts_are_another_question(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["1"], ["P"])
    with pytest.raises(ReplayMismatch, match=r"recorded with the stop texts \['\\nObs"):
        list(ReplayModel(path).complete("P", stop=["END"], options=Completion()))


def test_several_runs_in_one_file_are_replayed_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["a", "b", "c"], ["same", "same", "same"])
    replay = ReplayModel(path)
    assert [asked(replay, "same") for _ in range(3)] == [["a"], ["b"], ["c"]]


def test_a_recording_is_replaced_when_the_first_completion_is_there(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["old"], ["P"])
    model = RecordingModel(ScriptedModel(["new"]), path)
    assert asked(ReplayModel(path), "P") == ["old"]
    asked(model, "P")
    assert asked(ReplayModel(path), "P") == ["new"]


def test_a_recording_can_be_continued(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for reply, name in (("1", "first"), ("2", "second")):
        scripted = ScriptedModel([reply], card=ModelCard(name=name))
        asked(RecordingModel(scripted, path, append=True), "P")
    replay = ReplayModel(path)
    assert [asked(replay, "P"), asked(replay, "P")] == [["1"], ["2"]]
    assert replay.card().name == "second"


def test_the_card_is_that_of_the_model(tmp_path: Path) -> None:
    card = ModelCard(name="m", frame="chatml", window=4096, grammar="gbnf", thinks=True)
    path = tmp_path / "r.jsonl"
    model = RecordingModel(ScriptedModel(["x"], card=card), path)
    assert model.card() == card
    asked(model, "P")
    assert ReplayModel(path).card() == card


def test_a_plain_function_is_recorded_too(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    asked(RecordingModel(lambda prompt: prompt.upper(), path), "abc")
    assert asked(ReplayModel(path), "abc") == ["ABC"]


class Counting(ScriptedModel):
    """A model that counts tokens: its words."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def test_counting_tokens_is_passed_on_and_recorded_where_the_model_can(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    model = RecordingModel(Counting(["x"]), path)
    assert isinstance(model, CountsTokens)
    assert model.count_tokens("one two three") == 3
    asked(model, "P")
    replay = ReplayModel(path)
    assert isinstance(replay, CountsTokens)
    assert replay.count_tokens("one two three") == 3
    assert not isinstance(RecordingModel(ScriptedModel([]), path), CountsTokens)


class Keyed(ScriptedModel):
    """A model that is set up with secrets."""

    def __init__(self) -> None:
        super().__init__([["the ", Piece("text", finish="eos")]])
        self.api_key = "sk-secret"
        self.headers = {"Authorization": "Bearer sk-secret"}


def test_no_secret_of_a_model_is_written_and_the_options_are(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    model = RecordingModel(Keyed(), path)
    asked(model, "P", seed=7, temperature=0.5, grammar="root ::= .*" * 100)
    content = path.read_text(encoding="utf-8")
    assert "sk-secret" not in content
    assert "root ::=" not in content
    options = json.loads(content.splitlines()[1])["options"]
    assert (options["seed"], options["temperature"], len(options["grammar"])) == (7, 0.5, 64)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("not json\n", "line 1 of the recording"),
        ('{"recording": 1, "ca', "line 1 of the recording"),
        ('{"prompt": 3}\n', "line 1 of the recording"),
        ('{"prompt": "P", "pieces": [{"text": 1}]}\n', "line 1 of the recording"),
        ('{"recording": 99}\n', "of a newer version"),
        ('{"recording": "x", "card": []}\n', "line 1 of the recording"),
        ("[]\n", "it is no JSON object"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SetupError, match=problem):
        ReplayModel(path)


def test_a_recording_that_was_cut_replays_as_far_as_it_is_whole(tmp_path: Path) -> None:
    path, cut = tmp_path / "r.jsonl", tmp_path / "cut.jsonl"
    recorded(path, ["first", "sécond"], ["P", "Q"])
    whole = path.read_bytes()
    opening, first, _ = whole.splitlines(keepends=True)
    begun = len(opening + first)
    for length in range(len(opening), len(whole) - 1):
        cut.write_bytes(whole[:length])
        replay = ReplayModel(cut)
        is_between_lines = length in (len(opening), begun, begun - 1)
        told = "are used up" if is_between_lines else "1 of its lines is cut or no JSON"
        if length >= begun - 1:
            assert asked(replay, "P") == ["first"]
        with pytest.raises(ReplayMismatch, match=told):
            asked(replay, "Q")


def test_what_is_recorded_after_a_cut_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorded(path, ["first", "second"], ["P", "Q"])
    path.write_bytes(path.read_bytes()[:-9])
    asked(RecordingModel(ScriptedModel(["third"]), path, append=True), "R")
    replay = ReplayModel(path)
    assert (asked(replay, "R"), asked(replay, "P")) == (["third"], ["first"])
    with pytest.raises(ReplayMismatch, match="the process that wrote it may have been killed"):
        asked(replay, "Q")


@pytest.mark.parametrize(
    "error", [SetupError("no such option"), StreamCut("gone"), ValueError("mine"), OSError("x")]
)
def test_an_error_of_any_model_is_replayed_as_it_was_raised(
    tmp_path: Path, error: Exception
) -> None:
    path = tmp_path / "r.jsonl"
    model = RecordingModel(ScriptedModel([[" I th", error]]), path)
    with pytest.raises(ReactextError) as first:
        asked(model, "P")
    with pytest.raises(ReactextError) as again:
        asked(ReplayModel(path), "P")
    assert (type(again.value), str(again.value)) == (type(first.value), str(first.value))


def test_a_missing_recording_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no recording to replay .* make it with RecordingModel"):
        ReplayModel(tmp_path / "none.jsonl")


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    model = RecordingModel(ScriptedModel(["x"]), tmp_path / "file" / "r.jsonl")
    with pytest.raises(SetupError, match=r"the recording .* cannot be written"):
        asked(model, "P")


class Echo:
    """A model whose answer is made of its prompt, so that threads cannot be mixed up unseen."""

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        yield from (f"<{prompt}", ">", Piece(finish="eos"))


def test_threads_are_told_apart_by_their_prompts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    prompts = [f"prompt {number}" for number in range(20)]

    def ask_all(model: CompletionModel) -> dict[str, str]:
        answers: dict[str, str] = {}

        def ask(prompt: str) -> None:
            answers[prompt] = "".join(asked(model, prompt))

        threads = [threading.Thread(target=ask, args=(prompt,)) for prompt in prompts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    expected = {prompt: f"<{prompt}>" for prompt in prompts}
    assert ask_all(RecordingModel(Echo(), path)) == expected
    assert ask_all(ReplayModel(path)) == expected
    assert card_of(ReplayModel(path)).name == "Echo"


@given(st.text(), st.text(), st.text(), st.text())
def test_a_difference_is_shown_whatever_the_texts_are(
    head: str, left: str, right: str, tail: str
) -> None:
    shown = difference(head + left + tail, head + right + tail)
    assert "first difference at line " in shown


def test_a_difference_of_long_texts_is_bounded() -> None:
    left = "\n".join(f"line {number} {'x' * 5000}" for number in range(3000))
    shown = difference(left + "1", left.replace("line 7 ", "line seven ").replace("x", "y") + "2")
    assert len(shown) < 15_000
    assert "first difference at line 1, column 8" in shown
    assert "more lines of difference are left out" in shown


@pytest.mark.real_model
def test_a_run_of_a_real_model_is_replayed_without_it(tmp_path: Path) -> None:
    @tool
    def get_weather(city: str) -> str:
        """Weather forecast for a city."""
        return f"{city}: light rain, 21 degrees"

    def run_with(model: CompletionModel) -> ExecutionContext:
        return Engine(model, [get_weather], max_steps=3).run("How is Oslo?", run_id="r")

    path = tmp_path / "r.jsonl"
    with EmbeddedModel("smollm2-135m", window=2048, threads=1) as model:
        real = run_with(RecordingModel(model, path))
    replayed = run_with(ReplayModel(path))
    assert [step.turn for step in replayed.steps] == [step.turn for step in real.steps]
    assert [step.corrections for step in replayed.steps] == [
        step.corrections for step in real.steps
    ]
    assert (replayed.answer, replayed.usage) == (real.answer, real.usage)
