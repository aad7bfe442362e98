"""Reads one action as it was written: a call, brackets, JSON, or a name alone.

    get_weather(city="Oslo")    search[Oslo]    {"tool": "search", "args": {…}}    search
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from reactext.grammar import Call, GrammarError, read_call, read_canonical
from reactext.protocol import CallSyntax
from reactext.reading.binding import Draft, bound, bound_object, only_parameter
from reactext.reading.inputs import loaded, raw, read_input
from reactext.reading.json_calls import read_json_calls
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.names import is_answer, is_none, resolve, resolve_exactly
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.tracking import OPENERS, TooMuchError, Tracker
from reactext.reading.values import Bare, Expression, expression_in
from reactext.tools import Toolbox, folded


@dataclass(frozen=True, slots=True)
class Known:
    """What calls are read by: the tools there are, and how calls are written."""

    tools: Toolbox | None = None
    syntax: CallSyntax = CallSyntax()
    answer_labels: tuple[str, ...] = ()


_BULLET = re.compile(r"\s*(?:(?:[-*•·+>–—]|\d{1,2}[.):、]|\(\d{1,2}\)|[①-⑩])[ \t]+)?")
_BEFORE = re.compile(
    r"(?:(?P<variable>[^\W\d]\w{0,60}(?:, ?\w{1,60})?)[ \t]*(?::[ \t]*\w+[ \t]*)?=[ \t]*(?=[\w.`]+[ \t]*[(（])"
    r"|(?:await|return|yield|call|run|use|invoke|execute|调用|使用|执行)[ \t:]+(?=[\w.`]+[ \t]*[(（]))"
)
_NAME = re.compile(r"(?P<name>[^()\[\]{}（）【】［］｛｝\n\"“”=]{1,120}?)[ \t]*(?=[(（\[【［])")
_CALL_AHEAD = re.compile(r"\s*[^\W\d][\w.]{0,80}\(")
_PRINT = re.compile(r"(?:print|str|repr)[ \t]*[(（][ \t]*(?=[\w.]+[ \t]*[(（])")
_VARIABLE = re.compile(
    r"[a-z]\w*_\w+\Z"
    r"|(?:x|y|z|data|results?|output|response|value|res|ret|obs|observation|previous_?\w*|last_?\w*)\d*"
    r"(?:\.\w+)*\Z"
)
JOINT = re.compile(r"[ \t`]*(?:[;；,，、&+]|&&|and then|and|then|和|以及|并且)[ \t`]*(?=[^\W\d]|\{)", re.IGNORECASE)
"""What joins two calls besides the separator, where both are calls."""

_LABEL = re.compile(r"(?:action|tool|行动|动作|行動|動作)[ \t]*\d{0,2}[ \t]*[:：][ \t]*", re.IGNORECASE)
_REMARK = re.compile(
    r"(?:to|for|tool|function|action|and|in|because|with|using|since|so|then|which|as|on|by|this|that|i|api"
    r"|is|or|of|the|will|should|can|—|–|-|来|以|工具|进行)\b|\W",
    re.IGNORECASE,
)
_TRAILER = " \t\r\n`*.;,。；，、!！~"


def read_clean(text: str, known: Known) -> list[Draft]:
    """Return the calls of a text that can be meant in one way only: canonical, or strict JSON.

    What is returned here is certain, whatever comes after it.
    """
    stripped = _undressed(text)
    if stripped[:1] in ("{", "["):
        return _json(stripped, known, strict=True)
    if not stripped.endswith(")"):
        return []
    try:
        calls = read_canonical(stripped)
    except GrammarError:
        return []
    if len(calls) != 1 or known.syntax.grammar:
        return []
    call = calls[0]
    if known.tools is not None and known.tools.get(call.name) is None:
        return []
    if not (call.args or call.kwargs) and not _takes_nothing(call.name, known):
        return []
    draft = _drafted(call, stripped, known)
    return [] if draft.problem or draft.is_answer else [draft]


def _takes_nothing(name: str, known: Known) -> bool:
    tool = known.tools.get(name) if known.tools is not None else None
    return tool is not None and not tool.parameters


def _undressed(text: str) -> str:
    bullet = _BULLET.match(text)
    assert bullet is not None
    stripped = text[bullet.end() :].strip(" \t\r\n`*")
    label = _LABEL.match(stripped)
    return stripped[label.end() :] if label is not None else stripped


def read_written(text: str, known: Known) -> list[Draft]:
    """Return the calls that one action is; the last has a problem where it cannot be read.

    Raises `TooMuchError`.
    """
    stripped = _undressed(text).rstrip(_TRAILER)
    if not stripped or stripped[0] in "|｜":
        return []
    if stripped[0] in "{｛" or _is_json_list(stripped):
        return _json(stripped, known, strict=False)
    if stripped[0] == "[" and stripped[-1] == "]" and _CALL_AHEAD.match(stripped, 1):
        stripped = stripped[1:-1].strip()
    before = _BEFORE.match(stripped)
    repairs = []
    if before is not None and not _is_tool(before, stripped, known):
        stripped = stripped[before.end() :].strip("`* ")
        repairs.append("assignment" if before["variable"] else "word before the call")
    printed = _PRINT.match(stripped)
    if printed is not None and not _knows(stripped[: printed.end()].rstrip("(（ "), known):
        inner, _ = inside(stripped[stripped.index(printed[0].rstrip()[-1]) :])
        stripped = inner.strip()
        repairs.append("print around the call")
    return [each.repaired(*repairs) for each in _call_or_name(stripped, known)]


def _is_tool(before: re.Match[str], text: str, known: Known) -> bool:
    return before["variable"] is None and _knows(before[0].strip(" :"), known) and "(" not in text[before.end() :]


def _knows(name: str, known: Known) -> bool:
    return known.tools is not None and resolve_exactly(name, known.tools) is not None


def _is_json_list(text: str) -> bool:
    return re.match(r"[\[［]\s*[{｛]", text) is not None


def _json(text: str, known: Known, *, strict: bool) -> list[Draft]:
    whole, rest = _whole(text)
    try:
        value, mended = loaded(whole)
    except (GrammarError, UnmendableError) as error:
        return [] if strict else _broken_json(whole, known, error)
    if strict and mended is not None:
        return []
    drafts = read_json_calls(value, known.tools, whole, labelled=True)
    if strict:
        return [] if any(each.problem for each in drafts) else drafts
    if not drafts:
        if isinstance(value, dict) and any(is_none(str(each)) for each in value.values()):
            return []
        return [Draft("", text=text, problem="the JSON names no tool")]
    repairs = mended.repairs if mended is not None else ()
    return [each.repaired("json", *repairs) for each in drafts]


def _broken_json(text: str, known: Known, error: Exception) -> list[Draft]:
    """Return the complete calls at the beginning of a broken list, or what is wrong."""
    drafts: list[Draft] = []
    if text[0] in "[［":
        position = 1
        while (start := text.find("{", position)) >= 0 and len(drafts) < 64:
            whole, _ = _whole(text[start:])
            position = start + len(whole)
            try:
                value, _ = loaded(whole)
            except (GrammarError, UnmendableError):
                break
            found = read_json_calls(value, known.tools, whole, labelled=True)
            if not found:
                break
            drafts += found
    if drafts:
        return [each.repaired("json", "list cut") for each in drafts]
    reason = str(error) if isinstance(error, UnmendableError) else "its brackets or quotes do not match"
    return [Draft("", text=text, problem=f"the JSON of the action cannot be read: {reason}")]


def _whole(text: str) -> tuple[str, str]:
    """Cut a text where its first bracket closes."""
    tracker = Tracker()
    length = 0
    for part in tracker.feed(text, final=True):
        if part.kind == "closed":
            break
        length += len(part.text)
    return text[:length], text[length:]


def inside(bracketed: str) -> tuple[str, str]:
    """Return what stands in the bracket that a text begins with, and what comes after it."""
    whole, rest = _whole(bracketed)
    is_closed = len(whole) > 1 and whole[-1] in ")]}）］｝】"
    return whole[1:-1] if is_closed else whole[1:], rest


def _call_or_name(text: str, known: Known) -> list[Draft]:
    named = _NAME.match(text)
    if named is None or not named["name"].strip("`* "):
        return [_name_alone(text, known)]
    name, bracket = named["name"].strip(), text[named.end()]
    if is_none(name):
        return []
    if bracket in "[【［":
        return [_paper(name, text[named.end() :], text, known)]
    whole, rest = _whole(text)
    joint = JOINT.match(rest)
    if joint is None or not _calls_known(rest[joint.end() :], known):
        return [_call(name, text, named.end(), known)]
    more = _call_or_name(rest[joint.end() :], known)
    return [_call(name, whole, named.end(), known).repaired("other separator"), *more]


def _calls_known(text: str, known: Known) -> bool:
    named = _NAME.match(text)
    if named is None or known.tools is None:
        return named is not None and " " not in named["name"].strip()
    return resolve_exactly(named["name"].strip("`* "), known.tools) is not None


def _paper(name: str, bracketed: str, text: str, known: Known) -> Draft:
    inner, rest = inside(bracketed)
    if is_answer(name, known.tools, known.answer_labels):
        return _answer(inner, text, known)
    resolved = resolve(name, known.tools)
    draft = Draft(resolved.name, resolved.tool, text=text, problem=resolved.problem).repaired(resolved.repair)
    if resolved.problem:
        return draft
    if resolved.tool is None and (phrase := resolve(text, known.tools)).problem and "names" in phrase.problem:
        return replace(draft, problem=phrase.problem)
    if not inner.strip() and rest is None:
        return _empty_call(draft, is_closed=False)
    return replace(read_input(inner, draft), text=text).repaired("square brackets")


def _answer(inner: str, text: str, known: Known) -> Draft:
    """The answer in a call: ``finish(answer="…")``, ``Finish[…]``."""
    stripped = inner.strip()
    try:
        call = read_call(f"finish({mend(stripped).text})", CallSyntax())
        values = [*call.args, *(value for _, value in call.kwargs)]
        if len(values) == 1 and isinstance(values[0], str) and not isinstance(values[0], Bare):
            return Draft("finish", args=(values[0],), text=text, is_answer=True)
        if len(values) == 1 and isinstance(values[0], dict) and len(values[0]) == 1:
            only = next(iter(values[0].values()))
            if isinstance(only, str):
                return Draft("finish", args=(str(only),), text=text, is_answer=True)
        if len(call.kwargs) == 1 and not call.args and isinstance(values[0], Bare):
            stripped = stripped[re.search("[=:：＝]", stripped).end() :].strip()  # type: ignore[union-attr]
    except (GrammarError, UnmendableError, TooMuchError):
        pass
    quote = stripped[:1]
    is_pair = len(stripped) > 1 and quote in "\"'“" and stripped[-1] == CLOSING[quote]
    if is_pair and f"{CLOSING[quote]}, {quote}" not in stripped:
        stripped = decoded(stripped[1:-1])
    return Draft("finish", args=(stripped,), text=text, is_answer=True)


def _call(name: str, text: str, opening: int, known: Known) -> Draft:
    inner, rest = inside(text[opening:])
    if is_answer(name, known.tools, known.answer_labels):
        return _answer(inner, text, known)
    resolved = resolve(name, known.tools)
    draft = Draft(resolved.name, resolved.tool, text=text, problem=resolved.problem).repaired(resolved.repair)
    if resolved.problem:
        return draft
    if _is_remark(text, opening, inner, known):
        return replace(draft, needs_input=True).repaired("remark after the tool name")
    whole = text[: len(text) - len(rest)]
    if inner.lstrip().startswith("**{"):
        whole = whole.replace("**", "", 1)
    is_closed = whole[-1:] in (")", "）", "]", "}")
    if not inner.strip():
        return _empty_call(draft, is_closed=is_closed)
    try:
        mended = mend(whole)
        if mended.cut_in_string:
            return replace(draft, problem=f"the call of {draft.name} breaks off within a value")
        call = _read(mended.text, known)
    except (GrammarError, UnmendableError) as error:
        return _raw_arguments(inner, whole, draft, str(error) if isinstance(error, UnmendableError) else "")
    repairs = list(mended.repairs)
    if rest.strip(_TRAILER):
        repairs.append("text after the call")
    return _bound(call, inner, whole, draft.repaired(*repairs), known)


def _empty_call(draft: Draft, *, is_closed: bool) -> Draft:
    """A call without arguments; where some are needed, they may come as an input."""
    if not is_closed and draft.tool is not None and draft.tool.parameters:
        return replace(draft, problem=f"the call of {draft.name} breaks off before its arguments")
    return replace(draft, needs_input=True)


def _read(text: str, known: Known) -> Call:
    if known.syntax.grammar:
        try:
            return read_call(text, known.syntax)
        except GrammarError:
            pass
    return read_call(text, CallSyntax())


def _is_remark(text: str, opening: int, inner: str, known: Known) -> bool:
    """Words in brackets after a blank: ``calculator (basic arithmetic)``."""
    if not text[opening - 1].isspace() or not inner.strip():
        return False
    return re.fullmatch(r"[^\W\d][\w ,'’\-]{0,200}", inner.strip()) is not None and " " in inner.strip()


def _drafted(call: Call, text: str, known: Known) -> Draft:
    if is_answer(call.name, known.tools, known.answer_labels):
        return Draft(call.name, text=text, is_answer=True)
    resolved = resolve(call.name, known.tools)
    draft = Draft(resolved.name, resolved.tool, text=text, problem=resolved.problem)
    return bound(draft, call.args, dict(call.kwargs))


def _bound(call: Call, inner: str, text: str, draft: Draft, known: Known) -> Draft:
    args, kwargs = list(call.args), dict(call.kwargs)
    variable = next((each for each in [*args, *kwargs.values()] if _is_variable(each, draft)), None)
    if variable is not None and expression_in([*args, *kwargs.values()]) is None:
        return replace(bound(draft, (Expression("variable", str(variable)),), {}), needs_input=True)
    one = only_parameter(draft.tool)
    if one is not None and draft.tool is not None:
        is_only = len(draft.tool.parameters) == 1
        if args and all(isinstance(each, Bare) for each in args) and not kwargs and (is_only or len(args) == 1):
            return raw(inner.strip(), draft) if not _is_literal(args) else bound(draft, args, {})
        is_labelled_text = "=" not in inner and not set(kwargs) & {one.name}
        if is_only and not args and is_labelled_text and all(isinstance(each, Bare) for each in kwargs.values()):
            return raw(inner.strip(), draft)
        if is_only and _is_code([*args, *kwargs.values()], known):
            return _raw_arguments(inner, text, draft, "")
        if is_only and _is_prose(args, kwargs, one.name):
            value = re.split(r"[=:：＝]", inner, maxsplit=1)[1] if one.name in kwargs else inner
            return raw(value.strip(), draft)
    if len(args) == 1 and not kwargs and isinstance(args[0], dict) and draft.tool is not None:
        return bound_object(draft, args[0]) if draft.tool.parameters else bound(draft, args, {})
    return bound(draft, args, kwargs)


def _is_literal(args: list[Any]) -> bool:
    """Whether a lone value without quotes is a number or a literal."""
    from reactext.reading.values import plain

    return len(args) == 1 and not isinstance(plain(args[0]), str)


def _is_prose(args: list[Any], kwargs: dict[str, Any], name: str) -> bool:
    """Whether the commas of a text without quotes were taken for those of a call."""
    if not args or not all(isinstance(each, Bare) for each in args):
        return False
    return all(isinstance(value, Bare) for value in kwargs.values()) and set(kwargs) <= {name}


def _is_code(values: list[Any], known: Known) -> bool:
    """Whether the only value is code that calls no tool: ``sqrt(16)``."""
    if len(values) != 1 or not isinstance(values[0], Expression):
        return False
    name = values[0].text.partition("(")[0].partition("[")[0]
    return values[0].kind == "call" and not _knows(name, known)


def _is_variable(value: Any, draft: Draft) -> bool:
    """Whether a word without quotes is a name in code rather than a text."""
    if not isinstance(value, Bare):
        return False
    if draft.tool is not None and any(each.name == value for each in draft.tool.parameters):
        return True
    return _VARIABLE.match(str(value)) is not None


def _raw_arguments(inner: str, whole: str, draft: Draft, reason: str) -> Draft:
    """Arguments that are no values: the text itself, for a tool with one parameter."""
    if not reason and draft.tool is not None and (one := only_parameter(draft.tool)) is not None:
        keyed = re.match(rf"\s*{re.escape(one.name)}\s*[=:：＝]\s*", inner)
        value = inner[keyed.end() :] if keyed else inner
        if len(draft.tool.parameters) > 1 and re.search(r"[\"'“=]", inner):
            return replace(draft, problem=f"the arguments of {draft.name} cannot be read")
        is_nested = _calls_a_tool(value, draft)
        if value.strip() and not is_nested:
            return raw(value.strip(), draft)
    told = reason or "its arguments are no values"
    return replace(draft, problem=f"the call of {draft.name} cannot be read: {told}")


def _calls_a_tool(value: str, draft: Draft) -> bool:
    return draft.tool is not None and folded(value.split("(")[0]) == folded(draft.tool.name)


_PAIR = re.compile(r"[ \t,;.]+(?:Action[ _]?Input|Tool[ _]?Input|Input|行动输入|动作输入)[ \t]*[:：]")
_AFTER_NAME = re.compile(r"(?P<name>[^\n:：\"“{]{1,80}?)[ \t]*(?P<mark>[:：]|->|→|with|(?=[\"“{｛]))[ \t]*(?P<rest>[\s\S]+)")


def _name_alone(text: str, known: Known) -> Draft:
    """A name, perhaps with its argument after it; without, the input is still to come."""
    if is_answer(text, known.tools, known.answer_labels):
        return Draft("finish", text=text, is_answer=True, needs_input=True)
    first, _, below = text.partition("\n")
    if below.strip() and (resolved := resolve(first, known.tools)).tool is not None:
        draft = Draft(resolved.name, resolved.tool, text=text).repaired("no input label")
        return replace(read_input(below, draft), text=text)
    if (pair := _PAIR.search(text)) is not None:
        named = resolve(text[: pair.start()], known.tools)
        if named.tool is not None:
            draft = Draft(named.name, named.tool, text=text).repaired("label in mid-line")
            return replace(read_input(text[pair.end() :], draft), text=text)
    after = _AFTER_NAME.match(text)
    if after is not None and known.tools is not None:
        tool = resolve_exactly(after["name"].strip(" `*"), known.tools)
        if tool is not None:
            draft = Draft(tool.name, tool, text=text)
            if after["rest"][0] not in "{[\"“｛":
                return replace(draft, needs_input=True, after_name=after["rest"].strip())
            done = read_input(after["rest"], draft.repaired("argument after the tool name"))
            return replace(done, text=text)
    if (spaced := _spaced(text, known)) is not None:
        return spaced
    resolved = resolve(text, known.tools)
    draft = Draft(resolved.name, resolved.tool, text=text, problem=resolved.problem, needs_input=True)
    return draft.repaired(resolved.repair)


def _spaced(text: str, known: Known) -> Draft | None:
    """A name, a blank and an argument: ``get_weather city="Oslo"``, ``search cheap ferries``."""
    first, _, rest = text.partition(" ")
    tool = known.tools.get(first.strip("`*")) if known.tools is not None else None
    if tool is None or not rest.strip() or _REMARK.match(rest.strip()):
        return None
    draft = Draft(tool.name, tool, text=text)
    key = re.match(r"\s*(\w+)\s*[=:：]", rest)
    if key is not None and any(each.name == key[1] for each in tool.parameters):
        return replace(read_input(rest, draft), text=text).repaired("argument after the tool name")
    return replace(draft, needs_input=True, after_name=rest.strip())
