"""Reads the signature of a function: what a model may pass, and what the engine fills in."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from reactext.cancellation import Cancellation
from reactext.errors import SetupError
from reactext.given import Natural, checked
from reactext.signatures.schema import json_schema, type_text


@checked
@dataclass(frozen=True, slots=True)
class RunContext:
    """What a tool may know of the run it serves; filled in by the engine, hidden from the model.

    ``deps`` is whatever the caller gave to the run.
    """

    run_id: str = ""
    step: Natural = 0
    cancellation: Cancellation = field(default_factory=Cancellation)
    deps: Any = None

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for this call any longer: the run was cancelled, or time is up.

        A long tool should look now and then, and return.
        """
        return self.cancellation.cancelled


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as the model sees it; ``schema`` is its JSON schema, with no ``$ref``.

    ``adapter`` validates its values; without one the schema alone does.
    """

    name: str
    schema: dict[str, Any]
    required: bool = True
    default: Any = None
    type_text: str = ""
    description: str = ""
    adapter: TypeAdapter[Any] | None = field(default=None, repr=False, compare=False)
    fills_default: bool = field(default=False, repr=False)
    """Whether the default stands in a ``Field`` and so must be passed to the function."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes: from the model, by position only, and from the engine."""

    parameters: tuple[Parameter, ...] = ()
    positional_only: tuple[str, ...] = ()
    context_parameter: str | None = None


def read_signature(
    function: Callable[..., Any], name: str, descriptions: dict[str, str]
) -> Signature:
    """Return what the function called ``name`` takes.

    ``descriptions`` are used where an annotation brings none. Raises SetupError where a model
    could not call it.
    """
    try:
        written = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise SetupError(f"tool {name!r} has no readable signature; wrap it in a def") from error
    _refuse_unnamed(written, name)
    hints = _resolved_annotations(function, written, name)
    parameters: list[Parameter] = []
    context_parameter = None
    for each in written:
        annotation = hints.get(each.name, inspect.Parameter.empty)
        if _is_run_context(annotation):
            context_parameter = each.name
        else:
            described = descriptions.get(each.name, "")
            parameters.append(_parameter(each, annotation, name, described))
    positional = tuple(each.name for each in written if each.kind is each.POSITIONAL_ONLY)
    return Signature(tuple(parameters), positional, context_parameter)


def _refuse_unnamed(written: list[inspect.Parameter], name: str) -> None:
    for each in written:
        if each.kind is each.VAR_POSITIONAL:
            raise SetupError(
                f"tool {name!r} takes *{each.name}; make it one parameter: {each.name}: list[…]"
            )
        if each.kind is each.VAR_KEYWORD:
            raise SetupError(
                f"tool {name!r} takes **{each.name}; name its parameters, or make it one: "
                f"{each.name}: dict[str, …]"
            )
    if written and written[0].name in ("self", "cls"):
        raise SetupError(
            f"tool {name!r} is a method without its object; leave the method undecorated, and make "
            f"the tool of the bound method: tool(thing.{name})"
        )


def _resolved_annotations(
    function: Callable[..., Any], written: list[inspect.Parameter], name: str
) -> dict[str, Any]:
    annotations = {
        each.name: each.annotation for each in written if each.annotation is not each.empty
    }
    holder = types.SimpleNamespace(__annotations__=annotations)
    origin = inspect.unwrap(function)
    origin = getattr(origin, "func", origin)  # a functools.partial
    module = sys.modules.get(getattr(origin, "__module__", None) or "")
    names = dict(getattr(origin, "__globals__", None) or vars(module or typing))
    while True:
        try:
            return typing.get_type_hints(holder, names, names, include_extras=True)
        except NameError as error:
            found = _local_value(error.name or "")
            if error.name in names or found is None:
                raise SetupError(
                    f"tool {name!r} has an annotation with the name {error.name!r}, which is not "
                    "known where it is defined; import it there, outside of TYPE_CHECKING"
                ) from error
            names[error.name] = found
        except TypeError as error:
            raise SetupError(f"tool {name!r} has an annotation that is no type: {error}") from error


def _local_value(name: str) -> Any:
    """Find a class that was defined inside a function which is still running.

    Under ``from __future__ import annotations`` an annotation is only a text.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _is_run_context(annotation: Any) -> bool:
    if annotation is RunContext:
        return True
    origin = typing.get_origin(annotation)
    if origin in (Annotated, typing.Union, types.UnionType):
        return any(_is_run_context(each) for each in typing.get_args(annotation))
    return False


def _parameter(
    written: inspect.Parameter, annotation: Any, tool_name: str, described: str
) -> Parameter:
    untyped = annotation is inspect.Parameter.empty
    typed: Any = Any if untyped else annotation
    if isinstance(written.default, FieldInfo):  # days: int = Field(3, description="…")
        typed = Annotated[typed, written.default]
    adapter, schema = _adapter(typed, written.name, tool_name)
    default = written.default
    described_default = _default_of_field(written, annotation)
    fills_default = described_default is not None
    if described_default is not None:
        default = described_default.get_default(call_default_factory=True)
    required = default is inspect.Parameter.empty or isinstance(default, FieldInfo)
    return Parameter(
        name=written.name,
        schema=schema,
        required=required,
        default=None if required else default,
        type_text="" if untyped else type_text(_without_null(schema, required, default)),
        description=schema.get("description") or _remark(annotation) or described,
        adapter=adapter,
        fills_default=fills_default,
    )


def _default_of_field(written: inspect.Parameter, annotation: Any) -> FieldInfo | None:
    """Return the field that holds the default, which the function itself then does not know."""
    fields = [written.default]
    if written.default is inspect.Parameter.empty and typing.get_origin(annotation) is Annotated:
        fields += annotation.__metadata__
    return next((e for e in fields if isinstance(e, FieldInfo) and not e.is_required()), None)


def _adapter(typed: Any, name: str, tool_name: str) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    try:
        adapter = TypeAdapter(typed)
        return adapter, json_schema(adapter)
    except PydanticUserError as error:
        why = str(error).split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
        raise SetupError(
            f"parameter {name!r} of tool {tool_name!r} has the type {typed!r}, which no model can "
            f"write ({why}); use texts, numbers, lists, dicts, enums, dataclasses or pydantic "
            "models; what the caller hands to the run comes as RunContext.deps"
        ) from error


def _without_null(schema: dict[str, Any], required: bool, default: Any) -> dict[str, Any]:
    """Leave "or null" unsaid where null is what leaving the argument out means."""
    if required or default is not None or "anyOf" not in schema:
        return schema
    others = [each for each in schema["anyOf"] if each.get("type") != "null"]
    return {**schema, "anyOf": others or schema["anyOf"]}


def _remark(annotation: Any) -> str:
    """Return the bare text of ``Annotated[str, "the city's name"]``."""
    if typing.get_origin(annotation) is not Annotated:
        return ""
    return next((each for each in annotation.__metadata__ if isinstance(each, str)), "")
