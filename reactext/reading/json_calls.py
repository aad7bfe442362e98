"""Reads calls that are written as JSON objects, whatever their keys are called.

{"action": …, "action_input": …}   {"name": …, "arguments": …}   {"get_weather": {…}}   [{…}, {…}]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reactext.grammar import GrammarError, read_call
from reactext.protocol import CallSyntax, bare
from reactext.reading.binding import (
    Draft,
    bound,
    bound_list,
    bound_object,
    encoded_object,
    only_parameter,
)
from reactext.reading.call_arguments import bound_call
from reactext.reading.inputs import of_form, raw, read_input
from reactext.reading.known import Known
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.names import is_answer, is_none, resolve, resolve_exactly
from reactext.reading.values import Bare, plain
from reactext.tools import Toolbox

_TOOL_KEYS = (
    "action", "tool", "toolname", "name", "function", "functionname", "recipientname", "actionname",
    "command", "行动", "动作", "工具", "行動", "動作", "acción", "herramienta",
)  # fmt: skip
_INPUT_KEYS = (
    "actioninput", "toolinput", "args", "arguments", "parameters", "params", "input", "kwargs",
    "toolargs", "toolarguments", "toolparameters", "functionargs", "actionargs", "actionarguments",
    "actionparameters", "actionparams", "inputs",
    "行动输入", "动作输入", "参数", "输入", "行動輸入", "entradadelaacción",
)  # fmt: skip
_LIST_KEYS = ("toolcalls", "actions", "calls", "tools", "functioncalls", "tooluses")
_OTHER_KEYS = {
    "thought", "thoughts", "reasoning", "reason", "id", "type", "思考", "explanation", "plan",
    "callid", "toolcallid", "index", "observation", "thinking", "reflection", "rationale",
    "pensamiento",
}  # fmt: skip
_ANSWER_KEYS = ("finalanswer", "answer", "最终答案", "response", "finalresponse", "output")

_CALL = re.compile(r"\s*(?P<name>[\w.\-]{1,80})\s*(?P<arguments>[(\[]\s*[^\s)][\s\S]*[)\]])\s*")
_EMPTY_BRACKETS = re.compile(r"(?<=\w)\(\)\s*\Z")

MAX_CALLS = 64
"""So many calls may be one group."""


def read_json_calls(value: Any, tools: Toolbox | None, text: str, *, labelled: bool) -> list[Draft]:
    """Return the calls that a value is; none where it is something else.

    ``labelled`` says that an action was announced: without, only what cannot be meant otherwise
    is a call.
    """
    if isinstance(value, list):
        objects = [each for each in value if isinstance(each, dict)]
        if not objects or len(objects) != len(value):
            return []
        lists = [read_json_calls(each, tools, text, labelled=labelled) for each in objects]
        return [draft for each in lists for draft in each] if all(lists) else []
    if not isinstance(value, Mapping):
        return []
    keys = {bare(str(key)).strip("_"): key for key in value}
    for each in _LIST_KEYS:
        if each in keys and isinstance(value[keys[each]], list):
            return read_json_calls(value[keys[each]], tools, text, labelled=labelled)
    draft = _call(value, keys, tools, text, labelled=labelled)
    return [draft] if draft is not None else []


def _call(
    value: Mapping[str, Any],
    keys: dict[str, str],
    tools: Toolbox | None,
    text: str,
    *,
    labelled: bool,
) -> Draft | None:
    tool_key = next((keys[each] for each in _TOOL_KEYS if each in keys), None)
    if tool_key is None:
        return _tool_as_key(value, tools, text) or _answer(value, keys, text, labelled=labelled)
    name = value[tool_key]
    if isinstance(name, Mapping):
        inner = {bare(str(key)).strip("_"): key for key in name}
        return _call(name, inner, tools, text, labelled=labelled)
    if not isinstance(name, str):
        return None
    input_key = next(
        (keys[each] for each in _INPUT_KEYS if each in keys and keys[each] != tool_key), None
    )
    given = value[input_key] if input_key is not None else _flat(value, tool_key)
    name = _EMPTY_BRACKETS.sub("", name)
    if given in (None, "", {}, []) and (written := _written(name, tools, text)) is not None:
        return written
    if is_none(name):
        return None
    if is_answer(name, tools):
        return Draft(name, text=text, is_answer=True, args=(plain(given),))
    named = resolve(name, tools)
    is_sure = named.tool is not None or (
        input_key is not None and bare(tool_key) not in ("name", "command")
    )
    if not labelled and not (is_sure if tools is not None else input_key is not None):
        return None
    draft = Draft(named.name, named.tool, text=text, problem=named.problem).repaired(named.repair)
    return draft if named.problem else bound_given(draft, given)


def _written(name: str, tools: Toolbox | None, text: str) -> Draft | None:
    """A whole call in place of the name: ``{"action": "search(\\"a\\")"}``."""
    call = _CALL.fullmatch(name)
    if call is None:
        return None
    named = resolve(call["name"], tools)
    draft = Draft(named.name, named.tool, text=text, problem=named.problem)
    if call["arguments"][0] == "[":
        is_known = draft.tool is not None and not draft.problem
        return read_input(call["arguments"][1:-1], draft) if is_known else None
    try:
        read = read_call(f"call{mend(call['arguments']).text}", CallSyntax())
    except (GrammarError, UnmendableError):
        return replace(draft, problem=f"the call {name[:80]!r} cannot be read")
    inner = call["arguments"][1:-1]
    return draft if draft.problem else bound_call(read, inner, draft, Known(tools))


def _flat(value: Mapping[str, Any], tool_key: str) -> Any:
    """Arguments beside the tool's name, in the same object."""
    rest = {
        key: each
        for key, each in value.items()
        if key != tool_key and bare(str(key)) not in _OTHER_KEYS
    }
    return rest or None


def _tool_as_key(value: Mapping[str, Any], tools: Toolbox | None, text: str) -> Draft | None:
    keys = [key for key in value if bare(str(key)) not in _OTHER_KEYS]
    if len(keys) != 1:
        return None
    tool = resolve_exactly(str(keys[0]), tools) if tools is not None else None
    given = value[keys[0]]
    if tool is not None:
        return bound_given(Draft(tool.name, tool, text=text), given).repaired("tool as the key")
    return None


def _answer(
    value: Mapping[str, Any], keys: dict[str, str], text: str, *, labelled: bool
) -> Draft | None:
    due = _ANSWER_KEYS if labelled else _ANSWER_KEYS[:1]
    key = next((keys[each] for each in due if each in keys), None)
    others = [each for each in keys if keys[each] != key and each not in _OTHER_KEYS]
    if key is None or others:
        return None
    return Draft("", text=text, is_answer=True, args=(plain(value[key]),))


def bound_given(draft: Draft, given: Any) -> Draft:
    """Return the draft with what stands under the key of its arguments."""
    if given is None or given == "" or (isinstance(given, str) and is_none(given)):
        return draft
    if isinstance(given, Mapping):
        return bound_object(draft, given)
    if isinstance(given, Bare):
        return bound(draft, (given,), {})
    if isinstance(given, str):
        return _text(draft, given)
    if isinstance(given, list):
        return _listed(draft, given)
    if draft.tool is not None and only_parameter(draft.tool) is None and draft.tool.parameters:
        return replace(
            draft, problem=f"the arguments of {draft.name} are {given!r}; give them by name"
        )
    return bound(draft, (given,), {})


def _text(draft: Draft, given: str) -> Draft:
    if (value := encoded_object(given)) is not None:
        return bound_object(draft.repaired("JSON encoded twice"), value)
    if draft.tool is not None and only_parameter(draft.tool) is None:
        return read_input(given, draft)
    if draft.tool is not None and not draft.tool.parameters:
        return draft
    return replace(of_form(given, draft) or raw(given, draft), unquoted=())


def _listed(draft: Draft, given: list[Any]) -> Draft:
    one = only_parameter(draft.tool)
    if one is not None and len(given) == 1 and isinstance(given[0], str) and not one.schema:
        return bound(draft, given, {})
    return bound_list(draft, given) if draft.tool is not None else bound(draft, given, {})
