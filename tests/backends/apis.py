"""The three APIs, byte for byte as their servers speak them, and the models that read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wire_server import Asked, as_json, chunked

from reactext.backends import (
    NEVER,
    LlamaCppModel,
    OllamaModel,
    OpenAICompletionModel,
    Retry,
    Timeouts,
)
from reactext.completion import Completion, CompletionModel, Piece

SOON = Timeouts(connect=5, first=5, gap=5, ask=5)
AT_ONCE = Retry(attempts=3, wait=0, longest_wait=0, busy_seconds=20)


def ollama_line(text: str) -> bytes:
    return _json(model="m", created_at="2026-01-01T00:00:00Z", response=text, done=False) + b"\n"


def ollama_end(reason: str = "stop", **counts: int) -> bytes:
    told = {
        "total_duration": 900_000_000,
        "prompt_eval_count": 11,
        "prompt_eval_duration": 500_000_000,
        "eval_count": 3,
        "eval_duration": 250_000_000,
        **counts,
    }
    line = _json(
        model="m",
        created_at="2026-01-01T00:00:01Z",
        response="",
        done=True,
        done_reason=reason,
        **told,
    )
    return line + b"\n"


def llama_event(text: str, number: int = 1) -> bytes:
    return _data(
        index=0,
        content=text,
        tokens=[5],
        stop=False,
        id_slot=-1,
        tokens_predicted=number,
        tokens_evaluated=11,
        timings=timings(number),
    )


def llama_end(kind: str = "eos", number: int = 3) -> bytes:
    return _data(content="", stop=True, stop_type=kind, truncated=False, timings=timings(number))


def timings(number: int) -> dict[str, Any]:
    return {
        "cache_n": 7,
        "prompt_n": 4,
        "prompt_ms": 500.0,
        "predicted_n": number,
        "predicted_ms": 250.0,
    }


def openai_event(text: str) -> bytes:
    return _chunk([{"index": 0, "text": text, "logprobs": None, "finish_reason": None}])


def openai_end(reason: str = "stop", **more: Any) -> bytes:
    return _chunk([{"index": 0, "text": "", "finish_reason": reason, **more}])


def openai_usage() -> bytes:
    details = {"cached_tokens": 7}
    return _data(
        id="c",
        object="text_completion",
        choices=[],
        usage={
            "prompt_tokens": 11,
            "completion_tokens": 3,
            "total_tokens": 14,
            "prompt_tokens_details": details,
        },
    )


DONE = b"data: [DONE]\n\n"


def _chunk(choices: list[dict[str, Any]]) -> bytes:
    return _data(id="c", object="text_completion", created=1, model="m", choices=choices)


def _data(**event: Any) -> bytes:
    return b"data: " + _json(**event) + b"\n\n"


def _json(**event: Any) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Api:
    """One API: how its replies are made, and which model reads them."""

    name: str
    content_type: str
    event: Callable[[str], bytes]
    end: Callable[[], bytes]
    model: Callable[..., CompletionModel]
    path: str

    def parts(self, texts: Sequence[str]) -> list[bytes]:
        return [*map(self.event, texts), self.end()]

    def reply(self, texts: Sequence[str]) -> list[bytes]:
        """A whole reply of these texts."""
        return chunked(self.parts(texts), self.content_type)

    def asks_for_text(self, asked: Asked) -> bool:
        return asked.path == self.path


def _ollama(url: str, **options: Any) -> CompletionModel:
    return OllamaModel("m", url, **{"num_ctx": 2048, "timeouts": SOON, "retry": NEVER, **options})


def _llama(url: str, **options: Any) -> CompletionModel:
    return LlamaCppModel(url, **{"timeouts": SOON, "retry": NEVER, **options})


def _openai(url: str, **options: Any) -> CompletionModel:
    return OpenAICompletionModel(url, "m", **{"timeouts": SOON, "retry": NEVER, **options})


OLLAMA = Api("ollama", "application/x-ndjson", ollama_line, ollama_end, _ollama, "/api/generate")
LLAMACPP = Api("llamacpp", "text/event-stream", llama_event, llama_end, _llama, "/completion")
OPENAI = Api(
    "openai",
    "text/event-stream",
    openai_event,
    lambda: openai_end() + openai_usage() + DONE,
    _openai,
    "/v1/completions",
)
APIS = [OLLAMA, LLAMACPP, OPENAI]

NOT_FOUND = as_json({"error": {"code": 404, "message": "no", "type": "not_found_error"}}, 404)


def heard(
    model: CompletionModel,
    prompt: str = "Question: why?\nThought:",
    *,
    stop: Sequence[str] = ("\nObservation",),
    **options: Any,
) -> list[Piece]:
    """All pieces of a completion."""
    pieces = model.complete(prompt, stop=stop, options=Completion(**options))
    return [piece if isinstance(piece, Piece) else Piece(piece) for piece in pieces]


def text(pieces: Sequence[Piece], channel: str = "text") -> str:
    return "".join(piece for piece in pieces if piece.channel == channel)
