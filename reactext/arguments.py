"""Binds the arguments of a call to a tool's parameters, and validates them.

What does not fit becomes one sentence for the model: the parameter, what was expected, what came,
and the call as it should be.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reactext.canonical import call_text, value_text
from reactext.coercion import coerced, fits
from reactext.observing import error_text
from reactext.signatures.samples import sample
from reactext.signatures.schema import MOST_MEMBERS, Schema, members
from reactext.tools import Parameter, RunContext, Tool, example_call, folded, nearest


class ArgumentError(Exception):
    """The arguments of a call do not fit its tool; ``str`` of it is written for the model.

    ``problem`` says what is wrong, ``right_call`` is the call as it should be.
    """

    def __init__(self, tool: str, problem: str, right_call: str) -> None:
        super().__init__(f"{tool} was not run: {problem}. Write it like this: {right_call}")
        self.problem = problem
        self.right_call = right_call


def validate(tool: Tool, kwargs: Mapping[str, Any], args: Iterable[Any] = ()) -> dict[str, Any]:
    """Return the arguments by name, each of the declared type.

    Their lists and objects are the caller's to change: none is shared with what is given. Safe
    coercions are made, never one that loses something. Parameters that were left out stay
    out, so that the function's own defaults hold; null for one that has a default and takes no
    null is leaving it out. Raises `ArgumentError`, which names all problems at once.
    """
    named, problems = _bound(tool, copied(list(args)), copied(dict(kwargs)))
    for each in tool.parameters:
        if not each.required and named.get(each.name, 0) is None and _fitted(each, None)[1]:
            del named[each.name]
    values: dict[str, Any] = {}
    right: dict[str, Any] = {}
    for each in tool.parameters:
        if each.name not in named:
            if each.fills_default:
                values[each.name] = copy.deepcopy(each.default)
            continue
        value, problem = _fitted(each, named[each.name])
        if problem:
            problems.append(problem)
        else:
            values[each.name] = value
            right[each.name] = named[each.name]
    missing = [each.name for each in tool.parameters if each.required and each.name not in named]
    if missing:
        noun = "argument" if len(missing) == 1 else "arguments"
        problems.insert(0, f"missing {noun} {', '.join(missing)}")
    if problems:
        raise ArgumentError(tool.name, "; ".join(problems), _right_call(tool, named, right))
    return values


def copied(value: Any) -> Any:
    """Return a value with lists and objects of its own, through and through; others are shared."""
    if type(value) is list:
        return [copied(each) for each in value]
    if type(value) is dict:
        return {name: copied(each) for name, each in value.items()}
    return value


def call_arguments(
    tool: Tool, values: Mapping[str, Any], run_context: RunContext
) -> tuple[list[Any], dict[str, Any]]:
    """Return what the function is called with: positional values and named ones."""
    named = dict(values)
    if tool.context_parameter is not None:
        named[tool.context_parameter] = run_context
    given = [name in named for name in tool.positional_only]
    last = max((index for index, is_given in enumerate(given) if is_given), default=-1)
    defaults = {each.name: each.default for each in tool.parameters}
    positional = [
        named.pop(name) if name in named else defaults[name]
        for name in tool.positional_only[: last + 1]
    ]
    return positional, named


def _bound(
    tool: Tool, args: list[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    problems: list[str] = []
    names = [each.name for each in tool.parameters]
    named = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        problems.append(f"{tool.name} takes {len(names)} arguments, got {len(args)}")
    for written, value in kwargs.items():
        name = _known_name(written, names, kwargs)
        if name is None:
            problems.append(_unknown_text(written, names))
        elif name in named:
            problems.append(f"{name} is given twice")
        else:
            named[name] = value
    return named, problems


def _known_name(written: str, names: list[str], kwargs: Mapping[str, Any]) -> str | None:
    if written in names:
        return written
    alike = [each for each in names if folded(each) == folded(written) and each not in kwargs]
    return alike[0] if len(alike) == 1 else None


def _unknown_text(written: str, names: list[str]) -> str:
    if not names:
        return f"there is no parameter {written}, it takes none"
    alike = nearest(written, names, 1)
    guess = f", did you mean {alike[0]}?" if alike else ""
    return f"there is no parameter {written}{guess} (its parameters: {', '.join(names)})"


def _fitted(parameter: Parameter, value: Any) -> tuple[Any, str]:
    """Return the value in the declared type, or what is wrong with it."""
    if value is None and not parameter.required and parameter.default is None:
        return None, ""
    if isinstance(value, bool) and not fits(coerced(value, parameter.schema), parameter.schema):
        return None, _misfit(parameter, value)  # True is no 1, though Python says so
    if parameter.adapter is None:
        changed = coerced(value, parameter.schema)
        return (
            (changed, "") if fits(changed, parameter.schema) else (None, _misfit(parameter, value))
        )
    try:
        return _adapted(parameter.adapter, value, parameter.schema), ""
    except ValidationError as error:
        return None, _explained(parameter, value, error)
    except Exception as error:  # a validator is the caller's code
        return None, f"{parameter.name} is refused: {error_text(error)}"


def _adapted(adapter: TypeAdapter[Any], value: Any, schema: Schema) -> Any:
    """Validate a value as it stands, or else in the form that its schema asks for."""
    try:
        return adapter.validate_python(value)
    except ValidationError:
        changed = coerced(value, schema)
        if changed is value:
            raise
    return adapter.validate_python(changed)


def _explained(parameter: Parameter, value: Any, error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    where = {tuple(str(step) for step in fault["loc"]) for fault in faults}
    if len(faults) > 1 and len({path[:1] for path in where}) > 1 and _is_union(parameter):
        return _misfit(parameter, value)
    texts = [_fault_text(parameter, fault) for fault in faults[:3]]
    return ", ".join(dict.fromkeys(texts))


def _is_union(parameter: Parameter) -> bool:
    return "anyOf" in parameter.schema or "oneOf" in parameter.schema


def _fault_text(parameter: Parameter, fault: Any) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
    if not path and fault["type"].endswith(("_type", "_parsing", "_from_float")):
        return _misfit(parameter, fault["input"])
    listed = members(parameter.schema)
    if listed is not None and not path:
        return f"{parameter.name} must be {_listed(listed, fault['input'])}"
    said = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    said = re.sub(r"^\w+ should ", "must ", said)
    if fault["type"] == "missing":
        return f"{parameter.name}{path} is missing"
    return f"{parameter.name}{path} {_lower(said)}, got {_shown(fault['input'])}"


def _listed(listed: list[Any], value: Any) -> str:
    """Name the listed values; of many only those that are much like what came."""
    texts = [value_text(each) for each in listed]
    if len(listed) > MOST_MEMBERS:
        alike = nearest(value_text(value) if isinstance(value, str) else "", texts)
        shown = ", ".join(alike or texts[:5])
        return f"one of {len(listed)} values, like {shown}, got {_shown(value)}"
    return f"{' or '.join(texts)}, got {_shown(value)}"


def _misfit(parameter: Parameter, value: Any) -> str:
    return (
        f"{parameter.name} must be {parameter.type_text or 'of another type'}, got {_shown(value)}"
    )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _shown(value: Any) -> str:
    try:
        text = value_text(value)
    except (TypeError, ValueError, RecursionError):
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _right_call(tool: Tool, named: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    """Write the call with what was right in it, and plausible values for the rest."""
    if not named:
        return example_call(tool)
    wanted = [each for each in tool.parameters if each.required or each.name in named]
    return call_text(
        tool.name,
        kwargs={
            each.name: right[each.name] if each.name in right else sample(each.schema, each.name)
            for each in wanted
        },
    )
