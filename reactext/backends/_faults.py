"""A server's refusal becomes one of our errors: one table for all servers.

Ollama sends ``{"error": "text"}``, where the text may itself be the JSON of the llama.cpp server
under it; llama.cpp and the OpenAI style send ``{"error": {"message", "type", "code"}}``; older
vLLM a flat ``{"object": "error", "message", …}``; others ``{"detail": …}``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from reactext.backends._json import parsed
from reactext.backends._usage import count
from reactext.errors import (
    CompletionError,
    ContextOverflow,
    ModelMissing,
    ServerBusy,
    ServerFault,
)

_LONGEST_MESSAGE = 600

_REMEDIES = {
    401: "give the right key with api_key= or headers=",
    403: "the server refuses this address or this key; check host and key",
    404: "is this the address of the right server?",
    413: "the request is larger than the server or a proxy before it allows",
    500: "look into the server's log",
    501: "the server was built or started without this",
    502: "the proxy or gateway reached no server",
    504: "the proxy or gateway waited too long for the server",
}

_BUSY = (408, 425, 429, 503)

_OVERFLOW = re.compile(
    r"context (size|length|window)|exceed_context_size|prompt is (too long|longer)", re.IGNORECASE
)
_COUNTS = (
    # llama.cpp; vLLM and OpenAI; Ollama's MLX engine
    re.compile(r"request \((?P<prompt>\d{1,12}) tokens\).*?\((?P<window>\d{1,12}) tokens\)"),
    re.compile(
        r"context length is (?P<window>\d{1,12}) tokens.*?(?P<prompt>\d{1,12}) (input )?tokens"
    ),
    re.compile(r"length \((?P<prompt>\d{1,12}) tokens\)"),
)


def fault(
    status: int | None, content: bytes, *, url: str, place: str | None = None
) -> CompletionError:
    """Return the error that an HTTP answer means; ``status`` is None inside a stream.

    ``place`` is where it points to. Nobody goes there: it may be no place for a key.
    """
    if place is not None:
        message = f"{url} answered {status}: it points to {place[:_LONGEST_MESSAGE]}"
        return ServerFault(message, remedy="give that address", status=status)
    return error_of(status, _as_told(content), url=url)


def error_of(status: int | None, answer: Any, *, url: str) -> CompletionError:
    """Return the error that a parsed answer means."""
    message, details = _unwrapped(answer)
    kind = details.get("type")
    if not message.strip():
        message = json.dumps(answer) if answer else "no reason given"
    shown = message[:_LONGEST_MESSAGE]
    said = f"{url} answered {status}: {shown}" if status else f"{url} broke off: {shown}"
    if kind == "exceed_context_size_error" or (
        status in (None, 400, 413, 422, 500) and _OVERFLOW.search(message)
    ):
        return _overflow(said, message, details)
    if status in _BUSY or kind == "unavailable_error":
        return ServerBusy(said, remedy="wait until it is free or has loaded the model")
    # llama.cpp tells of a wrong path in this way, and knows no other 404
    if status == 404 and kind != "not_found_error" and _is_told_as_error(answer):
        return ModelMissing(said)
    if status is None:
        code = details.get("code")
        status = code if type(code) is int and 100 <= code < 600 else 500
    if isinstance(page := details.get("signin_url"), str):
        return ServerFault(said, remedy=f"run: ollama signin; or open {page}", status=status)
    remedy = _REMEDIES.get(status, _REMEDIES[500] if status >= 500 else "")
    return ServerFault(said, remedy=remedy, status=status)


def _is_told_as_error(answer: Any) -> bool:
    """Whether the server itself refuses; web frameworks tell of a wrong path in other ways."""
    return isinstance(answer, dict) and (
        bool(answer.get("error")) or answer.get("object") == "error"
    )


def _as_told(content: bytes) -> Any:
    try:
        return parsed(content)
    except ValueError:
        return content.decode("utf-8", "replace").strip()


def _unwrapped(answer: Any) -> tuple[str, dict[str, Any]]:
    """The sentence inside an answer and the object beside it, through all layers of JSON."""
    details: dict[str, Any] = {}
    for _ in range(5):
        if isinstance(answer, dict):
            details = answer
            answer = next(
                (answer[key] for key in ("error", "message", "detail") if answer.get(key)), ""
            )
        elif isinstance(answer, str) and answer.lstrip().startswith("{"):
            inner = _as_told(answer.encode("utf-8", "replace"))
            if isinstance(inner, str):
                break
            answer = inner
        else:
            break
    return (answer if isinstance(answer, str) else json.dumps(answer)), details


def _overflow(said: str, message: str, details: dict[str, Any]) -> ContextOverflow:
    prompt, window = count(details.get("n_prompt_tokens")), count(details.get("n_ctx"))
    for pattern in _COUNTS:
        if prompt is None and (found := pattern.search(message)):
            numbers = {name: int(digits) for name, digits in found.groupdict().items()}
            prompt, window = numbers.get("prompt"), numbers.get("window")
    return ContextOverflow(
        said,
        remedy="shorten the task or the observations, or give the model a larger window",
        prompt_tokens=prompt,
        window=window,
    )
