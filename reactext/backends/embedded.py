"""A model inside this process: a GGUF file run by llama.cpp, spoken to over its own HTTP server.

The server listens on the loopback address, at a port that the system chooses, and asks for a key
that only this process knows.
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from reactext.backends._cores import free_cores
from reactext.backends._http import Origin
from reactext.backends._inherited import is_in_such_a_child, keep
from reactext.backends._reply import Timeouts
from reactext.backends._retry import Retry
from reactext.backends.llamacpp import LlamaCppModel
from reactext.completion import Completion, ModelCard
from reactext.errors import SetupError
from reactext.forking import ForkLock, renewed_in_child
from reactext.given import Count, Text, checked
from reactext.weights import known_or_here, locate

DEFAULT_WINDOW = 8192

_PROMPT_CACHE = 256
"""Megabytes for the prompts of conversations that lost their slot; llama.cpp would take 8192."""


@checked
class EmbeddedModel:
    """A model of the catalogue, or a GGUF file of yours, run in this process.

    It is loaded (and its file fetched, when it is not here) on its first use, and freed by
    `close`, at the end of a ``with`` block or of the process. ``window`` is what each
    conversation may hold, in tokens. ``parallel`` is how many completions are worked on at once;
    each has a window of its own, which costs memory, and remembers its own prompt. ``threads``
    is the number of processor cores to use; those that are free at the start when None.
    """

    def __init__(
        self,
        name_or_path: Text | os.PathLike[str] = "qwen2.5-coder-0.5b",
        *,
        window: Count = DEFAULT_WINDOW,
        parallel: Count = 1,
        threads: Count | None = None,
        frame: Text | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
    ) -> None:
        self.name = os.fspath(name_or_path)
        if not self.name.endswith(".gguf"):  # a file may come later, a name does not
            known_or_here(self.name)
        self._window = window
        self._parallel = parallel
        self._threads = threads
        self._options: dict[str, Any] = {"frame": frame, "timeouts": timeouts, "retry": retry}
        self._lock = ForkLock()
        self._model: LlamaCppModel | None = None
        self._free: weakref.finalize[Any, EmbeddedModel] | None = None
        self._closed = False
        renewed_in_child(self)

    def renew(self) -> None:
        """Be loaded anew in a forked child: the server's threads are in the parent alone."""
        if self._free is not None and (inherited := self._free.detach()):
            keep(inherited)
        self._model = self._free = None

    def __repr__(self) -> str:
        return f"EmbeddedModel({self.name!r})"

    def __enter__(self) -> EmbeddedModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the model and free its memory; completions that run end with an error."""
        with self._lock:
            self._closed = True
            if self._free is not None:
                self._free()
            self._model = self._free = None

    def card(self) -> ModelCard:
        """Return what the model is, after loading it."""
        return self._running().card().model_copy(update={"name": self.name})

    def server(self) -> str:
        """Say what runs the model, after loading it."""
        self._running()
        version = _llama().__version__
        return f"llama.cpp in this process (xllamacpp {version})"

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as part of a prompt."""
        return self._running().count_tokens(text)

    def complete(self, prompt: str, *, stop: Sequence[str], options: Completion) -> Iterator[str]:
        """Yield the continuation piece by piece; see `CompletionModel`."""
        yield from self._running().complete(prompt, stop=stop, options=options)

    def _running(self) -> LlamaCppModel:
        """The model, loaded; several threads may ask at once."""
        with self._lock:
            if self._closed:
                raise SetupError(f"{self!r} was closed; make a new one")
            if self._model is None:
                self._model = self._start()
            return self._model

    def _start(self) -> LlamaCppModel:
        key = secrets.token_hex(16)
        server = _Server(self._parameters(key))
        slots = self._parallel if self._parallel > 1 else 0
        model = LlamaCppModel(server.url, api_key=key, slots=slots, **self._options)
        self._free = weakref.finalize(self, _free, model, server)
        return model

    def _parameters(self, key: str) -> Any:
        llama = _llama()
        path = locate(self.name)
        parameters = llama.CommonParams()
        parameters.model.path = str(path)
        parameters.n_parallel = self._parallel
        parameters.n_ctx = self._window * self._parallel
        parameters.kv_unified = False
        parameters.api_keys = [key]
        parameters.port = 0
        parameters.ui = False
        parameters.verbosity = 0
        # a cancelled prompt is evaluated to the end of its batch: so a batch takes a second or two
        parameters.n_batch = parameters.n_ubatch = 128
        parameters.cache_ram_mib = _PROMPT_CACHE
        # a run over nothing, which the first prompt would have to wait for
        parameters.warmup = False
        if threads := self._threads or free_cores():
            parameters.cpuparams.n_threads = threads
            parameters.cpuparams_batch.n_threads = threads
        return parameters


class _Server:
    """Holds the server that runs; dropping it stops it."""

    def __init__(self, parameters: Any) -> None:
        # in a thread of its own, where no Ctrl-C comes between the two things it does
        with ThreadPoolExecutor(1, "reactext-loading") as loading:
            future = loading.submit(_loaded, parameters)
        try:
            self._server = future.result()
        except RuntimeError as error:
            raise SetupError(
                f"{parameters.model.path} cannot be loaded ({error}); is it a whole GGUF file of "
                "a model that llama.cpp knows, and is there enough memory?"
            ) from error
        self.url: str = self._server.listening_address

    def stop(self) -> None:
        del self._server


def _loaded(parameters: Any) -> Any:
    """Return the server once its loop runs: one that is stopped before waits for it for ever."""
    server = _llama().Server(parameters)
    key = {"Authorization": f"Bearer {parameters.api_keys[0]}"}
    origin = Origin(server.listening_address, timeouts=Timeouts(), headers=key, keep_alive=False)
    try:
        origin.ask_any("GET", "/slots")  # the loop itself answers this
    finally:
        origin.close()
    return server


def _free(model: LlamaCppModel, server: _Server) -> None:
    model.close()
    if is_in_such_a_child():
        keep(server)
    else:
        server.stop()


def _llama() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise SetupError(
            "an embedded model needs llama.cpp; install it with: pip install 'reactext[embedded]'"
        ) from error
    return xllamacpp
