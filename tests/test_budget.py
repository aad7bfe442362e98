"""No prompt is longer than the window, whatever the tools return, and no result is lost for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext import (
    Completion,
    ContextOverflow,
    Engine,
    ModelCard,
    ScriptedModel,
    Usage,
    tool,
)
from reactext.completion import Piece

DONE = " I know.\nFinal Answer: done"

PLAIN = "the quick brown fox jumps over the lazy dog. "
KINDS = {
    "words": PLAIN * 400,
    "digits": " ".join(str(number * 7919 % 99991) for number in range(4000)),
    "chinese": "".join(chr(0x4E00 + number * 37 % 18000) for number in range(9000)),
    "emoji": "🦊🪿𓀀𝔘" * 2000,
    "one line": "x" * 20_000,
}


def as_words(text: str) -> int:
    """Count as a tokenizer that is good at words, one token for each digit and odd character."""
    return len(re.findall(r"[a-zA-Z]{1,6}|[^a-zA-Z ]", text)) + 1


def as_bytes(text: str) -> int:
    """Count as a tokenizer that knows nothing but bytes."""
    return len(text.encode()) + 1


@tool
def get(kind: str, size: int = 100_000, copy: int = 1) -> str:
    """Get a text of some kind."""
    return KINDS[kind][:size]


class Small:
    """A model with a small window that refuses, as servers do, what is longer than it."""

    def __init__(
        self, replies: Sequence[str], window: int, count: object = as_words, *, tells: bool = True
    ) -> None:
        self._scripted = ScriptedModel(replies)
        self._window = window
        self._count = count
        self._tells = tells
        self.lengths: list[int] = []
        self.prompts = self._scripted.prompts

    def card(self) -> ModelCard:
        return ModelCard(name="small", window=self._window)

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        tokens = self._count(prompt)  # type: ignore[operator]
        self.lengths.append(tokens)
        if tokens > self._window:
            raise ContextOverflow(
                "too long",
                prompt_tokens=tokens if self._tells else None,
                window=self._window if self._tells else None,
            )
        yield from self._scripted.complete(prompt, stop=stop, options=options)
        yield Piece("", usage=Usage(prompt_tokens=tokens))


class SmallCounting(Small):
    """The same, of a server that counts tokens when asked."""

    def count_tokens(self, text: str) -> int:
        return int(self._count(text))  # type: ignore[operator]


def group(kind: str, calls: int, size: int = 100_000, copy: int = 1) -> str:
    written = " || ".join(
        f'get(kind="{kind}", size={size - number}, copy={copy})' for number in range(calls)
    )
    return f" Get.\nAction: {written}"


@pytest.mark.parametrize("model", [Small, SmallCounting])
@pytest.mark.parametrize("window", [1024, 2048, 8192])
@pytest.mark.parametrize("calls", [1, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_long_results_fit(model: type[Small], window: int, calls: int, kind: str) -> None:
    small = model([group(kind, calls), group("words", 2, 90), group(kind, 1), DONE], window)
    context = Engine(small, [get], prompts={"react": "Answer."}).run("Get them.")
    assert context.status == "finished" and len(context.steps) == 4
    refused = [length for length in small.lengths if length > window]
    assert not refused or model is Small  # which can only estimate, and learns by being refused
    for number, seen in enumerate(context.steps[0].observations):
        whole = KINDS[kind][: 100_000 - number]
        assert (seen.full if seen.truncated else seen.text) == whole


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(KINDS)), st.integers(1, 8), st.integers(9, 9000)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([1024, 2000, 4096]),
    st.sampled_from([as_words, as_bytes]),
)
def test_whatever_is_returned_the_run_goes_on(
    groups: list[tuple[str, int, int]], window: int, count: object
) -> None:
    small = SmallCounting(
        [*(group(*each, copy) for copy, each in enumerate(groups)), DONE], window, count
    )
    engine = Engine(small, [get], prompts={"react": "Answer."}, max_steps=20)
    context = engine.run("Get them.")
    assert context.status == "finished"
    assert len(context.steps) == len(groups) + 1
    assert max(small.lengths) <= window
    for step, (kind, calls, size) in zip(context.steps, groups, strict=False):
        assert len(step.observations) == calls
        for number, seen in enumerate(step.observations):
            whole = KINDS[kind][: size - number]
            assert (seen.full if seen.truncated else seen.text) == whole


@pytest.mark.parametrize("tells", [True, False])
def test_a_server_that_counts_more_than_was_thought_is_believed(tells: bool) -> None:
    small = Small([group("words", 1, 3000), DONE], 1600, as_bytes, tells=tells)
    context = Engine(small, [get], prompts={"react": "Answer."}).run("Get it.")
    assert context.status == "finished"
    assert small.lengths[1] > 1600 >= small.lengths[-1]


def test_eight_short_results_fit_where_there_is_room_for_little() -> None:
    small = SmallCounting([group("words", 8, 45), DONE], 720)
    context = Engine(small, [get]).run("Get them.")
    assert context.status == "finished"
    assert max(small.lengths) <= 720


def test_what_a_small_window_cuts_can_be_read_on_to_the_end() -> None:
    text = "".join(f"[{number:04d}]" for number in range(600))

    @tool
    def page() -> str:
        """Get the page."""
        return text

    pages: list[str] = []

    def reply(prompt: str) -> str:
        asked = re.findall(r'read_more\(id="(\S+)", offset=(\d+)\)', prompt)
        if prompt.count("Thought:") == 1:
            return " Get.\nAction: page()"
        pages.append(prompt)
        if prompt.rstrip().endswith("[end]\nThought:") or not asked:
            return DONE
        return ' On.\nAction: read_more(id="{}", offset={})'.format(*asked[-1])

    class Reading(SmallCounting):
        def complete(
            self, prompt: str, *, stop: Sequence[str], options: Completion
        ) -> Iterator[str]:
            self.lengths.append(as_words(prompt))
            yield reply(prompt)

    model = Reading([], 1500)
    engine = Engine(model, [page], prompts={"react": "Answer."}, max_steps=99)
    context = engine.run("Get")
    assert context.status == "finished" and max(model.lengths) <= 1500
    first, *rest = [step.observations[0] for step in context.steps if step.observations]
    assert first.truncated and first.full == text
    read = first.text[: int(re.findall(r"offset=(\d+)", first.text)[0])]
    for seen in rest:
        assert not seen.truncated
        read += re.sub(r"\n\[(?:end|\d+ more: .*)\]$", "", seen.text)
    assert read == text


def test_a_tool_of_that_name_of_the_caller_is_not_announced() -> None:
    @tool
    def read_more(page: int) -> str:
        """Read another page."""
        return "x" * 9000

    model = ScriptedModel([" Read.\nAction: read_more(page=2)", DONE])
    context = Engine(model, [read_more]).run("Read.")
    [seen] = context.steps[0].observations
    assert seen.truncated and "reads on" not in seen.text


def test_the_next_model_may_have_a_smaller_window() -> None:
    class Failing(SmallCounting):
        def complete(
            self, prompt: str, *, stop: Sequence[str], options: Completion
        ) -> Iterator[str]:
            if len(self.lengths) == 1:
                raise ContextOverflow("gone", prompt_tokens=1, window=1)
            yield from super().complete(prompt, stop=stop, options=options)

    large, small = Failing([group("words", 4)], 8192), SmallCounting([DONE], 1024)
    context = Engine([large, small], [get], prompts={"react": "Answer."}).run("Get them.")
    assert context.status == "finished"
    assert small.lengths == [length for length in small.lengths if length <= 1024]


def test_a_task_that_is_longer_than_the_window_is_told_with_figures() -> None:
    with pytest.raises(ContextOverflow, match="about .* and the window is 1024") as caught:
        Engine(SmallCounting([DONE], 1024), [get]).run("word " * 3000)
    assert caught.value.window == 1024


def test_a_correction_of_a_long_text_fits() -> None:
    small = SmallCounting([" lorem ipsum" * 400, DONE], 1024)
    context = Engine(small, [get], prompts={"react": "Answer."}).run("Get it.")
    assert context.status == "finished" and max(small.lengths) <= 1024
    assert "lorem" in small.prompts[1] and len(context.steps[0].corrections[0].text) == 4800


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_window_is_found_by_being_refused(kind: str) -> None:
    class Unknown(Small):
        def card(self) -> ModelCard:
            return ModelCard(name="small")

    replies = [*(group(kind, 2, 4000, copy) for copy in range(4)), DONE]
    small = Unknown(replies, 4096, tells=False)
    context = Engine(small, [get], prompts={"react": "Answer."}).run("Get them.")
    assert context.status == "finished" and len(context.steps) == 5


def test_where_no_other_step_fits_the_answer_is_asked_for() -> None:
    small = SmallCounting([group("words", 1, 200), " lorem ipsum" * 400, " done"], 600)
    task = "Get it, " + "please " * 300
    context = Engine(small, [get], prompts={"react": "Answer."}).run(task)
    assert (context.status, context.stop_reason) == ("forced", "window")
    assert context.answer == "done" and len(context.steps) == 2


def test_results_are_bounded_where_no_window_is_known() -> None:
    model = ScriptedModel([group("one line", 1), DONE])
    context = Engine(model, [get], max_observation_chars=300).run("Get it.")
    [seen] = context.steps[0].observations
    assert len(seen.text) <= 300 and seen.full == KINDS["one line"]
    assert 'read_more(id="c1.1", offset=' in seen.text


def test_a_tool_has_its_own_limit_of_characters() -> None:
    @tool(max_observation_chars=200)
    def short() -> str:
        """Short."""
        return "a" * 1000

    @tool
    def long() -> str:
        """Long."""
        return "a" * 1000

    model = ScriptedModel([" Both.\nAction: short() || long()", DONE])
    context = Engine(model, [short, long]).run("Get both.")
    first, second = context.steps[0].observations
    assert len(first.text) <= 200 and first.truncated and first.full == "a" * 1000
    assert not second.truncated and second.full is None
