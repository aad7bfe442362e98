"""Ollama: what is asked of it, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from apis import AT_ONCE, OLLAMA, SOON, heard, ollama_end, ollama_line, text
from wire_server import Act, Asked, as_json, chunked, serving, sized

from reactext.backends import NEVER, OllamaModel
from reactext.completion import Completion, ModelCard
from reactext.errors import (
    CompletionError,
    ContextOverflow,
    ModelMissing,
    ServerFault,
    ServerUnreachable,
    SetupError,
    StreamCut,
)

CHATML = "<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n"
SHOWN = {
    "template": CHATML,
    "parameters": 'stop                           "<|im_end|>"',
    "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768},
    "capabilities": ["completion", "tools"],
}


class Ollama:
    """The script of an Ollama server with these answers; a path without one is not there."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"show": as_json(SHOWN), "ps": as_json({"models": []}), **answers}

    def __call__(self, asked: Asked) -> Iterable[Any]:
        name = asked.path.removeprefix("/api/")
        answer = self.answers.get(name)
        if answer is not None:
            return answer if isinstance(answer, list) else [answer]
        if name == "generate":
            return OLLAMA.reply([" yes"])
        return [sized(b"404 page not found", 404, "text/plain")]


def model_at(url: str, **options: Any) -> OllamaModel:
    return OllamaModel("m", url, **{"timeouts": SOON, "retry": NEVER, **options})


def test_the_request_is_what_keeps_the_text_whole() -> None:
    with serving(Ollama()) as server:
        with model_at(server.url) as model:
            heard(model, "p\nThought:", max_tokens=77, temperature=0.5, seed=3, top_p=0.9)
        asked = server.asked[-1]
    assert asked.body == {
        "model": "m",
        "prompt": "p\nThought:",
        "raw": True,
        "stream": True,
        "think": False,
        "truncate": False,
        "shift": False,
        "options": {
            "num_ctx": 8192,
            "num_predict": 77,
            "temperature": 0.5,
            "repeat_penalty": 1.0,
            "top_p": 0.9,
            "seed": 3,
            "stop": ["\nObservation"],
        },
    }
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.headers["content-type"] == "application/json"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("keep_alive", [0, -1, 300, "10m"])
def test_keep_alive_is_sent_when_it_is_given(keep_alive: float | str) -> None:
    with serving(Ollama()) as server:
        heard(model_at(server.url, keep_alive=keep_alive))
        assert server.asked[-1].body["keep_alive"] == keep_alive


def test_no_length_without_end_is_asked_for() -> None:
    with serving(Ollama()) as server:
        heard(model_at(server.url), max_tokens=0)
        assert server.asked[-1].body["options"]["num_predict"] == 1


def test_what_the_model_is_is_asked_once_and_the_connection_is_kept() -> None:
    with serving(Ollama()) as server:
        model = model_at(server.url)
        for _ in range(3):
            heard(model)
            assert model.card() == ModelCard(name="m", frame="chatml", window=8192)
        assert server.paths() == ["/api/show", "/api/ps", *["/api/generate"] * 3]
        assert {asked.connection for asked in server.asked} == {1}
        model.close()


WINDOWS = [
    # (title, num_ctx given, answer of /api/show, answer of /api/ps, window)
    ("of a long model", None, SHOWN, [], 8192),
    ("of a short model", None, {"model_info": {"llama.context_length": 2048}}, [], 2048),
    ("the Modelfile's", None, {"parameters": "num_ctx                        16384"}, [], 16384),
    ("the one loaded now", None, SHOWN, [{"name": "m:latest", "context_length": 4096}], 4096),
    ("another model's does not count", None, SHOWN, [{"name": "x", "context_length": 4096}], 8192),
    ("the user's before all", 1000, SHOWN, [{"name": "m", "context_length": 4096}], 1000),
    ("nothing is known", None, {}, [], 8192),
    ("odd answers", None, {"model_info": [], "parameters": 3}, [{"name": "m"}, 3], 8192),
    ("figures that are none", None, {"model_info": {"a.context_length": "x"}}, [], 8192),
]


@pytest.mark.parametrize(
    ("given", "shown", "loaded", "window"),
    [row[1:] for row in WINDOWS],
    ids=[r[0] for r in WINDOWS],
)
def test_the_window(given: int | None, shown: Any, loaded: Any, window: int) -> None:
    script = Ollama(show=as_json(shown), ps=as_json({"models": loaded}))
    with serving(script) as server:
        model = model_at(server.url, num_ctx=given)
        assert model.card().window == window
        heard(model)
        assert server.asked[-1].body["options"]["num_ctx"] == window


FRAMES = [
    # (title, answer of /api/show, frame, whether it thinks)
    ("a template", SHOWN, "chatml", False),
    ("a template that thinks", {"template": CHATML + "<think>"}, "qwen3", True),
    (
        "a capability",
        {"template": CHATML, "capabilities": ["completion", "thinking"]},
        "chatml",
        True,
    ),
    (
        "a renderer instead",
        {"template": "{{ .Prompt }}", "renderer": "qwen3-coder"},
        "chatml",
        False,
    ),
    ("a renderer that we do not know", {"template": "", "renderer": "glm-4.6"}, "plain", False),
    ("a base model", {"template": "{{ .Prompt }}"}, "plain", False),
    ("nothing", {}, "plain", False),
    ("a list", [], "plain", False),
]


@pytest.mark.parametrize(
    ("shown", "frame", "thinks"), [row[1:] for row in FRAMES], ids=[row[0] for row in FRAMES]
)
def test_the_frame(shown: Any, frame: str, thinks: bool) -> None:
    with serving(Ollama(show=as_json(shown))) as server:
        card = model_at(server.url).card()
        assert (card.frame, card.thinks) == (frame, thinks)
        assert model_at(server.url, frame="mistral").card().frame == "mistral"


@pytest.mark.parametrize(
    "answer",
    [
        sized(b"404 page not found", 404, "text/plain"),
        sized(b"", 404),
        sized(b"no", 405),
        sized(b"<html>", 200, "text/html"),
    ],
)
def test_a_server_without_the_answers_still_completes(answer: bytes) -> None:
    with serving(Ollama(show=answer, ps=answer)) as server:
        model = model_at(server.url)
        assert text(heard(model)) == " yes"
        assert model.card() == ModelCard(name="m", window=8192)


def test_a_failed_question_is_asked_again_the_next_time() -> None:
    script = Ollama(show=as_json({"error": "boom"}, 500))
    with serving(script) as server:
        model = model_at(server.url)
        with pytest.raises(ServerFault, match="boom"):
            model.card()
        script.answers["show"] = as_json(SHOWN)
        assert model.card().frame == "chatml"


def test_a_missing_model_says_how_to_get_it_and_what_is_there() -> None:
    missing = as_json({"error": "model 'm' not found"}, 404)
    tags = as_json({"models": [{"name": "qwen2.5:7b"}, {"name": "llama3.1:latest"}]})
    remedy = "fetch it with: ollama pull m; or use one that is there: qwen2.5:7b, llama3.1:latest"
    for script in (Ollama(show=missing, tags=tags), Ollama(generate=missing, tags=tags)):
        with serving(script) as server, pytest.raises(ModelMissing) as raised:
            heard(model_at(server.url, retry=AT_ONCE))
        assert str(raised.value).endswith(f"has no model 'm'; {remedy}")
    with (
        serving(Ollama(show=missing, tags=sized(b"", 500))) as server,
        pytest.raises(ModelMissing, match=r"ollama pull m$"),
    ):
        model_at(server.url).card()


def test_a_server_that_is_not_there_says_how_to_start_it() -> None:
    with serving(Ollama()) as server:
        url = server.url
    with pytest.raises(ServerUnreachable, match="start it with: ollama serve"):
        model_at(url).card()


def test_thinking_comes_on_its_own_channel() -> None:
    lines = [
        b'{"response":"","thinking":"Hm","done":false}\n',
        b'{"response":"","thinking":", yes","done":false}\n',
        ollama_line(" a"),
        ollama_end(),
    ]
    for parts in (lines, [b"".join(lines)]):
        script = Ollama(generate=chunked(parts, "application/x-ndjson"))
        with serving(script) as server:
            pieces = heard(model_at(server.url))
        assert text(pieces, "thinking") == "Hm, yes"
        assert text(pieces) == " a"


@pytest.mark.parametrize(
    ("reason", "finish"), [("stop", "stop"), ("length", "length"), ("", "stop"), ("new", "stop")]
)
def test_why_it_ended(reason: str, finish: str) -> None:
    parts = [ollama_line(" a"), ollama_end(reason)]
    with serving(Ollama(generate=chunked(parts, "application/x-ndjson"))) as server:
        assert heard(model_at(server.url))[-1].finish == finish


def test_times_are_told_in_seconds() -> None:
    with serving(Ollama()) as server:
        usage = heard(model_at(server.url))[-1].usage
    assert usage is not None
    assert (usage.prompt_seconds, usage.completion_seconds) == (0.5, 0.25)


def test_tokens_are_counted_while_the_server_does_not_tell() -> None:
    parts = [ollama_line(" a"), ollama_line(" b") + ollama_line(" c"), ollama_end()]
    with serving(Ollama(generate=chunked(parts, "application/x-ndjson"))) as server:
        pieces = model_at(server.url).complete("p", stop=(), options=Completion())
        told = [piece.usage.completion_tokens for piece in pieces]  # type: ignore[attr-defined]
    assert told[-1] == 3
    assert told == sorted(told)


def test_an_end_without_done_is_an_error() -> None:
    """What a runner that fails, or the guard against repetition, leaves of a reply."""
    parts = [ollama_line(" a"), ollama_line("")]
    with (
        serving(Ollama(generate=chunked(parts, "application/x-ndjson"))) as server,
        pytest.raises(StreamCut, match="without a line with done: true") as raised,
    ):
        heard(model_at(server.url))
    assert raised.value.text == " a"


def test_a_prompt_that_is_too_long_is_told_with_both_figures() -> None:
    inner = (
        '{"error":{"code":400,"message":"request (701 tokens) exceeds the available context size '
        '(512 tokens), try increasing it","type":"exceed_context_size_error",'
        '"n_prompt_tokens":701,"n_ctx":512}}'
    )
    with (
        serving(Ollama(generate=as_json({"error": inner}, 400))) as server,
        pytest.raises(ContextOverflow) as raised,
    ):
        heard(model_at(server.url))
    assert (raised.value.prompt_tokens, raised.value.window) == (701, 512)


def test_a_kept_connection_that_the_server_has_closed_is_replaced() -> None:
    closing = [*OLLAMA.reply([" yes"]), Act.CLOSE]
    with serving(Ollama(generate=closing)) as server:
        model = model_at(server.url, retry=AT_ONCE)
        for _ in range(20):
            assert text(heard(model)) == " yes"
        model.close()


def test_a_reply_whose_last_bytes_never_come_is_whole_all_the_same() -> None:
    parts = chunked([ollama_line(" a") + ollama_end()], "application/x-ndjson")[:-1]
    with serving(Ollama(generate=[*parts, Act.HOLD])) as server:
        pieces = heard(model_at(server.url))
    assert text(pieces) == " a"
    assert pieces[-1].finish == "stop"


@pytest.mark.parametrize("options", [{"num_ctx": 0}, {"num_ctx": -1}])
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(SetupError):
        OllamaModel("m", "http://127.0.0.1:1", **options)


def test_a_model_needs_a_name() -> None:
    with pytest.raises(SetupError, match="must be a name, such as"):
        OllamaModel("")


@pytest.mark.parametrize("rubbish", [b"", b"HTTP", b"\x00\xff" * 50, b"HTTP/1.1 999 X\r\n\r\n"])
def test_every_error_is_one_of_ours(rubbish: bytes) -> None:
    with serving(lambda _: [rubbish, Act.CLOSE]) as server:
        with pytest.raises(CompletionError):
            heard(model_at(server.url, num_ctx=10))
        with pytest.raises(CompletionError):
            model_at(server.url).card()
