"""Reads an action without brackets: a name alone, or a name with something after it.

search      search: cheap ferries      get_weather {"city": "Oslo"}      I will use search
"""

from __future__ import annotations

import re
from dataclasses import replace

from reactext.reading.binding import Draft
from reactext.reading.inputs import read_input
from reactext.reading.known import Known
from reactext.reading.names import is_answer, resolve

_PAIR = re.compile(
    r"[ \t,;.]+(?:Action[ _]?Input|Tool[ _]?Input|Input|行动输入|动作输入)[ \t]*[:：]"
)
_AFTER_NAME = re.compile(
    r"(?P<name>[^\n:：\"“{]{1,80}?)[ \t]*"
    r"(?:[:：]|->|→|with|=(?=[ \t]*[\"'“])|[,;|](?=[ \t]*[{｛])|(?=[\"'“{｛]))[ \t]*"
    r"(?P<rest>[\s\S]+)"
)
# What begins a remark after a name rather than its argument: "search to find the price".
_REMARK = re.compile(
    r"(?:to|for|tool|function|action|and|in|because|with|using|since|so|then|which|as|on|by"
    r"|this|that|i|api|is|or|of|the|will|should|can|—|–|-|来|以|工具|进行)\b|\W",
    re.IGNORECASE,
)
TAGGED = re.compile(r"<(?P<name>\w{1,80})>(?P<input>[\s\S]*)</(?P=name)>")
# search with the query "a": the words before the quotes say what it is.
_WITH = re.compile(
    r"\A(?:the |an? )?(?:query|input|argument|parameter|value|text)[ =:]{1,3}(?=[\"“'])"
)
_ONE_WORD = re.compile(r"[^\W\d][\w.\-]{0,80}")
# An object, or a text in quotes, and nothing else: an argument, whatever the name.
_WHOLE = re.compile(r"[{｛][\s\S]*[}｝]\W*|\"[^\"\n]*\"\W*|'[^'\n]*'\W*|“[^”\n]*”\W*")
_KEY = re.compile(r"\s*(\w+)\s*[=:：]")


def read_name(text: str, known: Known) -> Draft:
    """Return the draft of a name, with its argument if one follows; else the input is to come."""
    if is_answer(text, known.tools, known.answer_labels):
        return Draft("finish", text=text, is_answer=True, needs_input=True)
    for attempt in (_in_tags, _with_lines_below, _with_input_label, _with_mark, _with_blank):
        if (done := attempt(text, known)) is not None:
            return done
    named = resolve(text, known.tools)
    draft = Draft(named.name, named.tool, text=text, problem=named.problem, needs_input=True)
    return draft.repaired(named.repair)


def _in_tags(text: str, known: Known) -> Draft | None:
    """``<get_weather>{"city": "Oslo"}</get_weather>``."""
    tagged = TAGGED.fullmatch(text.strip())
    tool = known.tool(tagged["name"]) if tagged is not None else None
    if tagged is None or tool is None:
        return None
    draft = Draft(tool.name, tool, text=text).repaired("tags around the arguments")
    return replace(read_input(tagged["input"], draft), text=text)


def _with_lines_below(text: str, known: Known) -> Draft | None:
    first, _, below = text.partition("\n")
    named = resolve(first, known.tools)
    if not below.strip() or named.tool is None:
        return None
    draft = Draft(named.name, named.tool, text=text).repaired("no input label")
    return replace(read_input(below, draft), text=text)


def _with_input_label(text: str, known: Known) -> Draft | None:
    pair = _PAIR.search(text)
    named = resolve(text[: pair.start()], known.tools) if pair is not None else None
    if pair is None or named is None or named.tool is None:
        return None
    draft = Draft(named.name, named.tool, text=text).repaired("label in mid-line")
    return replace(read_input(text[pair.end() :], draft), text=text)


def _with_mark(text: str, known: Known) -> Draft | None:
    """A colon or an arrow after the name; what follows it may be a remark, unless it is quoted."""
    after = _AFTER_NAME.match(text)
    if after is None:
        return None
    name, rest = after["name"].strip(" `*"), _WITH.sub("", after["rest"])
    tool = known.tool(name)
    is_name = known.tools is None and _ONE_WORD.fullmatch(name) is not None
    if tool is None and not (is_name and _WHOLE.fullmatch(rest)):
        return None
    draft = Draft(tool.name if tool is not None else name, tool, text=text)
    if rest[0] not in '{["“｛' and _WHOLE.fullmatch(rest) is None:
        return replace(draft, needs_input=True, after_name=rest.strip())
    done = read_input(rest, draft.repaired("argument after the tool name"))
    return replace(done, text=text)


def _with_blank(text: str, known: Known) -> Draft | None:
    """``get_weather city="Oslo"``, ``search cheap ferries``."""
    first, _, rest = text.partition(" ")
    tool = known.tools.get(first.strip("`*")) if known.tools is not None else None
    if tool is None or not rest.strip() or _REMARK.match(rest.strip()):
        return None
    draft = Draft(tool.name, tool, text=text)
    key = _KEY.match(rest)
    if key is not None and any(each.name == key[1] for each in tool.parameters):
        return replace(read_input(rest, draft), text=text).repaired("argument after the tool name")
    return replace(draft, needs_input=True, after_name=rest.strip())
