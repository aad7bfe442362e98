"""What the arguments of a call mean: values, a text without quotes, or code, which is no value."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from reactext.grammar import Call
from reactext.reading.binding import Draft, bound, bound_object, only_parameter, refused
from reactext.reading.code import takes_code
from reactext.reading.input_forms import keyed_lines
from reactext.reading.inputs import raw
from reactext.reading.known import Known
from reactext.reading.values import Bare, Expression, expression_in, plain
from reactext.tools import Parameter, Tool, folded

# A word without quotes that is a name in code: user_city, result, data.items. Not K-77, not Oslo.
_VARIABLE = re.compile(
    r"[a-z]\w*_\w+\Z"
    r"|<(?:the |your |previous |last )?(?:result|output|observation|answer|value)\b[^<>]*>\Z"
    r"|(?:x|y|z|data|results?|output|response|value|res|ret|obs|observation"
    r"|previous_?\w*|last_?\w*)\d*(?:\.\w+)*\Z"
)

_SUM = re.compile(
    r"(?:\"[^\"\n]*\"|'[^'\n]*')\s*\+\s*(?P<name>[^\W\d]\w*)\b(?!\s*[(（]|[\w\s]*[\"'])"
)
_TYPES = ("str", "string", "int", "integer", "float", "number", "bool", "boolean")


def bound_call(call: Call, inner: str, draft: Draft, known: Known) -> Draft:
    """Return the draft with the arguments of a call; ``inner`` is their text."""
    args, kwargs = list(call.args), dict(call.kwargs)
    if draft.tool is not None and _is_running_text(call, inner, draft.tool):
        return keyed_lines(inner.strip(), draft) or raw(inner.strip(), draft)
    if (problem := twice_given(call, draft)) is not None:
        return replace(draft, problem=problem, fault=f"{problem.split()[0]}=")
    values = [*args, *kwargs.values()]
    variable = next((each for each in values if _is_variable(each, draft)), None)
    if variable is None:  # get_weather(city: str): a signature, not a call
        types = (each for each in kwargs.values() if isinstance(each, Bare) and each in _TYPES)
        variable = next(types, None)
    if variable is not None and expression_in(values) is None:
        told = bound(draft, (Expression("variable", str(variable)),), {})
        return replace(told, needs_input=True)
    one = only_parameter(draft.tool)
    if one is not None and (text := _as_text(args, kwargs, inner, one, draft, known)) is not None:
        return text
    late = args[call.leading :]
    if draft.tool is not None and any(isinstance(each, Bare) for each in late):
        problem = f"{late[0]!r} in the call of {draft.name} has no name"
        return replace(draft, problem=problem, fault=str(late[0]))
    if len(args) == 1 and not kwargs and isinstance(args[0], dict) and draft.tool is not None:
        return bound_object(draft, args[0]) if draft.tool.parameters else bound(draft, args, {})
    return bound(draft, args, kwargs)


def twice_given(call: Call, draft: Draft) -> str | None:
    """Say which argument is given twice, by name or by its place too; None if none is."""
    named = dict(call.kwargs)
    places = draft.tool.parameters[: call.leading] if draft.tool is not None else ()
    doubled = call.doubled or next((each.name for each in places if each.name in named), "")
    return f"{doubled} is given twice in the call of {draft.name}" if doubled else None


def _is_running_text(call: Call, inner: str, tool: Tool) -> bool:
    """Whether what seems to be a key is words of a text without quotes.

    ``query=SELECT a, b FROM t WHERE x = 'y'``
    """
    known = {folded(each.name) for each in tool.parameters}
    before: Any = call.args[-1] if call.args else None
    for key, value in call.kwargs:
        if isinstance(before, Bare) and folded(key) not in known:
            return " " in key or re.search(rf"{re.escape(key)}\s+[=:＝：]", inner) is not None
        before = value
    return False


def _is_variable(value: Any, draft: Draft) -> bool:
    if not isinstance(value, Bare):
        return False
    if draft.tool is not None and any(each.name == value for each in draft.tool.parameters):
        return True
    return _VARIABLE.match(value) is not None


def _as_text(
    args: list[Any],
    kwargs: dict[str, Any],
    inner: str,
    one: Parameter,
    draft: Draft,
    known: Known,
) -> Draft | None:
    """Return the draft with the text itself, where a tool takes one and no value was meant."""
    assert draft.tool is not None
    is_only = len(draft.tool.parameters) == 1
    if not is_only and (len(args) != 1 or kwargs):
        return None
    if not kwargs and _is_code(args, known):
        return raw_arguments(inner, draft, "") if is_only else None
    if not all(isinstance(each, Bare) for each in [*args, *kwargs.values()]):
        return None
    if len(args) == 1 and not kwargs:
        is_text = isinstance(plain(args[0]), str)
        return raw(inner.strip(), draft) if is_text else bound(draft, args, {})
    if set(kwargs) == {one.name} and args:  # the commas were those of the text
        return raw(re.split(r"[=:：＝]", inner, maxsplit=1)[1].strip(), draft)
    is_keyed = "=" in inner or one.name in kwargs
    return None if is_keyed else raw(inner.strip(), draft)


def _is_code(values: list[Any], known: Known) -> bool:
    """Whether the only value is code that calls no tool: ``sqrt(16)``."""
    if len(values) != 1 or not isinstance(values[0], Expression) or values[0].kind != "call":
        return False
    return values[0].has_arguments and known.tool(values[0].text.partition("(")[0]) is None


def raw_arguments(inner: str, draft: Draft, reason: str) -> Draft:
    """Return the draft with arguments that are no values: the text, for a tool that takes one."""
    one = only_parameter(draft.tool)
    if not reason and one is not None and draft.tool is not None:
        if len(draft.tool.parameters) > 1 and re.search(r"[\"'“=]", inner):
            return replace(draft, problem=f"the arguments of {draft.name} cannot be read")
        keyed = re.match(rf"\s*{re.escape(one.name)}\s*[=:：＝]\s*", inner)
        value = (inner[keyed.end() :] if keyed else inner).strip()
        if not takes_code(draft.tool) and (sum_of := _SUM.match(value)) is not None:
            return refused(draft, sum_of["name"], "variable")
        calls_itself = folded(value.partition("(")[0]) == folded(draft.tool.name)
        if value and not calls_itself:
            return raw(value, draft)
    told = reason or "its arguments are no values"
    return replace(draft, problem=f"the call of {draft.name} cannot be read: {told}")
