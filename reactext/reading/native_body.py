"""Reads the native tool calls of models that fall back into the format they were trained on.

<tool_call>{"name": …, "arguments": {…}}</tool_call>       [TOOL_CALLS][{…}]
<function=get_weather><parameter=city>Oslo</parameter></function>
functions.get_weather:0<|tool_call_argument_begin|>{…}     get_weather<｜tool▁sep｜>{…}
"""

from __future__ import annotations

import re
from dataclasses import replace

from reactext.grammar import GrammarError
from reactext.reading.binding import Draft, bound
from reactext.reading.findings import Findings
from reactext.reading.inputs import read_input
from reactext.reading.json_calls import read_json_calls
from reactext.reading.known import Known
from reactext.reading.loading import loaded
from reactext.reading.mending import UnmendableError
from reactext.reading.names import resolve, resolve_exactly
from reactext.reading.scanner import Fence
from reactext.reading.tracking import Tracker
from reactext.reading.values import Bare
from reactext.reading.written_calls import read_written

_TOKEN = re.compile(
    r"<[|｜](?:tool[_▁]calls?[_▁](?:section[_▁])?(?:begin|end)|tool[_▁]sep|tool[_▁]call[_▁]argument[_▁]begin)[|｜]>"
)
_SEP = re.compile(r"<[|｜](?:tool[_▁]sep|tool[_▁]call[_▁]argument[_▁]begin)[|｜]>|\[ARGS\]")
_BEGIN = re.compile(r"<[|｜]tool[_▁]call[_▁]begin[|｜]>")
_FUNCTION = re.compile(
    r"<function=(?P<name>[^>\n]{1,80})>|<invoke name=\"(?P<invoked>[^\"\n]{1,80})\">"
)
_PARAMETER = re.compile(
    r"<parameter(?:=| name=\")(?P<key>[^>\n\"]{1,80})(?:\"[^>\n]{0,80})?>\n?"
    r"(?P<value>[^<]*(?:<(?!/parameter>)[^<]*)*)(?:</parameter>)?"
)
_ARG = re.compile(
    r"<arg_key>(?P<key>[^<]{1,80})</arg_key>\s*<arg_value>(?P<value>[^<]*(?:<(?!/arg_value>)[^<]*)*)(?:</arg_value>)?"
)
_TAGGED = re.compile(
    r"<(?:name|tool_name)>(?P<name>[^<]{1,80})</(?:name|tool_name)>\s*"
    r"<(?P<tag>arguments|parameters|input|args|params)>(?P<input>[\s\S]*)</(?P=tag)>"
)
_LIST = re.compile(r"\[\s*(?:\{|\])")
_NAMED_JSON = re.compile(r"\s*(?P<name>[\w.:\-]{1,80})\s*(?:```(?:json)?\s*)?(?=\{)")


class NativeBody:
    """The text between the marks of one native call, or of several."""

    def __init__(
        self, known: Known, findings: Findings, start: int, name: str = "", opened: str = ""
    ) -> None:
        self._known = known
        self._findings = findings
        self._start = start
        self._name = name
        self._opened = opened
        self._text: list[str] = []
        self._tracker = Tracker()
        self.over_at: int | None = None
        self._is_read = False
        self.is_call = False
        self.prose = ""

    @property
    def is_inside(self) -> bool:
        return self._tracker.depth > 0

    @property
    def is_in_string(self) -> bool:
        """Whether a string is open."""
        return self._tracker.in_string

    def take(self, text: str, _start: int) -> None:
        self._text.append(text)
        self._tracker.feed(text)

    def fence(self, _fence: Fence) -> bool:
        return False

    def was_cut(self) -> None:
        """End here because the text was cut: what is not complete is not run."""
        self._findings.fault("the tool call was cut at the length limit", self._start)

    def finish(self) -> None:
        if self._is_read:
            return
        self._is_read = True
        text = "".join(self._text)
        if self._name:
            drafts = [with_input(self._name, text, self._known)]
        else:
            is_opener = self._opened.startswith(("<function=", "<invoke"))
            drafts = read_native(self._opened + text if is_opener else text, self._known)
        self.is_call = bool(drafts)
        if not drafts:
            self.prose = (self._opened + text).rstrip()
            return
        self._findings.repaired("native call")
        if self._tracker.depth and drafts[-1].problem and not self._findings.is_open:
            drafts.pop()
            self.over_at = self._start
            self._findings.repaired("last call cut off")
        for each in drafts:
            self._findings.add(replace(each, text=text), self._start)


def with_input(name: str, text: str, known: Known) -> Draft:
    """Return the call of a tool with the text of its arguments."""
    resolved = resolve(re.sub(r":\d+$", "", name.strip()), known.tools)
    draft = Draft(resolved.name, resolved.tool, text=text, problem=resolved.problem)
    return draft if draft.problem else read_input(text, draft)


def read_native(text: str, known: Known) -> list[Draft]:
    """Return the calls between two marks, in whatever form they are; none where there is none."""
    text = text.replace("<escape>", '"').replace('<|"|>', '"').replace("｜DSML｜", "")
    if _FUNCTION.search(text):
        return _functions(text, known)
    if "<arg_key>" in text:
        name = text.partition("<arg_key>")[0].strip()
        return [_named(name, [(each["key"], each["value"]) for each in _ARG.finditer(text)], known)]
    if _SEP.search(text):
        return [_separated(each, known) for each in _BEGIN.split(text) if _SEP.search(each)]
    stripped = _TOKEN.sub("", text).strip()
    if (named := _NAMED_JSON.match(stripped)) is not None:
        return [with_input(named["name"], stripped[named.end() :].rstrip("` \n"), known)]
    if (tagged := _TAGGED.fullmatch(stripped)) is not None:
        return [with_input(tagged["name"], tagged["input"], known)]
    if stripped[:1] == "{" or _LIST.match(stripped):
        return _json(stripped, known)
    if "(" not in stripped and (
        known.tools is None or resolve_exactly(stripped, known.tools) is None
    ):
        return []
    drafts = []
    for part in stripped.split("\n") if "\n" in stripped and "(" not in stripped else [stripped]:
        drafts += read_written(part, known)
    return drafts


def _json(text: str, known: Known) -> list[Draft]:
    drafts: list[Draft] = []
    tracker, start, length = Tracker(), 0, 0
    for part in tracker.feed(text, final=True):
        length += len(part.text)
        if part.kind == "closed":
            drafts += _loaded(text[start:length], known)
            start = length
    if not drafts and tracker.depth:
        drafts = _loaded(text, known)
    return drafts


def _loaded(text: str, known: Known) -> list[Draft]:
    try:
        value, _ = loaded(text.strip().lstrip(",; \n"))
    except (GrammarError, UnmendableError) as error:
        return [
            Draft("", text=text, problem=f"the JSON of the native call cannot be read: {error}")
        ]
    return read_json_calls(value, known.tools, text, labelled=True)


def _functions(text: str, known: Known) -> list[Draft]:
    heads = list(_FUNCTION.finditer(text))
    ends = [each.start() for each in heads[1:]] + [len(text)]
    drafts = []
    for head, end in zip(heads, ends, strict=True):
        body = text[head.end() : end]
        name = head["name"] or head["invoked"]
        pairs = [(each["key"], each["value"]) for each in _PARAMETER.finditer(body)]
        plain_body = re.sub(r"</?(?:function|invoke|tool_call)>", "", body)
        drafts.append(_named(name, pairs, known) if pairs else with_input(name, plain_body, known))
    return drafts


def _named(name: str, pairs: list[tuple[str, str]], known: Known) -> Draft:
    resolved = resolve(name, known.tools)
    draft = Draft(resolved.name, resolved.tool, problem=resolved.problem)
    if draft.problem:
        return draft
    return bound(draft, (), {key.strip(): _value(value) for key, value in pairs})


def _value(text: str) -> object:
    stripped = text.strip("\n")
    if stripped.strip()[:1] in ("{", "["):
        try:
            return loaded(stripped.strip())[0]
        except (GrammarError, UnmendableError):
            return stripped
    return Bare(stripped)


def _separated(text: str, known: Known) -> Draft:
    found = _SEP.search(text)
    assert found is not None
    before = _TOKEN.sub("\n", text[: found.start()]).strip()
    after = _TOKEN.sub("", text[found.end() :]).strip()
    if before.rpartition("\n")[2] == "function":  # DeepSeek: function<sep>name, then a fence
        before, _, after = after.partition("\n")
    return with_input(before.rpartition("\n")[2] if "\n" in before else before, after, known)
