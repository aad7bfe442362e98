"""Puts the arguments that a model wrote to the parameters of a tool, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reactext.protocol import bare
from reactext.reading.strings import decoded
from reactext.reading.values import (
    Bare,
    Expression,
    WrittenFloat,
    expression_in,
    plain,
    strict_json,
)
from reactext.tools import Parameter, Tool, folded

WRAPPERS = frozenset(
    (
        "properties", "args", "kwargs", "input", "inputs", "arguments", "parameters", "params",
        "toolinput", "actioninput", "arg", "arg1", "argument", "value", "functionargs",
    )
)  # fmt: skip
"""Keys that hold all arguments, where the tool has no parameter of that name."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A call in the making: what was read so far of one action.

    ``tool`` is None where the name is no known tool's. ``needs_input`` says that only a name was
    written, and ``after_name`` are the words that follow it. ``is_answer`` says that it is the
    answer dressed as a call, and ``unquoted`` holds what was taken for text without quotes.
    ``fault`` is the part of the text that the problem is about, where that is known.
    ``otherwise`` is what is meant if the input does not come.
    """

    name: str
    tool: Tool | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    problem: str = ""
    repairs: tuple[str, ...] = ()
    needs_input: bool = False
    after_name: str = ""
    is_answer: bool = False
    unquoted: tuple[str, ...] = ()
    fault: str = ""
    otherwise: Draft | None = None

    def repaired(self, *names: str) -> Draft:
        """The same with these repairs besides."""
        return replace(self, repairs=(*self.repairs, *(each for each in names if each)))


def refused(draft: Draft, code: str, kind: str) -> Draft:
    """Return the draft with the problem that code stands where a value is due."""
    problem = f"{code} is a {kind} as an argument of {draft.name}; write the value itself"
    return replace(draft, problem=problem, fault=code.partition("…")[0])


def only_parameter(tool: Tool | None) -> Parameter | None:
    """Return the parameter that takes a raw text: the only one, or the only required one."""
    if tool is None:
        return None
    required = [each for each in tool.parameters if each.required]
    if len(required) == 1:
        return required[0]
    return tool.parameters[0] if len(tool.parameters) == 1 else None


def bound(draft: Draft, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Draft:
    """Return the draft with these arguments, by name where the tool is known."""
    expression = expression_in([*args, *kwargs.values()])
    if expression is not None:
        return refused(draft, expression.text, expression.kind)
    if draft.tool is None:
        return replace(
            draft,
            args=tuple(map(plain, args)),
            kwargs={key: plain(value) for key, value in kwargs.items()},
        )
    if len(args) == 1 and not kwargs and isinstance(args[0], dict) and _fits(args[0], draft.tool):
        return bound(draft, (), args[0])
    if len(args) == 1 and not kwargs and _is_all(args[0], draft.tool):
        args = args[0]
    return _bound_by_name(draft, draft.tool, list(args), kwargs)


def _fits(value: dict[str, Any], tool: Tool) -> bool:
    """Whether an object holds the arguments themselves: its keys are parameters."""
    known = {folded(each.name) for each in tool.parameters}
    keys = {folded(str(each)) for each in value}
    if keys & known or not tool.parameters:
        return True
    one = only_parameter(tool)
    return one is None or not _takes(one, "object")


def _is_all(value: Any, tool: Tool) -> bool:
    """Whether a list is all arguments, one for each of several required parameters."""
    required = [each for each in tool.parameters if each.required]
    if not isinstance(value, list) or len(required) < 2 or _takes(required[0], "array"):
        return False
    return len(required) <= len(value) <= len(tool.parameters)


def _takes(parameter: Parameter, kind: str) -> bool:
    """Whether a parameter may be of this type; one that declares nothing may be of any."""
    declared = parameter.schema.get("type")
    if (
        declared is None
        and not {"anyOf", "oneOf", "enum", "const", "allOf"} & parameter.schema.keys()
    ):
        return False
    options = [
        parameter.schema,
        *parameter.schema.get("anyOf", []),
        *parameter.schema.get("oneOf", []),
    ]
    return any(
        each.get("type") == kind or (isinstance(each.get("type"), list) and kind in each["type"])
        for each in options
    )


def _bound_by_name(draft: Draft, tool: Tool, args: list[Any], kwargs: Mapping[str, Any]) -> Draft:
    parameters = {each.name: each for each in tool.parameters}
    named: dict[str, Any] = {}
    for key, value in kwargs.items():
        name = _parameter_name(str(key), tool)
        named[name] = _typed(value, parameters.get(name))
    free = [each for each in tool.parameters if each.name not in named]
    for value, parameter in zip(args, free, strict=False):
        named[parameter.name] = _typed(value, parameter)
    if len(args) > len(free):
        return replace(
            draft,
            problem=f"{tool.name} takes {_counted(tool)}, and {len(args) + len(kwargs)} "
            f"{'was' if len(args) + len(kwargs) == 1 else 'were'} given",
        )
    return replace(draft, kwargs=named, args=())


def _counted(tool: Tool) -> str:
    names = ", ".join(each.name for each in tool.parameters)
    if not names:
        return "no arguments"
    return f"{len(tool.parameters)} argument{'s' if len(tool.parameters) > 1 else ''} ({names})"


def _parameter_name(key: str, tool: Tool) -> str:
    names = [each.name for each in tool.parameters]
    if key in names:
        return key
    alike = [each for each in names if folded(each) == folded(key)]
    return alike[0] if len(alike) == 1 else key


def _typed(value: Any, parameter: Parameter | None) -> Any:
    """Return a value as it was meant; what was written without quotes is text for a string.

    But ``None`` is none there, too: no text is meant by it.
    """
    is_written = isinstance(value, (Bare, WrittenFloat)) and value not in ("None", "null")
    if is_written and parameter is not None and _is_string(parameter):
        return str(value)
    return plain(value)


def _is_string(parameter: Parameter) -> bool:
    return parameter.schema.get("type") == "string"


def bound_object(draft: Draft, value: Mapping[str, Any]) -> Draft:
    """Return the draft with the arguments of a JSON object; its wrapper, if it has one, goes."""
    inner, wrapped = _unwrapped({key: _emptied(each) for key, each in value.items()}, draft)
    done = draft.repaired("wrapper around the arguments") if wrapped else draft
    if isinstance(inner, Mapping):
        return bound(done, (), inner)
    if isinstance(inner, list):
        return bound_list(done, inner)
    return bound(done, (inner,), {}) if inner is not None else done


def _emptied(value: Any) -> Any:
    """An object printed by Python, ``AttributedDict()``, is an empty one."""
    return {} if isinstance(value, Expression) and value.is_empty else value


def bound_list(draft: Draft, values: list[Any]) -> Draft:
    """Return the draft with a list: the arguments in order, or the one that is a list."""
    if draft.tool is None:
        return bound(draft, (values,), {})
    if len(values) == 1 and isinstance(values[0], Mapping):
        return bound_object(draft, values[0])
    one = only_parameter(draft.tool)
    if (
        values
        and all(isinstance(each, Mapping) for each in values)
        and not (one and _takes(one, "array"))
    ):
        return replace(
            draft, problem=f"{draft.name} was given several objects; write one action for each"
        )
    if one is not None and (len(draft.tool.parameters) == 1 or _takes(one, "array")):
        return bound(draft, (values,), {})
    return bound(draft, values, {})


def _unwrapped(value: Mapping[str, Any], draft: Draft) -> tuple[Any, bool]:
    if draft.tool is None:
        return value, False
    known = {folded(each.name) for each in draft.tool.parameters}
    if any(folded(str(key)) in known for key in value):
        return value, False
    wrappers = [key for key in value if bare(str(key)).strip("_") in WRAPPERS]
    others = {bare(str(key)) for key in value if key not in wrappers}
    if len(wrappers) != 1 or others - {
        "type",
        "name",
        "tool",
        "action",
        "function",
        "required",
        "title",
    }:
        return value, False
    inner = value[wrappers[0]]
    if isinstance(inner, str) and (loaded := encoded_object(inner)) is not None:
        inner = loaded
    if isinstance(inner, Mapping) or draft.tool.parameters == () or only_parameter(draft.tool):
        return inner, True
    return (inner, True) if isinstance(inner, list) else (value, False)


def encoded_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a string encodes, or None."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return None
    for candidate in (stripped, decoded(stripped)):
        try:
            value = strict_json(candidate)
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None
