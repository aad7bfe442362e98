"""What servers answer instead of a text becomes the right error, with its figures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reactext.backends._faults import fault
from reactext.errors import (
    CompletionError,
    ContextOverflow,
    ModelMissing,
    ServerBusy,
    ServerFault,
)

LLAMA_OVERFLOW = {
    "error": {
        "code": 400,
        "message": "request (701 tokens) exceeds the available context size (512 tokens), try "
        "increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 701,
        "n_ctx": 512,
    }
}

ANSWERS: list[tuple[str, int | None, Any, type[CompletionError], dict[str, Any]]] = [
    (
        "llama.cpp: too long",
        400,
        LLAMA_OVERFLOW,
        ContextOverflow,
        {"prompt_tokens": 701, "window": 512},
    ),
    (
        "Ollama: too long, as JSON inside a text",
        400,
        {"error": json.dumps(LLAMA_OVERFLOW)},
        ContextOverflow,
        {"prompt_tokens": 701, "window": 512},
    ),
    (
        "llama.cpp: too long, without figures beside the text",
        400,
        {"error": {"message": LLAMA_OVERFLOW["error"]["message"]}},
        ContextOverflow,
        {"prompt_tokens": 701, "window": 512},
    ),
    (
        "Ollama: too long for an MLX model",
        400,
        {"error": "input length (9000 tokens) exceeds the model's maximum context length"},
        ContextOverflow,
        {"prompt_tokens": 9000, "window": None},
    ),
    (
        "vLLM: too long",
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, you "
                "requested 5000 tokens (4900 in the messages, 100 in the completion).",
                "type": "BadRequestError",
                "code": 400,
            }
        },
        ContextOverflow,
        {"prompt_tokens": 5000, "window": 4096},
    ),
    (
        "old vLLM: flat",
        400,
        {"object": "error", "message": "maximum context length is 10 tokens", "code": 400},
        ContextOverflow,
        {"prompt_tokens": None},
    ),
    (
        "llama.cpp: too long in the middle",
        None,
        {
            "error": {
                "code": 500,
                "message": "Context size has been exceeded.",
                "type": "server_error",
            }
        },
        ContextOverflow,
        {"prompt_tokens": None},
    ),
    ("Ollama: no such model", 404, {"error": "model 'x' not found"}, ModelMissing, {}),
    (
        "vLLM: no such model",
        404,
        {
            "error": {
                "message": "The model `x` does not exist.",
                "type": "NotFoundError",
                "code": 404,
            }
        },
        ModelMissing,
        {},
    ),
    (
        "llama.cpp: no such path",
        404,
        {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}},
        ServerFault,
        {"status": 404, "retryable": False},
    ),
    ("FastAPI: no such path", 404, {"detail": "Not Found"}, ServerFault, {"status": 404}),
    (
        "old vLLM: no such model",
        404,
        {"object": "error", "message": "The model `x` does not exist.", "code": 404},
        ModelMissing,
        {},
    ),
    ("no such path, as text", 404, b"404 page not found", ServerFault, {"status": 404}),
    ("nothing at all", 404, b"", ServerFault, {"status": 404}),
    (
        "Ollama: queue full",
        503,
        {"error": "server busy, please try again.  maximum pending requests exceeded"},
        ServerBusy,
        {"retryable": True},
    ),
    (
        "llama.cpp: loading",
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        ServerBusy,
        {},
    ),
    ("too many requests", 429, {"error": {"message": "slow down"}}, ServerBusy, {}),
    (
        "a page of a gateway",
        502,
        b"<html>Bad Gateway</html>",
        ServerFault,
        {"status": 502, "retryable": True},
    ),
    (
        "Ollama: out of memory",
        500,
        {"error": "out of memory"},
        ServerFault,
        {"status": 500, "retryable": True},
    ),
    (
        "llama.cpp: bad grammar",
        400,
        {
            "error": {
                "code": 400,
                "message": "failed to parse grammar",
                "type": "invalid_request_error",
            }
        },
        ServerFault,
        {"status": 400, "retryable": False},
    ),
    (
        "llama.cpp: failed in the middle",
        None,
        {"error": {"code": 500, "message": "boom", "type": "server_error"}},
        ServerFault,
        {"status": 500, "retryable": True},
    ),
    ("Ollama: failed in the middle", None, {"error": "boom"}, ServerFault, {"status": 500}),
    (
        "a wrong key",
        401,
        {"error": {"message": "Invalid API Key"}},
        ServerFault,
        {"status": 401, "retryable": False},
    ),
    ("a strange host", 403, b"", ServerFault, {"status": 403}),
    ("moved", 308, b"", ServerFault, {"status": 308, "retryable": False}),
    (
        "FastAPI",
        422,
        {"detail": [{"loc": ["body"], "msg": "field required"}]},
        ServerFault,
        {"status": 422},
    ),
    ("a list", 500, [1, 2], ServerFault, {"status": 500}),
    ("null", 500, None, ServerFault, {"status": 500}),
    ("an error that is empty", 500, {"error": {}}, ServerFault, {"status": 500}),
    ("an error that is false", 400, {"error": False}, ServerFault, {"status": 400}),
    (
        "JSON in JSON in JSON",
        400,
        {"error": json.dumps({"error": json.dumps(LLAMA_OVERFLOW)})},
        ContextOverflow,
        {"window": 512},
    ),
    ("broken JSON inside", 400, {"error": '{"error": {"message"'}, ServerFault, {"status": 400}),
]


@pytest.mark.parametrize(
    ("status", "answer", "kind", "attributes"),
    [row[1:] for row in ANSWERS],
    ids=[row[0] for row in ANSWERS],
)
def test_an_answer_and_its_error(
    status: int | None, answer: Any, kind: type[CompletionError], attributes: dict[str, Any]
) -> None:
    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    error = fault(status, content, url="http://server/path")
    assert type(error) is kind
    assert str(error).startswith("http://server/path ")
    for name, value in attributes.items():
        assert getattr(error, name) == value


def test_a_long_answer_is_shown_in_part() -> None:
    error = fault(500, b"x" * 100_000, url="http://server")
    assert len(str(error)) < 1000
