"""The llama.cpp server: its own ``/completion``, which tells most about what it did."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from reactext.backends._completing import completing
from reactext.backends._events import Event, bursts, text_of, unfinished
from reactext.backends._family import frame_of_template, thinks
from reactext.backends._http import Origin
from reactext.backends._lines import EventDecoder
from reactext.backends._once import Once
from reactext.backends._replay import Line, Part, Replay
from reactext.backends._reply import Reply, Timeouts
from reactext.backends._retry import Retry
from reactext.backends._slots import Slots
from reactext.backends._usage import count, of_timings
from reactext.completion import Completion, Finish, ModelCard, Piece
from reactext.errors import CompletionError, ModelMissing, ServerFault
from reactext.given import Text, Within, checked
from reactext.models import Usage

KEY_VARIABLE = "LLAMA_API_KEY"

_FINISHES: dict[str, Finish] = {"word": "stop", "eos": "eos", "limit": "length"}
_AMID = "\nOb"
# the last event would repeat the whole prompt otherwise; "stop" marks it as the last
_FIELDS = ["content", "stop", "stop_type", "timings", "truncated"]


@checked
class LlamaCppModel:
    """The model that a llama.cpp server serves.

    ``frame`` names the chat format, when the one that is told from the model's template is not
    right. ``api_key`` is the one that the server was started with; that of ``LLAMA_API_KEY`` when
    it is None. ``slots`` is how many the server has, when nobody else uses it: conversations that
    take turns are then kept apart. With 0 the server chooses.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        frame: Text | None = None,
        api_key: str | None = None,
        slots: Annotated[int, Within(least=0, most=4096)] = 0,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
    ) -> None:
        key = (os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key).strip()
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._origin = Origin(
            url,
            timeouts=timeouts or Timeouts(),
            headers={**authorization, **(headers or {})},
            # it closes the connection after a stream although it promises to keep it
            keep_alive=False,
            kind="a llama.cpp server",
            remedy="start it with: llama-server -m MODEL.gguf",
        )
        self._frame = frame
        self._retry = retry or Retry()
        self._properties = Once(self._ask_properties)
        self._takes_parts = Once(self._ask_whether_parts_join)
        self._replay = Replay()
        self._slots = Slots(slots)

    def __repr__(self) -> str:
        return f"LlamaCppModel({self._origin.url!r})"

    def __enter__(self) -> LlamaCppModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the completions that run and close all connections; it may still be used."""
        self._origin.close()

    def card(self) -> ModelCard:
        """Ask the server what the model is, once."""
        properties = self._properties()
        template = text_of(properties, "chat_template")
        settings = properties.get("default_generation_settings")
        path = text_of(properties, "model_path") or text_of(properties, "model_alias")
        return ModelCard(
            name=path.replace("\\", "/").rsplit("/", 1)[-1],
            frame=self._frame or frame_of_template(template),
            # a router that has loaded nothing yet says 0
            window=(count(settings.get("n_ctx")) if isinstance(settings, dict) else 0) or None,
            grammar="gbnf",
            thinks=thinks(template),
        )

    def server(self) -> str:
        """Say which server this is; raises `CompletionError` when it cannot be asked."""
        self._origin.ask("GET", "/health")
        build = text_of(self._properties(), "build_info") or "(no version told)"
        return f"llama.cpp {build} at {self._origin.url}"

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as part of a prompt."""
        tokens = self._origin.ask("POST", "/tokenize", {"content": text}).get("tokens")
        if not isinstance(tokens, list):
            raise ServerFault(
                f"{self._origin.url}/tokenize did not answer with tokens",
                remedy="is this a llama.cpp server?",
                status=200,
            )
        return len(tokens)

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield the continuation piece by piece; see `CompletionModel`."""
        # an empty stop text would end everything at once
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
        line = self._line(prompt)
        try:
            with self._slots.taken(prompt) as slot:
                body = _body(line.parts, stop, options, slot)
                with self._origin.stream("/completion", body, options.cancellation) as reply:
                    yield pieces(reply, line)
        finally:
            self._replay.remember(line)

    def _line(self, prompt: str) -> Line:
        line = self._replay.line(prompt)
        if len(line.parts) > 1 and not self._takes_parts():
            return Line(prompt, [prompt], [len(prompt)])
        return line

    def _ask_whether_parts_join(self) -> bool:
        """Whether a text amid tokens is itself; some tokenizers put a space before each text."""
        try:
            question = {"content": _AMID, "with_pieces": True}
            answer = self._origin.ask("POST", "/tokenize", question)
        except CompletionError:  # it is for the cache only; whether the server lives, will be seen
            return False
        tokens = answer.get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(each, dict) for each in tokens):
            return False
        return "".join(text_of(each, "piece") for each in tokens) == _AMID

    def _ask_properties(self) -> dict[str, Any]:
        try:
            return self._origin.ask("GET", "/props")
        except ModelMissing:  # some proxies say a path that is not there in these words
            return {}
        except ServerFault as error:
            # an old server, or one that was told to keep this to itself
            if error.status not in (200, 404, 405, 501):
                raise
            return {}


def _body(
    parts: list[Part], stop: Sequence[str], options: Completion, slot: int | None
) -> dict[str, Any]:
    body = {
        "prompt": parts if len(parts) > 1 else parts[0],
        "n_predict": max(1, options.max_tokens),
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "repeat_penalty": options.repeat_penalty,
        "grammar": options.grammar,
        "stop": stop,
        "stream": True,
        "cache_prompt": True,
        "id_slot": slot,
        "timings_per_token": True,
        "response_fields": _FIELDS,
    }
    return {name: value for name, value in body.items() if value is not None}


def pieces(reply: Reply, line: Line) -> Iterator[Piece]:
    """Read the events of a reply; one that says ``stop`` must end them.

    The tokens that are told along with the text are added to the line.
    """
    for events in bursts(reply, EventDecoder()):
        for event in events:
            line.extend(text_of(event, "content"), _tokens(event))
        text = "".join([text_of(event, "content") for event in events])
        last = events[-1]
        usage = _usage(last)
        if last.get("stop") is True:
            finish = _FINISHES.get(text_of(last, "stop_type"), "stop")
            yield Piece(text, usage=usage, finish=finish)
            return
        yield Piece(text, usage=usage)
    raise unfinished(reply.url, "an event with stop: true")


def _tokens(event: Event) -> list[int]:
    tokens = event.get("tokens")
    return [token for token in tokens if type(token) is int] if isinstance(tokens, list) else []


def _usage(event: Event) -> Usage | None:
    timings = event.get("timings")
    return of_timings(timings) if isinstance(timings, dict) else None
