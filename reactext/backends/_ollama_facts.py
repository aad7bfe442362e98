"""What an Ollama server tells of its models: which there are, their frame and their window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from reactext.backends._events import objects_of, text_of
from reactext.backends._family import frame_of_family, frame_of_template, thinks
from reactext.backends._http import Origin
from reactext.backends._usage import count
from reactext.errors import CompletionError, ModelMissing, ServerFault

LARGEST_DEFAULT_WINDOW = 8192
"""Enough for a run of many steps, and little memory beside that of the weights."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the server tells of a model."""

    frame: str = "plain"
    window: int = LARGEST_DEFAULT_WINDOW
    thinks: bool = False


def facts(origin: Origin, name: str, num_ctx: int | None) -> Facts:
    """Ask for the model's frame and window; a server without such answers gets plain defaults."""
    try:
        shown = origin.ask("POST", "/api/show", {"model": name})
    except ModelMissing as error:
        raise missing(origin, name) from error
    except ServerFault as error:
        if error.status not in (200, 404, 405, 501):
            raise
        return Facts(window=num_ctx or LARGEST_DEFAULT_WINDOW)
    capabilities = _capabilities(shown)
    if capabilities and "completion" not in capabilities:
        raise ServerFault(
            f"the Ollama model {name!r} writes no texts, its capabilities are "
            + ", ".join(capabilities),
            remedy="use a model that `ollama show` tells to have the capability completion",
            status=400,
        )
    template = text_of(shown, "template")
    # newer models are rendered by the server's own code, which has a name but no template
    frame = frame_of_template(template)
    if frame == "plain" and (renderer := text_of(shown, "renderer")):
        frame = frame_of_family(renderer)
    return Facts(
        frame=frame,
        window=num_ctx or _loaded_window(origin, name) or _default_window(shown),
        thinks=thinks(template) or "thinking" in capabilities,
    )


def _capabilities(told: dict[str, Any]) -> list[str]:
    """What a model can do; nothing where the server, being old, does not tell."""
    capabilities = told.get("capabilities")
    if not isinstance(capabilities, list):
        return []
    return [each for each in capabilities if isinstance(each, str)]


def _loaded_window(origin: Origin, name: str) -> int | None:
    """The window that the model is loaded with: another would load it again."""
    try:
        answer = origin.ask("GET", "/api/ps")
    except ServerFault:
        return None
    for model in objects_of(answer, "models"):
        if model.get("name") in (name, f"{name}:latest"):
            return count(model.get("context_length")) or None
    return None


def _default_window(shown: dict[str, Any]) -> int:
    for line in text_of(shown, "parameters").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx" and re.fullmatch("[1-9][0-9]{0,8}", words[1]):
            return int(words[1])
    information = shown.get("model_info")
    window = LARGEST_DEFAULT_WINDOW
    for key, value in information.items() if isinstance(information, dict) else ():
        if key.endswith(".context_length"):
            window = min(window, count(value) or window)
    return window


def missing(origin: Origin, name: str) -> ModelMissing:
    """Return the error that names the models that are there."""
    there = names(origin)
    remedy = f"fetch it with: ollama pull {name}"
    if there:
        remedy += f"; or use one that is there: {', '.join(there)}"
    return ModelMissing(f"the Ollama server at {origin.url} has no model {name!r}", remedy=remedy)


def names(origin: Origin) -> list[str]:
    """Return the names of the models that the server has; none if it does not tell."""
    try:
        answer = origin.ask("GET", "/api/tags")
    except CompletionError:
        return []
    return [name for model in objects_of(answer, "models") if (name := text_of(model, "name"))]


def foremost(origin: Origin) -> str | None:
    """Return the model that is loaded now, or else the one that was fetched last.

    None if there is none that completes texts, or no server.
    """
    for path in ("/api/ps", "/api/tags"):
        try:
            answer = origin.ask("GET", path)
        except CompletionError:
            return None
        for model in objects_of(answer, "models"):
            capabilities = _capabilities(model)
            writes = not capabilities or "completion" in capabilities
            if writes and (name := text_of(model, "name")):
                return name
    return None
