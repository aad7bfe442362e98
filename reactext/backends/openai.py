"""Servers of the OpenAI style: ``/v1/completions`` of vLLM, SGLang, LM Studio, LocalAI and others.

The path takes a text and continues it. Ollama has it too, but wraps the text in a chat format of
its own, and is refused.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from reactext.backends._completing import completing
from reactext.backends._events import END, Event, bursts, text_of, unfinished
from reactext.backends._family import frame_of_name
from reactext.backends._http import Origin
from reactext.backends._lines import EventDecoder
from reactext.backends._once import Once
from reactext.backends._openai_server import DIALECTS, Kind, server_at
from reactext.backends._reply import Reply, Timeouts
from reactext.backends._retry import Retry
from reactext.backends._usage import of_openai, of_timings
from reactext.completion import Completion, Finish, ModelCard, Piece
from reactext.errors import CompletionError, ServerFault, StreamCut
from reactext.given import Count, Text, checked
from reactext.models import Usage

KEY_VARIABLE = "OPENAI_API_KEY"
_MOST_STOPS = 4
"""The original API takes no more; the others are found on this side."""

_AFTER_THE_END = 0.5
"""Seconds to wait for the counts that may follow the end of the text."""


@checked
class OpenAICompletionModel:
    """A model behind an address that ends in ``/v1``.

    ``name`` is the model's name there; the first that the server lists when it is None. The key
    is taken from ``OPENAI_API_KEY`` when ``api_key`` is None. ``kind`` says which software serves
    it, and so how it takes a grammar, when the server does not tell. ``frame`` names the chat
    format, when the one that is guessed from the model's name is not right.
    """

    def __init__(
        self,
        url: Text,
        name: str | None = None,
        *,
        api_key: str | None = None,
        kind: Kind | None = None,
        window: Count | None = None,
        frame: Text | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
    ) -> None:
        key = (os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key).strip()
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._origin = Origin(
            url if urlsplit(url).path.strip("/") else url.rstrip("/") + "/v1",
            timeouts=timeouts or Timeouts(),
            headers={**authorization, **(headers or {})},
            # of the servers that speak this, one at least closes what it promised to keep
            keep_alive=False,
            kind="a server of the OpenAI style",
            remedy="start the server, or give another address",
        )
        self._kind = kind
        self._window = window
        self._frame = frame
        self._retry = retry or Retry()
        self._server = Once(lambda: server_at(self._origin, name))

    def __repr__(self) -> str:
        return f"OpenAICompletionModel({self._origin.url!r})"

    def __enter__(self) -> OpenAICompletionModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the completions that run and close all connections; it may still be used."""
        self._origin.close()

    def card(self) -> ModelCard:
        """Ask the server what the model is, once."""
        server = self._server()
        frame = self._frame or frame_of_name(server.name)
        return ModelCard(
            name=server.name,
            frame=frame,
            window=self._window or server.window,
            grammar=DIALECTS.get(self._kind or server.kind),
            thinks=frame in ("qwen3", "deepseek"),
        )

    def server(self) -> str:
        """Say which server this is; raises `CompletionError` when it cannot be asked."""
        kind = self._kind or self._server().kind
        software = "a server of the OpenAI style" if kind == "other" else kind
        return f"{software} at {self._origin.url}"

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield the continuation piece by piece; see `CompletionModel`."""
        stops = [text for text in stop if text]
        return completing(
            lambda: self._begin(prompt, stops, options),
            stop=stops,
            options=options,
            retry=self._retry,
        )

    @contextlib.contextmanager
    def _begin(
        self, prompt: str, stop: Sequence[str], options: Completion
    ) -> Iterator[Iterable[Piece]]:
        server = self._server()
        body = _body(server.name, self._kind or server.kind, prompt, stop, options)
        with self._origin.stream("/completions", body, options.cancellation) as reply:
            yield pieces(reply)


def _body(
    name: str, kind: Kind, prompt: str, stop: Sequence[str], options: Completion
) -> dict[str, Any]:
    body = {
        "model": name,
        "prompt": prompt,
        # the default is 16 in places
        "max_tokens": max(1, options.max_tokens),
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": list(stop[:_MOST_STOPS]) or None,
        "stream": True,
        "stream_options": {"include_usage": True},
        **_OF_KIND[kind](options),
    }
    return {name: value for name, value in body.items() if value is not None}


def _of_vllm(options: Completion) -> dict[str, Any]:
    grammar = options.grammar
    return {
        "repetition_penalty": options.repeat_penalty,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "structured_outputs": None if grammar is None else {"grammar": grammar},
    }


def _of_sglang(options: Completion) -> dict[str, Any]:
    return {"repetition_penalty": options.repeat_penalty, "ebnf": options.grammar}


def _of_llamacpp(options: Completion) -> dict[str, Any]:
    return {
        "repeat_penalty": options.repeat_penalty,
        "grammar": options.grammar,
        "timings_per_token": True,
    }


def _of_localai(options: Completion) -> dict[str, Any]:
    return {"repeat_penalty": options.repeat_penalty, "grammar": options.grammar}


def _of_other(_: Completion) -> dict[str, Any]:
    # a strict server refuses what it does not know
    return {}


_OF_KIND = {
    "vllm": _of_vllm,
    "sglang": _of_sglang,
    "llamacpp": _of_llamacpp,
    "localai": _of_localai,
    "other": _of_other,
}


def pieces(reply: Reply) -> Iterator[Piece]:
    """Read the events of a reply; a finish reason or ``[DONE]`` must end them.

    What goes wrong after the finish reason no longer matters: the text is whole.
    """
    counted = 0
    usage: Usage | None = None
    finish: Finish | None = None
    try:
        for events in bursts(reply, EventDecoder()):
            choices = [_choice(event) for event in events]
            texts = [text_of(choice, "text") for choice in choices]
            counted += sum(1 for text in texts if text)
            usage = next(filter(None, map(_usage, reversed(events))), usage)
            if choices:
                yield Piece("".join(texts), usage=usage or Usage(completion_tokens=counted))
            for choice in choices:
                if choice.get("finish_reason"):
                    finish = _finish(choice, reply.url)
                    reply.wait_at_most(_AFTER_THE_END)
            if events[-1] is END:
                finish = finish or "stop"
                break
    except CompletionError:
        if finish is None:
            raise
    if finish is None:
        raise unfinished(reply.url, "a finish reason or [DONE]")
    yield Piece(usage=usage or Usage(completion_tokens=counted), finish=finish)


def _choice(event: Event) -> dict[str, Any]:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
            return choice
    return {}


def _finish(choice: dict[str, Any], url: str) -> Finish:
    reason = choice.get("finish_reason")
    if reason == "length":
        return "length"
    if reason == "content_filter":
        raise ServerFault(f"the content filter of {url} ended the text", status=200)
    if reason in ("abort", "error"):
        raise StreamCut(f"{url} ended the text itself: finish_reason {reason!r}")
    # vLLM alone tells a stop text from the model's own end
    if "stop_reason" in choice and not isinstance(choice["stop_reason"], str):
        return "eos"
    return "stop"


def _usage(event: Event) -> Usage | None:
    if isinstance(timings := event.get("timings"), dict):
        return of_timings(timings)
    usage = event.get("usage")
    return of_openai(usage) if isinstance(usage, dict) else None
