"""The values that everything else passes around: what was called, seen, done and told.

All are frozen, and JSON and back is lossless. Work on them is done by functions elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from reactext.errors import SetupError
from reactext.given import fault, shown, unknown


class Value(BaseModel):
    """A frozen value; equal when its parts are, and JSON and back gives the same."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    if not TYPE_CHECKING:  # a type checker is to see the fields

        def __init__(self, **given: Any) -> None:
            """Raise SetupError for what does not fit, in one line."""
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise _first_fault(type(self), error) from None

        # so that pydantic reads JSON past this, as fast as ever
        __init__.__pydantic_base_init__ = True


Made = TypeVar("Made", bound=Value)


def _first_fault(made: type[Value], error: ValidationError) -> SetupError:
    first = error.errors()[0]
    inner = first.get("ctx", {}).get("error")
    if isinstance(inner, SetupError):
        return inner
    path = [str(each) for each in first["loc"]]
    if first["type"] == "extra_forbidden" and len(path) == 1:
        return SetupError(unknown(made.__name__, "field", path[0], made.model_fields))
    if first["type"] == "missing":
        return SetupError(f"{made.__name__} needs {'.'.join(path)}")
    field = made.model_fields.get(path[0])
    if field is not None and len(path) == 1:
        told = fault(path[0], first["input"], field.annotation)
        if told:
            return SetupError(f"{made.__name__}: {told}")
    value = shown(first["input"])
    return SetupError(f"{made.__name__}: {'.'.join(path)}={value}: {first['msg'].lower()}")


def made_anew(value: Made) -> Made:
    """Return the value as its constructor makes it, or raise its SetupError.

    `model_copy` lets anything pass: a list for a tuple, a status that there is not.
    """
    parts = {name: getattr(value, name) for name in type(value).model_fields}
    for name, part in parts.items():
        if isinstance(part, list | tuple):
            parts[name] = tuple(
                made_anew(each) if isinstance(each, Value) else each for each in part
            )
    return type(value)(**parts)


class Action(Value):
    """One call that the model wrote.

    ``id`` is "c3.2" for the second call of step 3. ``args`` holds positional values and
    ``kwargs`` named ones; where the tools were known, ``kwargs`` holds all by name. ``text`` is
    the call as written. ``problem`` is set on a call of a group that names its tool but whose
    arguments cannot be read: it is answered with this sentence instead of being run.
    """

    id: str
    tool: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    text: str = ""
    problem: str | None = None


ObservationStatus = Literal["ok", "error", "timeout", "denied", "skipped", "repeated"]


class Observation(Value):
    """What came of one action: exactly one for each.

    ``text`` is what the model reads; ``truncated`` says that it was cut, and then ``full`` is
    the whole text. ``detail`` is for people (a traceback), never shown to the model. ``attempts``
    is how often the tool was run for it: 0 if it was not, since the call was refused, skipped,
    denied or answered from memory.
    """

    action_id: str
    tool: str
    text: str
    status: ObservationStatus = "ok"
    seconds: float = 0.0
    attempts: int = 1
    truncated: bool = False
    full: str | None = None
    detail: str | None = None


class Turn(Value):
    """One step as the model wrote it: a thought, then actions or an answer.

    ``text`` is what the model wrote, to the character where the reading ends; the transcript
    replays it. ``thinking`` is reasoning between tags, which is not replayed as thought.
    ``repairs`` names each thing that was tolerated, for people.
    """

    thought: str = ""
    actions: tuple[Action, ...] = ()
    answer: str | None = None
    text: str = ""
    thinking: str = ""
    repairs: tuple[str, ...] = ()


class Usage(Value):
    """What the server counted; None where it does not tell.

    ``prompt_tokens`` is the whole prompt, ``cached_tokens`` the part of it that was not evaluated
    again. Seconds are the server's own.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_seconds: float | None = None
    completion_seconds: float | None = None

    def __add__(self, other: Usage) -> Usage:
        names = Usage.model_fields
        return Usage.model_validate(
            {name: _sum(getattr(self, name), getattr(other, name)) for name in names}
        )


def _sum(left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


class Correction(Value):
    """A text of the model in which no step could be read, and what it was told.

    As an event it takes back the `TextDelta` and `Action` events since the last `Step` or
    `Correction`: what they told of is written anew. So it is, too, for a text that the server
    broke off and is asked for again; then ``remedy`` is empty.
    """

    text: str
    problem: str
    remedy: str = ""
    usage: Usage = Usage()


class Step(Value):
    """A turn and what came of it; one observation for each action, in the order of the calls.

    ``corrections`` are the readings that failed before this one: kept for people, not replayed.
    """

    turn: Turn
    observations: tuple[Observation, ...] = ()
    usage: Usage = Usage()
    corrections: tuple[Correction, ...] = ()


class TextDelta(Value):
    """A piece of text as it comes; the pieces of one kind, joined, are that text.

    A `Correction` takes back those before it, to the last `Step`.
    """

    kind: Literal["thought", "answer", "thinking"]
    text: str
