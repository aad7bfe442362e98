"""A run, a forced answer and an examination against a server that behaves as Ollama does."""

from __future__ import annotations

import pytest
from apis import SOON
from ollama_server import OllamaServer
from wire_server import serving

from reactext import Engine, OllamaModel, tool
from reactext.backends import model as named
from reactext.doctor import examine
from reactext.errors import ModelMissing, ServerFault

CALL = ' I look it up.\nAction: look(key="x")\nObservation: made up'
ANSWER = " I know.\nFinal Answer: 42"


@tool
def look(key: str) -> str:
    """Look something up."""
    return f"the value of {key} is 42"


CARDS = [
    # (name, frame, window, whether it thinks)
    ("qwen2.5:7b", "chatml", 8192, False),
    ("llama3.2", "llama3", 8192, False),
    ("llama3.2:latest", "llama3", 8192, False),
    ("long:1b", "chatml", 16384, False),
    ("tiny", "plain", 1024, False),
    ("deepseek-r1:8b", "deepseek", 8192, True),
]


@pytest.mark.parametrize(("name", "frame", "window", "thinks"), CARDS)
def test_a_run_loads_the_model_once(name: str, frame: str, window: int, thinks: bool) -> None:
    script = OllamaServer([CALL, ANSWER])
    with serving(script) as server, OllamaModel(name, server.url, timeouts=SOON) as model:
        card = model.card()
        assert (card.frame, card.window, card.thinks) == (frame, window, thinks)
        context = Engine(model=model, tools=[look]).run("What is x?")
        assert context.answer == "42"
        assert context.steps[0].observations[0].text == "the value of x is 42"
        assert context.usage.prompt_tokens
        assert {asked.connection for asked in server.asked} == {1}
    assert [load[1:] for load in script.loads] == [(window, False)]


def test_run_forced_answer_and_doctor_load_the_model_once() -> None:
    script = OllamaServer([CALL])
    with serving(script) as server, OllamaModel("qwen2.5:7b", server.url) as model:
        context = Engine(model=model, tools=[look], max_steps=2).run("What is x?")
        assert (context.status, context.answer) == ("forced", "42")
        verdicts = {each.name: each for each in examine(model)}
        assert verdicts["window"].finding == "8192 tokens; a longer prompt is refused, not cut"
        assert {name for name, each in verdicts.items() if each.grade == "failed"} == set()
        # another client of the same model takes the window that it is loaded with
        with OllamaModel("qwen2.5:7b", server.url) as again:
            assert again.card().window == 8192
    assert len(script.loads) == 1


@pytest.mark.parametrize("window", [None, 512])
def test_a_model_that_only_embeds_is_told(window: int | None) -> None:
    with (
        serving(OllamaServer([ANSWER])) as server,
        OllamaModel("nomic-embed-text", server.url, num_ctx=window) as model,
        pytest.raises(ServerFault, match="writes no texts, its capabilities are embedding"),
    ):
        Engine(model=model, tools=[look]).run("What is x?")


def test_a_model_that_is_not_there_is_told_with_those_that_are() -> None:
    with (
        serving(OllamaServer([ANSWER])) as server,
        OllamaModel("qwen3", server.url) as model,
        pytest.raises(ModelMissing, match=r"ollama pull qwen3; or use .*: qwen2\.5:7b, llama3\.2"),
    ):
        Engine(model=model, tools=[look]).run("What is x?")


def test_whatever_is_there_is_the_model_loaded_now(monkeypatch: pytest.MonkeyPatch) -> None:
    script = OllamaServer([ANSWER])
    with serving(script) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.delenv("REACTEXT_MODEL", raising=False)
        assert repr(named()).startswith("OllamaModel('qwen2.5:7b'")
        script.loads.append(("llama3.2:latest", 4096, False))
        assert repr(named()).startswith("OllamaModel('llama3.2:latest'")
