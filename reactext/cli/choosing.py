"""The model that a command is to use, by its name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from reactext.cli.fetching import fetched
from reactext.cli.loading import object_at

model_option = click.option(
    "--model",
    metavar="MODEL",
    envvar="REACTEXT_MODEL",
    help="As ollama:qwen2.5:7b, embedded, embedded:FILE.gguf, or python:FILE.py:name. "
    "By default $REACTEXT_MODEL, else Ollama's, else embedded.",
)


@contextmanager
def model_of(spec: str | None) -> Iterator[Any]:
    """Give the model of this name, its weights loaded first; close it at the end of the block."""
    model = _model(spec)
    with contextlib.closing(model) if hasattr(model, "close") else contextlib.nullcontext():
        yield model


def name_of(model: Any) -> str:
    """Return what people call a model."""
    return str(getattr(model, "name", "") or getattr(model, "__name__", type(model).__name__))


def _model(spec: str | None) -> Any:
    from reactext import backends

    if spec is not None and spec.startswith("python:"):
        return object_at(spec.removeprefix("python:"))
    model = backends.model(spec)
    if isinstance(model, backends.EmbeddedModel):
        fetched(model.name)  # here, where it can be shown; the model would do it unseen
    return model
