"""Whatever a server answers, to any question, becomes a clear error of ours or does no harm."""

from __future__ import annotations

import copy
import gc
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from apis import APIS, LLAMACPP, NOT_FOUND, OLLAMA, OPENAI, SOON, Api, heard
from wire_server import Asked, chunked, serving, sized

from reactext.backends._http import Origin
from reactext.backends._ollama_facts import foremost
from reactext.errors import CompletionError, ServerFault, SetupError

each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)

ANSWERS: dict[str, dict[str, Any]] = {
    "ollama": {
        "/api/show": {
            "template": "<|im_start|>{{ .Prompt }}<|im_end|>",
            "renderer": "qwen3",
            "parameters": "num_ctx                        4096",
            "model_info": {"qwen2.context_length": 32768},
            "capabilities": ["completion"],
        },
        "/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]},
        "/api/tags": {"models": [{"name": "m:latest", "capabilities": ["completion"]}]},
        "/api/version": {"version": "0.33.0"},
    },
    "llamacpp": {
        "/props": {
            "default_generation_settings": {"n_ctx": 4096},
            "chat_template": "<|im_start|>",
            "model_path": "/m.gguf",
            "build_info": "b1",
        },
        "/health": {"status": "ok"},
        "/tokenize": {"tokens": [{"id": 1, "piece": "\nOb"}]},
    },
    "openai": {
        "/v1/models": {
            "data": [
                {
                    "id": "m",
                    "owned_by": "vllm",
                    "max_model_len": 4096,
                    "meta": {"n_ctx": 4096},
                }
            ]
        },
    },
}

EVENTS: dict[str, list[dict[str, Any]]] = {
    "ollama": [
        {"response": " a", "thinking": "b", "done": False, "error": ""},
        {
            "response": "",
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 3,
            "prompt_eval_duration": 4,
            "eval_count": 5,
            "eval_duration": 6,
        },
    ],
    "llamacpp": [
        {"content": " a", "tokens": [5], "stop": False, "timings": {"cache_n": 1, "prompt_n": 2}},
        {
            "content": "",
            "stop": True,
            "stop_type": "eos",
            "timings": {"predicted_n": 3, "prompt_ms": 4.5, "predicted_ms": 6},
        },
    ],
    "openai": [
        {"object": "text_completion", "choices": [{"text": " a", "finish_reason": None}]},
        {"choices": [{"text": "", "finish_reason": "stop", "stop_reason": None}]},
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 3,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 2},
            },
            "timings": {"cache_n": 1},
        },
    ],
}

ODD: list[bytes] = [
    *(b"null", b"true", b"false", b"0", b"-1", b"3.5", b"NaN", b"Infinity", b"1e400"),
    *(b'""', b'"a"', b'"\\ud800"', b'"\\u0000"', b"[]", b"[[]]", b'["a"]', b"[3]", b"[null]"),
    *(b"{}", b'{"a":1}', b'{"error":{}}', b'{"error":{"message":3,"code":[]}}'),
    b"9" * 400,
    b"9" * 5000,
]
MARK = "\u2603"


def odd_ones(answer: Any) -> Iterator[bytes]:
    """The answer with each of its parts, and then itself, replaced by each odd value."""
    for path in paths(answer):
        for odd in ODD:
            yield replaced(answer, path, odd)


def paths(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    inside: Iterable[Any] = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, part in inside:
        yield from ((key, *path) for path in paths(part))


def replaced(answer: Any, path: tuple[Any, ...], odd: bytes) -> bytes:
    if not path:
        return odd
    answer = copy.deepcopy(answer)
    place = answer
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = MARK
    return json.dumps(answer, ensure_ascii=False).encode().replace(f'"{MARK}"'.encode(), odd)


def question(api: Api, url: str, path: str) -> None:
    """Ask what leads to this question."""
    model: Any = api.model(url, **({"num_ctx": None} if api is OLLAMA else {}))
    if path == "/api/tags":
        foremost(Origin(url, timeouts=SOON))
    elif path == api.path:
        heard(model)
    elif path in ("/api/version", "/health"):
        model.server()
    elif path == "/tokenize":
        model._takes_parts()
        model.count_tokens("a")
    else:
        model.card()


class Answering:
    """A server whose answer to one question is replaced."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.odd: dict[str, list[bytes]] = {}

    def __call__(self, asked: Asked) -> Iterable[Any]:
        if asked.path in self.odd:
            return self.odd[asked.path]
        if self.api.asks_for_text(asked):
            return self.api.reply([" a"])
        answer = ANSWERS[self.api.name].get(asked.path)
        return [NOT_FOUND if answer is None else sized(json.dumps(answer).encode())]


def harmless(asking: Callable[[], Any]) -> None:
    told = ""
    try:
        asking()
    except (CompletionError, SetupError) as error:
        told = str(error)
    assert len(told) < 1500
    assert "no reason given" not in told


@each_api
def test_an_odd_answer_about_the_model(api: Api) -> None:
    script = Answering(api)
    with serving(script) as server:
        for path, answer in ANSWERS[api.name].items():
            for odd in odd_ones(answer):
                script.odd = {path: [sized(odd)]}
                harmless(lambda path=path: question(api, server.url, path))  # type: ignore[misc]


@each_api
def test_an_odd_event_of_a_text(api: Api) -> None:
    script = Answering(api)
    events = EVENTS[api.name]
    with serving(script) as server:
        for number, event in enumerate(events):
            for odd in odd_ones(event):
                parts = [json.dumps(each).encode() for each in events]
                parts[number] = odd
                lines = [as_event(api, part) for part in parts]
                script.odd = {api.path: chunked(lines, api.content_type)}
                harmless(lambda: heard(api.model(server.url)))


def as_event(api: Api, data: bytes) -> bytes:
    return data + b"\n" if api is OLLAMA else b"data: " + data + b"\n\n"


@each_api
def test_what_nests_without_end(api: Api) -> None:
    script = Answering(api)
    gc.disable()  # Python's own collection would meet the same limit
    try:
        with serving(script) as server:
            for deep in (b"[" * 5000, b'{"error":' * 5000):
                for path in [*ANSWERS[api.name], api.path]:
                    script.odd = {path: [sized(deep)]}
                    harmless(lambda path=path: question(api, server.url, path))  # type: ignore[misc]
    finally:
        gc.enable()


@each_api
@pytest.mark.parametrize("odd", [b"null", b"3", b"[]", b"[1, 2]", b"true", b"NaN", b"1e999"])
def test_what_is_no_object_is_told_at_once_with_what_came(api: Api, odd: bytes) -> None:
    script = Answering(api)
    kind = {OLLAMA.name: "an Ollama server", LLAMACPP.name: "a llama.cpp server"}.get(
        api.name, "a server of the OpenAI style"
    )
    script.odd = {
        path: [sized(odd)] if path != api.path else chunked([as_event(api, odd)], api.content_type)
        for path in (api.path, "/api/version", "/tokenize")
    }
    with serving(script) as server:
        model: Any = api.model(server.url)
        asked: list[Callable[[], Any]] = [lambda: heard(model)]
        asked += [model.server] if api is OLLAMA else []
        asked += [lambda: model.count_tokens("a")] if api is LLAMACPP else []
        for ask in asked:
            with pytest.raises(ServerFault) as raised:
                ask()
            assert not raised.value.retryable
            assert f"is this the address of {kind}?" in str(raised.value)
            assert " sent '" in str(raised.value)


def test_the_openai_style_is_not_read_as_another() -> None:
    """The most likely mistakes: the right machine, and another server's port or path."""
    for api, other in ((OLLAMA, OPENAI), (OPENAI, OLLAMA), (LLAMACPP, OPENAI)):
        reply = other.reply([" a"])
        with serving(lambda _, reply=reply: reply) as server:  # type: ignore[misc]
            with pytest.raises(CompletionError) as raised:
                heard(api.model(server.url))
            assert raised.value.text == ""
