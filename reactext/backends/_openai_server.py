"""What a server of the OpenAI style tells of itself in its list of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reactext.backends._events import objects_of, text_of
from reactext.backends._http import Origin
from reactext.backends._usage import count
from reactext.completion import GrammarDialect
from reactext.errors import ModelMissing, ServerFault, SetupError

Kind = Literal["vllm", "sglang", "llamacpp", "localai", "other"]

DIALECTS: dict[Kind, GrammarDialect] = {
    "vllm": "ebnf",
    "sglang": "ebnf",
    "llamacpp": "gbnf",
    "localai": "gbnf",
}

_OWNERS: dict[str, Kind] = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp"}
_OLLAMA = "library"


@dataclass(frozen=True, slots=True)
class Server:
    """The model that is used there, its window, and which software serves it."""

    name: str
    window: int | None = None
    kind: Kind = "other"


def server_at(origin: Origin, name: str | None) -> Server:
    """Ask for the list of models, and choose the named one or else the first."""
    listed = _listed(origin)
    names = [text_of(model, "id") for model in listed]
    if name is None:
        if not listed:
            raise SetupError(f"{origin.url} does not list its models; give the model's name")
        # beside its models of texts, a desktop server lists those that only embed
        name = next((name for name in names if "embed" not in name.lower()), names[0])
    elif listed and name not in names:
        raise ModelMissing(
            f"{origin.url} has no model {name!r}", remedy=f"use one of {', '.join(names)}"
        )
    model = next((each for each in listed if each.get("id") == name), {})
    owner = text_of(model, "owned_by").lower()
    if owner == _OLLAMA:
        raise SetupError(
            f"{origin.url} is an Ollama server, which wraps prompts of this kind in a chat format "
            f'of its own; use "ollama:{name}"'
        )
    details = model.get("meta")
    window = count(model.get("max_model_len"))
    if window is None and isinstance(details, dict):
        window = count(details.get("n_ctx"))
    return Server(name, window, _OWNERS.get(owner, "other"))


def _listed(origin: Origin) -> list[dict[str, Any]]:
    try:
        answer = origin.ask("GET", "/models")
    except ServerFault as error:
        if error.status not in (200, 404, 405, 501):
            raise
        return []
    return [model for model in objects_of(answer, "data") if text_of(model, "id")]
