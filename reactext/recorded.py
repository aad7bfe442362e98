"""What a recording of a model holds, line by line, and how it is made of what happened."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from reactext import errors
from reactext.completion import Completion, Finish, ModelCard, Piece
from reactext.errors import CompletionError, ReactextError, SetupError
from reactext.models import Usage, Value

FORMAT = 1
"""The number of the format, in the first line of a recording."""

_OPTIONS = ("max_tokens", "temperature", "top_p", "seed", "repeat_penalty")
_ATTRIBUTES = ("retryable", "retry_after", "status", "prompt_tokens", "window")


class Opening(Value):
    """The first line: which model was recorded."""

    recording: int = FORMAT
    card: ModelCard = ModelCard()


class RecordedPiece(Value):
    """A piece that said more than its text."""

    text: str
    channel: Literal["text", "thinking"] = "text"
    usage: Usage | None = None
    finish: Finish | None = None


class Fault(Value):
    """An error of ours: its class, its message, and those of its attributes that are set."""

    kind: str
    message: str
    text: str = ""
    remedy: str = ""
    attributes: dict[str, Any] = Field(default_factory=dict)


class Recorded(Value):
    """One completion. ``closed`` says that it was read no further; its rest is not known.

    ``options`` are for people: a replay goes by the prompt and the stop texts alone.
    """

    prompt: str
    stop: tuple[str, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    pieces: tuple[str | RecordedPiece, ...] = ()
    fault: Fault | None = None
    closed: bool = False


class Counted(Value):
    """How many tokens the model counted in the text of this digest."""

    counted: str
    tokens: int


def digest(text: str) -> str:
    """Return what stands for a text whose length would fill the file."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def options_of(options: Completion) -> dict[str, Any]:
    """Return the options that bear on what is written; a grammar by its digest."""
    told = {name: getattr(options, name) for name in _OPTIONS}
    told["grammar"] = None if options.grammar is None else digest(options.grammar)
    return {name: value for name, value in told.items() if value is not None}


def recorded_piece(piece: str) -> str | RecordedPiece:
    """Return a piece as it is recorded: a plain string stays one."""
    if not isinstance(piece, Piece):
        return str(piece)
    return RecordedPiece(
        text=str(piece), channel=piece.channel, usage=piece.usage, finish=piece.finish
    )


def piece_again(recorded: str | RecordedPiece) -> str:
    """Return the piece that was recorded."""
    if isinstance(recorded, str):
        return recorded
    return Piece(
        recorded.text, channel=recorded.channel, usage=recorded.usage, finish=recorded.finish
    )


def fault_of(error: CompletionError | SetupError) -> Fault:
    """Return a fault as it is recorded; a class that is not ours by the nearest that is."""
    ours = next(kind for kind in type(error).__mro__ if kind in _kinds().values())
    told = {name: getattr(error, name, None) for name in _ATTRIBUTES}
    return Fault(
        kind=ours.__name__,
        message=str(error),
        text=getattr(error, "text", ""),
        remedy=getattr(error, "remedy", ""),
        attributes={name: value for name, value in told.items() if value is not None},
    )


def error_again(fault: Fault) -> ReactextError:
    """Return the error that was recorded, ready to be raised."""
    kind = _kinds().get(fault.kind, CompletionError)
    if not issubclass(kind, CompletionError):
        return kind(fault.message)
    error = kind(fault.message, text=fault.text)
    error.remedy = fault.remedy
    for name in _ATTRIBUTES:
        value = fault.attributes.get(name)
        if value != getattr(error, name, None):
            setattr(error, name, value)
    return error


def _kinds() -> Mapping[str, type[CompletionError | SetupError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, CompletionError | SetupError)
    }
