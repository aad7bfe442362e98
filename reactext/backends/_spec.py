"""A model from its name: ``"ollama:qwen2.5:7b"``, ``"embedded"``, or whatever is there."""

from __future__ import annotations

import os
from difflib import get_close_matches

from reactext.backends._http import Origin
from reactext.backends._ollama_facts import foremost
from reactext.backends._ollama_host import ollama_url
from reactext.backends._reply import Timeouts
from reactext.backends.embedded import EmbeddedModel
from reactext.backends.llamacpp import LlamaCppModel
from reactext.backends.ollama import OllamaModel
from reactext.backends.openai import OpenAICompletionModel
from reactext.errors import SetupError
from reactext.given import checked

VARIABLE = "REACTEXT_MODEL"

Model = OllamaModel | LlamaCppModel | OpenAICompletionModel | EmbeddedModel

_FORMS = (
    '"ollama:qwen2.5:7b", "embedded", "embedded:NAME", "embedded:/path.gguf", '
    '"llamacpp:http://host:8080" or "openai:http://host:8000/v1#NAME"'
)

# somebody waits for the first word while an address where nothing may be is tried
_LOOKING = Timeouts(connect=1.0, ask=2.0)


@checked
def model(spec: str | None = None) -> Model:
    """Return the model of this name; nothing of it is loaded or asked yet.

    The names are "ollama:qwen2.5:7b", "embedded" and "embedded:NAME" (of the catalogue),
    "embedded:/path.gguf", "llamacpp:http://host:8080" and "openai:http://host:8000/v1#NAME".
    With None it is the one that ``REACTEXT_MODEL`` names; else, if an Ollama server answers and
    has models, the last one used there; else the embedded default.
    """
    spec = spec or os.environ.get(VARIABLE, "").strip() or None
    if spec is None:
        return _whatever_is_there()
    kind, _, rest = spec.partition(":")
    if kind == "ollama":
        return OllamaModel(rest) if rest else _of_ollama() or _none_there()
    if kind == "embedded":
        return EmbeddedModel(rest) if rest else EmbeddedModel()
    if kind == "llamacpp":
        return LlamaCppModel(rest) if rest else LlamaCppModel()
    if kind == "openai" and rest:
        url, _, name = rest.partition("#")
        return OpenAICompletionModel(url, name or None)
    if kind in ("http", "https"):
        raise SetupError(
            f"{spec!r} does not tell which server is there; write llamacpp:{spec}, openai:{spec} "
            f"or, for Ollama, OLLAMA_HOST={spec} and ollama:NAME"
        )
    raise SetupError(f"{spec!r} names no model; write {_FORMS}{_guess(spec)}")


def _guess(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    kinds = ("ollama", "embedded", "llamacpp", "openai")
    meant = f"ollama:{spec}"
    if alike := get_close_matches(kind, kinds, n=1):
        meant = f"{alike[0]}:{rest}" if rest else alike[0]
    return f"; did you mean {meant!r}?" if kind not in ("", *kinds) else ""


def _whatever_is_there() -> Model:
    return _of_ollama() or EmbeddedModel()


def _of_ollama() -> OllamaModel | None:
    """The model that the Ollama server has loaded, or else the one it got last."""
    origin = Origin(ollama_url(), timeouts=_LOOKING)
    try:
        name = foremost(origin)
    finally:
        origin.close()
    return OllamaModel(name) if name else None


def _none_there() -> Model:
    raise SetupError(
        f"no Ollama server with a model answers at {ollama_url()}; start it with: ollama serve; "
        "and fetch a model with: ollama pull qwen2.5:7b"
    )
