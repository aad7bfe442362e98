"""Reads one action as it was written: a call, brackets, JSON, or a name alone.

get_weather(city="Oslo")    search[Oslo]    {"tool": "search", "args": {…}}    search
"""

from __future__ import annotations

import re
from dataclasses import replace

from reactext.grammar import GrammarError, read_call, read_canonical
from reactext.protocol import CallSyntax
from reactext.reading.answer_calls import answer_call, named_answer
from reactext.reading.bare_names import read_name
from reactext.reading.binding import Draft, bound
from reactext.reading.bullets import BULLET
from reactext.reading.call_arguments import bound_call, raw_arguments, twice_given
from reactext.reading.inputs import read_input
from reactext.reading.json_calls import MAX_CALLS
from reactext.reading.json_items import is_json, read_json, read_strict
from reactext.reading.known import Known
from reactext.reading.mending import UnmendableError, mend
from reactext.reading.names import is_answer, is_none, resolve
from reactext.reading.strings import CLOSING, decoded
from reactext.reading.tracking import TooMuchError, construct_end

JOINT = re.compile(
    r"[\s`]{0,80}(?:[;；,，、&+‖]|&&|\|\|?|｜｜?|and then|and|then|和|以及|并且"
    r"|(?=\d{1,2} ?[、.)）．]|[①-⑳]))[\s`]{0,80}"
    rf"(?:{BULLET})?(?=[^\W\d]|\{{)",
    re.IGNORECASE,
)
"""What joins two calls besides the separator, where both are calls."""

CHOICE = re.compile(r"[ \t`*]*(?:(?:or|oder)\b|或者?|还是|/)[ \t`*]*", re.IGNORECASE)
"""What stands between two calls of which one is to be chosen: that is no action."""

CHOICE_BEGUN = re.compile(
    r"(?:o|or|od|ode|oder|或者?|还是?|/|(?:or|oder|/)[ \t`*].*|(?:或|还是).*)?\Z", re.IGNORECASE
)
"""What may still become such a text, without the blanks before it."""

TRAILER = " \t\r\n`*.;,。；，、!！~"
"""What may follow a call and is nothing."""

_BULLET = re.compile(rf"\s*(?:{BULLET})?", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:action|tool|行动|动作|行動|動作)[ \t]*\d{0,2}[ \t]*[:：][ \t]*", re.IGNORECASE
)
_BEFORE = re.compile(
    r"(?:(?:let |const |var |auto )?(?P<variable>[^\W\d]\w{0,60}(?:, ?\w{1,60})?)"
    r"[ \t]*(?::[ \t]*\w+[ \t]*)?=[ \t]*"
    r"|(?P<word>await|return|yield|call|run|use|invoke|execute|调用|使用|执行)[ \t:]+)"
    r"(?=(?:await |return |call )?[\w.`]+[ \t]*[(（])"
)
# json {"action": …}: a fence on one line, without its ticks or with quotes for them.
_LANGUAGE = re.compile(
    r"(?:'{3}|\"{3})?(?:json|jsonc|json5|python)?[ \t]{0,4}:?\s{0,20}"
    r"(?=[\[{]\s{0,40}\{?\s{0,40}[\"'](?:action|tool|tool_name|name|function)[\"'])",
    re.IGNORECASE,
)
_PRINT = re.compile(r"(?P<name>print|str|repr)[ \t]*(?=[(（][ \t]*[\w.]+[ \t]*[(（])")
_NAME = re.compile(r"(?P<name>[^()\[\]{}（）【】［］｛｝\n\"“”=]{1,120}?)[ \t]*(?=[(（\[【［])")
_CALL_AHEAD = re.compile(r"[\[(]\s*[^\W\d][\w.]{0,80}\(")
_KEYED = re.compile(
    r"(?:tool|name|action|tool_name|function)[ \t]*[=:：][^,{}\n]{1,100},[ \t]*"
    r"(?:args|arguments|parameters|params|input|action_input|tool_input)[ \t]*[=:：]",
    re.IGNORECASE,
)
# [search](…), (search)(…) and the name alone in quotes: "search"(…), **search**(…), "search": {…}
_DRESSED_NAME = re.compile(
    r"\A(?:[\[({<](?P<bracketed>[\w.\-]{1,80})[\])}>](?=\()"
    r"|[\"'“‘]?(?P<quoted>[^\W\d][\w.\- ]{0,80}?)[\"'”’`*]{1,3}(?=[ \t]*[(（\[【:：{｛]))"
)
_CALLED = re.compile(r"(?<![\w.])(?P<name>[^\W\d][\w.]{0,80})[ \t]{0,4}[(（]")
_QUOTED_CALL = re.compile(r"[\"'“‘][^\W\d][\w.]{0,80}[(（]")
_CHOOSES = "a choice between calls is no action; write the one that is meant"
_WORDS = re.compile(r"[^\W\d][\w,'’\-]* [\w ,'’\-]{1,200}")


def read_clean(text: str, known: Known) -> list[Draft]:
    """Return the calls of a text that can be meant in one way only: canonical, or strict JSON.

    What is returned here is certain, whatever comes after it.
    """
    stripped, repairs = _undressed(text)
    if is_json(stripped):
        return [each.repaired(*repairs) for each in read_strict(stripped, known)]
    if not stripped.endswith(")") or known.syntax.grammar:
        return []
    try:
        calls = read_canonical(stripped)
    except GrammarError:
        return []
    tool = known.tools.get(calls[0].name) if known.tools is not None else None
    if len(calls) != 1 or (known.tools is not None and tool is None):
        return []
    is_empty = not calls[0].args and not calls[0].kwargs
    if is_empty and (tool is None or tool.parameters):
        return []  # an input may follow
    if is_answer(calls[0].name, known.tools, known.answer_labels):
        return []
    draft = Draft(calls[0].name, tool, text=stripped)
    if twice_given(calls[0], draft) is not None:
        return []
    done = bound(draft, calls[0].args, dict(calls[0].kwargs))
    return [] if done.problem else [done.repaired(*repairs)]


def read_written(text: str, known: Known) -> list[Draft]:
    """Return the calls that one action is; one that cannot be read has a problem.

    Raises `TooMuchError`.
    """
    stripped, repairs = _undressed(text)
    if (answer := named_answer(stripped, known)) is not None:
        return [answer]
    stripped = stripped.rstrip(TRAILER)
    if not stripped or stripped[0] in "|｜":
        return []
    if known.syntax.grammar and (own := _by_own_grammar(stripped, known)) is not None:
        return [own]
    if _KEYED.match(stripped):
        stripped = f"{{{stripped}}}"
    if is_json(stripped):
        return [each.repaired(*repairs) for each in read_json(stripped, known)]
    if _CALL_AHEAD.match(stripped) and stripped[-1] in "])":
        stripped = stripped[1:-1].strip()
    stripped, code = _without_code_around(stripped, known)
    return [each.repaired(*repairs, *code) for each in _joined(stripped, known)]


def _undressed(text: str) -> tuple[str, list[str]]:
    """Leave out a bullet or a number, a repeated label, and what makes a text bold or code."""
    bullet = _BULLET.match(text)
    assert bullet is not None
    repairs = ["bullet"] if bullet[0].strip() else []
    whole = text[bullet.end() :].strip()
    stripped = whole.strip(" \t\r\n`*")
    repairs += ["decoration"] if stripped != whole else []
    closed = stripped.rstrip(TRAILER)
    if (language := _LANGUAGE.match(stripped)) is not None and language.end():
        stripped = stripped[language.end() :].rstrip("`'\" \t\r\n")
        repairs.append("fence")
    if _QUOTED_CALL.match(stripped) and closed[-1] == CLOSING[stripped[0]]:
        stripped = decoded(closed[1:-1]) if '\\"' in closed else closed[1:-1]
        repairs.append("quotes")
    plain = _with_plain_name(stripped)
    repairs += ["decoration"] if plain != stripped else []
    label = None if _KEYED.match(plain) else _LABEL.match(plain)
    return (
        (plain, repairs) if label is None else (plain[label.end() :], [*repairs, "repeated label"])
    )


def _with_plain_name(text: str) -> str:
    """Leave out the quotes, or the brackets, around the name of a call alone."""
    dressed = _DRESSED_NAME.match(text)
    return (dressed["bracketed"] or dressed["quoted"]) + text[dressed.end() :] if dressed else text


def _without_code_around(text: str, known: Known) -> tuple[str, list[str]]:
    """Leave out an assignment, ``await``, ``print(…)``: the call in it is what is meant."""
    repairs = []
    for _ in range(3):  # answer = await search(…)
        before = _BEFORE.match(text)
        if before is None:
            break
        text = text[before.end() :].strip("`* ")
        repairs.append("assignment" if before["variable"] else "word before the call")
    printed = _PRINT.match(text)
    if printed is not None and known.tool(printed["name"]) is None:
        text = _inside(text[printed.end() :])[0].strip()
        repairs.append("print around the call")
    return text, repairs


def _inside(bracketed: str) -> tuple[str, str]:
    """Return what stands in the bracket that a text begins with, and what comes after it."""
    end = construct_end(bracketed)
    if end is None:
        return bracketed[1:], ""
    return bracketed[1 : end - 1], bracketed[end:]


def _joined(text: str, known: Known) -> list[Draft]:
    """Read one call, or several that are joined on one line by other means than the separator."""
    drafts: list[Draft] = []
    while True:
        text = _with_plain_name(text)
        named = _NAME.match(text)
        if named is None or not named["name"].strip("`* "):
            if (ahead := _known_call(text, known)) is None:
                return [*drafts, read_name(text, known)]
            text = text[ahead:]
            continue
        if is_none(named["name"]) and is_none(text):
            return drafts
        end = construct_end(text, named.end())
        if end is not None and chooses(text[end:], known):
            return [Draft("", text=text, problem=_CHOOSES)]
        joint = JOINT.match(text, end) if end is not None else None
        if joint is None or not _is_call(text, joint.end(), known):
            return [*drafts, _call(named["name"].strip(), text, named.end(), known)]
        if len(drafts) >= MAX_CALLS:
            raise TooMuchError(f"there are more than {MAX_CALLS} calls in one turn")
        one = _call(named["name"].strip(), text[:end], named.end(), known)
        drafts.append(one.repaired("other separator"))
        text = text[joint.end() :]


def chooses(rest: str, known: Known) -> bool:
    """Whether the text after a call names another one, of which one is to be chosen."""
    choice = CHOICE.match(rest)
    return choice is not None and _is_call(rest, choice.end(), known)


def _known_call(text: str, known: Known) -> int | None:
    """Return where the first call of a known tool begins in a text that begins otherwise."""
    for ahead in _CALLED.finditer(text) if known.tools is not None else ():
        if ahead.start() and known.tools is not None and known.tools.get(ahead["name"]) is not None:
            return ahead.start()
    return None


def _is_call(text: str, position: int, known: Known) -> bool:
    named = _NAME.match(_with_plain_name(text[position : position + 200]))
    if named is None or known.tools is None:
        return named is not None and " " not in named["name"].strip()
    return known.tool(named["name"].strip("`* ")) is not None


def _call(name: str, text: str, opening: int, known: Known) -> Draft:
    """Read a call whose bracket opens at ``opening``, round or square."""
    inner, rest = _inside(text[opening:])
    if is_answer(name, known.tools, known.answer_labels):
        return answer_call(inner, text)
    named = resolve(name, known.tools)
    draft = Draft(named.name, named.tool, text=text, problem=named.problem).repaired(named.repair)
    if named.problem:
        return draft
    if not inner.strip():
        is_closed = text[opening + 1 :].strip()[:1] in (")", "）", "]", "】", "］")
        return _empty(draft, is_closed=is_closed)
    rest_is = "text after the call" if rest.strip(TRAILER) else ""
    if text[opening] in "[【［":
        return _paper(inner, text, draft.repaired(rest_is), known)
    if text[opening - 1].isspace() and _WORDS.fullmatch(inner.strip()):
        return replace(draft, needs_input=True).repaired("remark after the tool name")
    draft = draft.repaired(rest_is)
    return _with_arguments(text[opening : len(text) - len(rest)], inner, draft, known)


def _empty(draft: Draft, *, is_closed: bool) -> Draft:
    """A call without arguments; where some are needed, they may come as an input."""
    if not is_closed and draft.tool is not None and draft.tool.parameters:
        return replace(draft, problem=f"the call of {draft.name} breaks off before its arguments")
    return replace(draft, needs_input=True)


def _paper(inner: str, text: str, draft: Draft, known: Known) -> Draft:
    """``search[Oslo]``; but ``one of [search, lookup]`` names no tool."""
    phrase = resolve(text, known.tools)
    if draft.tool is None and phrase.names_several:
        return replace(draft, problem=phrase.problem)
    if construct_end(text) is None and text.rstrip()[-1:].isalnum():
        return replace(draft, problem=f"the call of {draft.name} breaks off within a value")
    return replace(read_input(inner, draft), text=text).repaired("square brackets")


def _with_arguments(bracketed: str, inner: str, draft: Draft, known: Known) -> Draft:
    if inner.lstrip().startswith("**{"):
        bracketed = bracketed.replace("**", "", 1)
    try:
        mended = mend(bracketed)
        if mended.cut_in_string:
            problem = f"the call of {draft.name} breaks off within a value"
            return replace(draft, problem=problem, fault=mended.cut_off)
        # The name was resolved before, and may hold what the grammar does not allow in one.
        call = read_call(f"call{mended.text}", CallSyntax())
    except UnmendableError as error:
        return raw_arguments(inner, draft, str(error))
    except GrammarError:
        return raw_arguments(inner, draft, "")
    return bound_call(call, inner, draft.repaired(*mended.repairs), known)


def _by_own_grammar(text: str, known: Known) -> Draft | None:
    """Read a call by the user's own grammar; None where it is none, for models slip into ours."""
    try:
        call = read_call(mend(text).text, known.syntax)
    except (GrammarError, UnmendableError):
        return None
    named = resolve(call.name, known.tools)
    draft = Draft(named.name, named.tool, text=text, problem=named.problem).repaired(named.repair)
    return draft if draft.problem else bound(draft, call.args, dict(call.kwargs))
