"""The embedded model: the contract on a real llama.cpp, and what only a real one can show."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apis import heard, text

from reactext.backends import NEVER, EmbeddedModel, OpenAICompletionModel
from reactext.cancellation import Cancellation
from reactext.completion import Completion
from reactext.errors import CompletionError, ContextOverflow, ServerFault, SetupError

SMALLEST = "smollm2-135m"
ENDLESS = 'root ::= ("a" | "b")+'
STEP = ' I will look it up.\nAction: search("x")'

real_model = pytest.mark.real_model


@pytest.fixture(scope="module")
def model() -> Iterator[EmbeddedModel]:
    with EmbeddedModel(SMALLEST, window=2048, threads=1, retry=NEVER) as made:
        yield made


def busy(model: EmbeddedModel) -> bool:
    """Whether the server works on anything, as it says itself."""
    origin = model._running()._origin
    return any(slot["is_processing"] for slot in origin.ask_any("GET", "/slots"))


def wait_until_free(model: EmbeddedModel) -> None:
    deadline = threading.Event()
    for _ in range(400):
        if not busy(model):
            return
        deadline.wait(0.01)
    pytest.fail("the server is still busy")


@real_model
def test_a_text_with_its_counts(model: EmbeddedModel) -> None:
    pieces = heard(model, "The capital of France is", max_tokens=5)
    assert "Paris" in text(pieces)
    assert pieces[-1].finish == "length"
    usage = pieces[-1].usage
    assert usage is not None
    assert usage.completion_tokens == 5
    assert usage.prompt_tokens == model.count_tokens("The capital of France is")
    assert usage.prompt_seconds is not None


@real_model
def test_the_card(model: EmbeddedModel) -> None:
    card = model.card()
    assert (card.name, card.frame, card.window, card.grammar) == (SMALLEST, "chatml", 2048, "gbnf")


@real_model
def test_a_grammar_is_kept_to(model: EmbeddedModel) -> None:
    pieces = heard(model, "Is it?", grammar='root ::= " 北京" | " 上海😀"')
    assert text(pieces) in (" 北京", " 上海😀")
    assert pieces[-1].finish == "eos"


@real_model
def test_a_grammar_that_is_none_is_refused(model: EmbeddedModel) -> None:
    with pytest.raises(ServerFault, match="grammar"):
        heard(model, "Is it?", grammar="root ::= nothing")


@real_model
def test_a_stop_text_is_not_in_the_text(model: EmbeddedModel) -> None:
    pieces = heard(model, "Count:", stop=["b"], grammar='root ::= "aaab" "c"')
    assert text(pieces) == "aaa"
    assert pieces[-1].finish == "stop"


@real_model
def test_a_step_evaluates_only_what_is_new(model: EmbeddedModel) -> None:
    """The observation and the seam; all that the model wrote itself is taken from the cache."""
    prompt = "Use the tools to look things up; never guess. " * 8 + "\nQuestion: why?\nThought:"
    grammar = f"root ::= {json.dumps(STEP)}"
    observation = "\nObservation: nothing was found there\nThought:"
    new = model.count_tokens(observation)
    heard(model, prompt, grammar=grammar)
    for _ in range(4):
        prompt += STEP + observation
        usage = heard(model, prompt, grammar=grammar)[-1].usage
        assert usage is not None
        assert usage.prompt_tokens is not None
        assert usage.cached_tokens is not None
        assert usage.prompt_tokens - usage.cached_tokens <= new + 2
        assert usage.cached_tokens >= 0.9 * usage.prompt_tokens


@real_model
def test_closing_the_iterator_frees_the_server(model: EmbeddedModel) -> None:
    pieces = model.complete("x", stop=(), options=Completion(max_tokens=1000, grammar=ENDLESS))
    next(pieces)
    assert busy(model)
    pieces.close()  # type: ignore[attr-defined]
    wait_until_free(model)


@real_model
def test_a_cancellation_frees_the_server_though_nobody_reads(model: EmbeddedModel) -> None:
    cancellation = Cancellation()
    options = Completion(max_tokens=1000, grammar=ENDLESS, cancellation=cancellation)
    pieces = model.complete("x", stop=(), options=options)
    next(pieces)
    cancellation.cancel()
    wait_until_free(model)
    list(pieces)


@real_model
def test_a_completion_that_waits_for_the_only_slot_can_be_cancelled(model: EmbeddedModel) -> None:
    first = model.complete("x", stop=(), options=Completion(max_tokens=1000, grammar=ENDLESS))
    next(first)
    cancellation = Cancellation()
    heard_there: list[Any] = []
    waiting = threading.Thread(
        target=lambda: heard_there.append(heard(model, "y", cancellation=cancellation))
    )
    waiting.start()
    cancellation.cancel()
    waiting.join(20)
    assert heard_there == [[]]
    first.close()  # type: ignore[attr-defined]
    wait_until_free(model)


@real_model
def test_a_prompt_that_is_too_long_is_refused_with_both_figures(model: EmbeddedModel) -> None:
    with pytest.raises(ContextOverflow) as raised:
        heard(model, "word " * 3000)
    assert raised.value.window == 2048
    assert raised.value.prompt_tokens is not None
    assert raised.value.prompt_tokens > 2048


@real_model
def test_threads_that_come_first_together_load_it_once() -> None:
    with EmbeddedModel(SMALLEST, window=512, parallel=2, threads=1) as model:
        said: list[str] = []

        def ask() -> None:
            said.append(text(heard(model, "Is it?", grammar='root ::= " yes"')))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert said == [" yes"] * 4
        assert model.card().window == 512


@real_model
def test_only_this_process_may_ask_it(model: EmbeddedModel) -> None:
    url = model._running()._origin.url
    assert url.startswith("http://127.0.0.1:")
    body = json.dumps({"prompt": "x"}).encode()
    request = urllib.request.Request(f"{url}/completion", data=body)
    with pytest.raises(urllib.error.HTTPError, match="401") as raised:
        urllib.request.urlopen(request)
    raised.value.close()


@real_model
def test_closing_frees_the_memory_and_ends_what_runs() -> None:
    before = _resident()
    model = EmbeddedModel(SMALLEST, window=512, threads=1, retry=NEVER)
    pieces = model.complete("x", stop=(), options=Completion(max_tokens=1000, grammar=ENDLESS))
    next(pieces)
    loaded = _resident()
    model.close()
    with pytest.raises(CompletionError):
        list(pieces)
    gc.collect()
    if loaded:
        assert _resident() - before < 0.4 * (loaded - before)
    with pytest.raises(SetupError, match="was closed"):
        heard(model)
    model.close()


def _resident() -> int:
    statistics = Path("/proc/self/statm")
    return int(statistics.read_text().split()[1]) if statistics.exists() else 0


PROGRAM = f"""
import sys
from reactext.backends import EmbeddedModel
from reactext.completion import Completion
model = EmbeddedModel({SMALLEST!r}, window=256, threads=1)
pieces = model.complete("x", stop=(), options=Completion(grammar='root ::= "a"+'))
print(next(pieces)[0])
if "raise" in sys.argv:
    raise KeyboardInterrupt
"""


@real_model
@pytest.mark.parametrize("way", ["end", "raise"])
def test_a_process_that_ends_in_the_middle_ends_quietly(way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", PROGRAM, way],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "a\n"
    if way == "end":
        assert (done.stderr, done.returncode) == ("", 0)
    else:
        assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_nothing_is_loaded_before_it_is_used() -> None:
    model = EmbeddedModel("/nowhere.gguf")
    assert repr(model) == "EmbeddedModel('/nowhere.gguf')"
    model.close()


@pytest.mark.parametrize("options", [{"window": 0}, {"parallel": 0}, {"threads": -1}])
def test_options_that_cannot_be(options: dict[str, int]) -> None:
    with pytest.raises(SetupError, match="must be a whole number of at least 1"):
        EmbeddedModel(SMALLEST, **options)  # type: ignore[arg-type]


@real_model
def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(SetupError, match="is it a whole GGUF file"):
        heard(EmbeddedModel(str(path)))


@real_model
def test_the_same_server_in_the_openai_style(model: EmbeddedModel) -> None:
    inside = model._running()._origin
    key = inside._headers["Authorization"].removeprefix("Bearer ")
    with OpenAICompletionModel(f"{inside.url}/v1", api_key=key, retry=NEVER) as styled:
        card = styled.card()
        assert (card.window, card.grammar) == (2048, "gbnf")
        for _ in range(5):
            pieces = heard(styled, "The capital of France is", max_tokens=5)
            assert "Paris" in text(pieces)
            assert pieces[-1].finish == "length"
        usage = pieces[-1].usage
        assert usage is not None
        assert usage.cached_tokens
        assert text(heard(styled, "Is it?", grammar='root ::= " yes"')) == " yes"
        with pytest.raises(ContextOverflow):
            heard(styled, "word " * 3000)


@real_model
def test_a_model_that_is_dropped_as_soon_as_it_is_loaded() -> None:
    code = (
        "from reactext.backends.embedded import EmbeddedModel, _Server\n"
        f"model = EmbeddedModel({SMALLEST!r}, window=512)\n"
        "for _ in range(3): _Server(model._parameters('key')).stop()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
