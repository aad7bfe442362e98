"""Ollama: ``/api/generate`` in raw mode, so that no template but ours is applied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from reactext.backends._completing import completing
from reactext.backends._events import bursts, text_of, unfinished
from reactext.backends._http import Origin
from reactext.backends._lines import LineDecoder
from reactext.backends._ollama_facts import facts, missing
from reactext.backends._ollama_host import ollama_url
from reactext.backends._once import Once
from reactext.backends._reply import Reply, Timeouts
from reactext.backends._retry import Retry
from reactext.backends._usage import of_ollama
from reactext.completion import Completion, Finish, ModelCard, Piece
from reactext.errors import ModelMissing
from reactext.given import Count, Such, Text, checked
from reactext.models import Usage

_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length"}


Named = Annotated[str, Such('a name, such as "qwen2.5:7b"', lambda name: bool(name.strip()))]


@checked
class OllamaModel:
    """A model that an Ollama server has.

    ``host`` is read as ``OLLAMA_HOST`` is, which is used when it is None. ``num_ctx`` is the
    window in tokens; when it is None the window that the model is loaded with now is kept, else
    the one its Modelfile names, else at most 8192. It is the same in every request, since Ollama
    loads the model again when it changes. ``keep_alive`` is how long the model stays loaded: a
    number of seconds, or a text such as "10m". ``frame`` names the chat format, when the one that
    is told from the model's template is not right.
    """

    def __init__(
        self,
        name: Named,
        host: str | None = None,
        *,
        num_ctx: Count | None = None,
        keep_alive: float | str | None = None,
        frame: Text | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
    ) -> None:
        self.name = name
        self._origin = Origin(
            ollama_url(host),
            timeouts=timeouts or Timeouts(),
            headers=headers,
            kind="an Ollama server",
            remedy="start it with: ollama serve; or set OLLAMA_HOST",
        )
        self._num_ctx = num_ctx
        self._keep_alive = keep_alive
        self._frame = frame
        self._retry = retry or Retry()
        self._facts = Once(lambda: facts(self._origin, name, num_ctx))

    def __repr__(self) -> str:
        return f"OllamaModel({self.name!r}, {self._origin.url!r})"

    def __enter__(self) -> OllamaModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the completions that run and close all connections; it may still be used."""
        self._origin.close()

    def card(self) -> ModelCard:
        """Ask the server what the model is, once."""
        known = self._facts()
        return ModelCard(
            name=self.name,
            frame=self._frame or known.frame,
            window=known.window,
            thinks=known.thinks,
        )

    def server(self) -> str:
        """Say which server this is; raises `CompletionError` when it cannot be asked."""
        version = text_of(self._origin.ask("GET", "/api/version"), "version")
        return f"Ollama {version or '(no version told)'} at {self._origin.url}"

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
        body = self._body(prompt, stop, options)
        try:
            with self._origin.stream("/api/generate", body, options.cancellation) as reply:
                yield pieces(reply)
        except ModelMissing as error:
            raise missing(self._origin, self.name) from error

    def _body(self, prompt: str, stop: Sequence[str], options: Completion) -> dict[str, Any]:
        parameters = {
            "num_ctx": self._num_ctx or self._facts().window,
            # 0 would mean without end
            "num_predict": max(1, options.max_tokens),
            "temperature": options.temperature,
            # its default was 1.1 for long, which spoils formats that repeat their labels
            "repeat_penalty": options.repeat_penalty,
            "top_p": options.top_p,
            "seed": options.seed,
            "stop": stop,
        }
        body = {
            "model": self.name,
            "prompt": prompt,
            "raw": True,
            "stream": True,
            # without it the server takes reasoning out of the text, in raw mode too
            "think": False,
            # a prompt that is too long is refused, not cut; a text that is too long ends
            "truncate": False,
            "shift": False,
            "options": {name: value for name, value in parameters.items() if value is not None},
        }
        if self._keep_alive is not None:
            body["keep_alive"] = self._keep_alive
        return body


def pieces(reply: Reply) -> Iterator[Piece]:
    """Read the lines of a reply; one that says ``done`` must end them."""
    counted = 0
    for events in bursts(reply, LineDecoder()):
        thinking = "".join([text_of(event, "thinking") for event in events])
        if thinking:
            yield Piece(thinking, channel="thinking")
        text = "".join([text_of(event, "response") for event in events])
        last = events[-1]
        if last.get("done") is True:
            finish = _FINISHES.get(text_of(last, "done_reason"), "stop")
            yield Piece(text, usage=of_ollama(last), finish=finish)
            reply.send_off()
            return
        # one token a line, as far as anyone can tell before the last line
        counted += len(events)
        yield Piece(text, usage=Usage(completion_tokens=counted))
    raise unfinished(reply.url, "a line with done: true")
