"""llama.cpp: what is asked of it, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from apis import LLAMACPP, NOT_FOUND, SOON, heard, llama_end, llama_event
from wire_server import Asked, as_json, chunked, serving

from reactext.backends import NEVER, LlamaCppModel
from reactext.completion import ModelCard
from reactext.errors import ContextOverflow, ServerFault

PROPERTIES = {
    "default_generation_settings": {"n_ctx": 4096},
    "total_slots": 1,
    "model_path": "/models/qwen2.5.gguf",
    "chat_template": "<|im_start|>{{ x }}<|im_end|>",
}


class LlamaServer:
    """The script of a llama.cpp server with these answers."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "props": as_json(PROPERTIES),
            "completion": LLAMACPP.reply([" a"]),
            **answers,
        }

    def __call__(self, asked: Asked) -> Iterable[Any]:
        answer = self.answers.get(asked.path[1:], NOT_FOUND)
        return answer if isinstance(answer, list) else [answer]


def model_at(url: str, **options: Any) -> LlamaCppModel:
    return LlamaCppModel(url, **{"timeouts": SOON, "retry": NEVER, **options})


def test_the_request() -> None:
    with serving(LlamaServer()) as server:
        heard(
            model_at(server.url, api_key="k"),
            "p\nThought:",
            max_tokens=77,
            seed=3,
            top_p=0.9,
            grammar='root ::= "a"',
        )
        asked = server.asked[-1]
    assert asked.body == {
        "prompt": "p\nThought:",
        "n_predict": 77,
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": 3,
        "repeat_penalty": 1.0,
        "grammar": 'root ::= "a"',
        "stop": ["\nObservation"],
        "stream": True,
        "cache_prompt": True,
        "timings_per_token": True,
        "response_fields": ["content", "stop", "stop_type", "timings", "truncated"],
    }
    assert asked.headers["connection"] == "close"
    assert asked.headers["authorization"] == "Bearer k"


def test_every_request_has_a_connection_of_its_own() -> None:
    with serving(LlamaServer()) as server:
        model = model_at(server.url)
        for _ in range(3):
            heard(model)
        model.card()
        assert [asked.connection for asked in server.asked] == [1, 2, 3, 4]


def test_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", " sesame\n")
    with serving(LlamaServer()) as server:
        heard(model_at(server.url))
        heard(model_at(server.url, api_key=""))
        assert [asked.headers.get("authorization") for asked in server.asked] == [
            "Bearer sesame",
            None,
        ]


def test_the_card_is_asked_once() -> None:
    with serving(LlamaServer()) as server:
        model = model_at(server.url)
        for _ in range(2):
            assert model.card() == ModelCard(
                name="qwen2.5.gguf", frame="chatml", window=4096, grammar="gbnf"
            )
        assert server.paths() == ["/props"]


@pytest.mark.parametrize(
    "answer", [NOT_FOUND, as_json([]), as_json({}), as_json({"chat_template": 3})]
)
def test_a_server_that_keeps_its_properties_to_itself(answer: bytes) -> None:
    with serving(LlamaServer(props=answer)) as server:
        assert model_at(server.url).card() == ModelCard(grammar="gbnf")


@pytest.mark.parametrize(
    ("kind", "finish"), [("eos", "eos"), ("word", "stop"), ("limit", "length"), ("none", "stop")]
)
def test_why_it_ended(kind: str, finish: str) -> None:
    reply = chunked([llama_event(" a"), llama_end(kind)], "text/event-stream")
    with serving(LlamaServer(completion=reply)) as server:
        assert heard(model_at(server.url))[-1].finish == finish


def test_every_piece_tells_what_was_counted_so_far() -> None:
    parts = [llama_event(" a", 1), llama_event(" b", 2), llama_end(number=2)]
    with serving(LlamaServer(completion=chunked(parts, "text/event-stream"))) as server:
        pieces = heard(model_at(server.url))
    for piece in pieces:
        assert piece.usage is not None
        assert (piece.usage.prompt_tokens, piece.usage.cached_tokens) == (11, 7)
        assert (piece.usage.prompt_seconds, piece.usage.completion_seconds) == (0.5, 0.25)
    assert pieces[-1].usage is not None
    assert pieces[-1].usage.completion_tokens == 2


def test_an_overflow_is_told_with_both_figures() -> None:
    answer = {
        "error": {
            "code": 400,
            "message": "request (701 tokens) exceeds the available context size (512 tokens)",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 701,
            "n_ctx": 512,
        }
    }
    with (
        serving(LlamaServer(completion=as_json(answer, 400))) as server,
        pytest.raises(ContextOverflow) as raised,
    ):
        heard(model_at(server.url))
    assert (raised.value.prompt_tokens, raised.value.window) == (701, 512)


def test_the_error_field_of_an_old_server() -> None:
    parts = [llama_event(" a"), b'error: {"code":500,"message":"boom","type":"server_error"}\n\n']
    with (
        serving(LlamaServer(completion=chunked(parts, "text/event-stream"))) as server,
        pytest.raises(ServerFault, match="boom") as raised,
    ):
        heard(model_at(server.url))
    assert raised.value.text == " a"


def test_tokens_are_counted_by_the_server() -> None:
    with serving(LlamaServer(tokenize=as_json({"tokens": [1, 2, 3]}))) as server:
        assert model_at(server.url).count_tokens("a b") == 3
        assert server.asked[-1].body == {"content": "a b"}
    with (
        serving(LlamaServer(tokenize=as_json({}))) as server,
        pytest.raises(ServerFault, match="did not answer with tokens"),
    ):
        model_at(server.url).count_tokens("a b")


@pytest.mark.parametrize(
    ("answer", "window"),
    [
        (as_json(PROPERTIES), 4096),
        (as_json({"default_generation_settings": {"n_ctx": 0}}), None),
        (as_json({"error": {"code": 404, "message": "no such path"}}, 404), None),
        (as_json({"error": "no such path"}, 404), None),
    ],
)
def test_the_window_where_the_server_tells_one(answer: Any, window: int | None) -> None:
    with serving(LlamaServer(props=answer)) as server:
        assert model_at(server.url).card().window == window


@pytest.mark.parametrize("status", [404, 500, 503])
def test_without_a_tokenizer_the_text_is_sent_as_text(status: int) -> None:
    reply = chunked([llama_event(" a"), llama_end()], LLAMACPP.content_type)
    refusal = as_json({"error": {"code": status, "message": "no"}}, status)
    with serving(LlamaServer(completion=reply, tokenize=refusal)) as server:
        model = model_at(server.url)
        heard(model, "p")
        heard(model, "p a, and on")
        assert server.asked[-1].body["prompt"] == "p a, and on"
