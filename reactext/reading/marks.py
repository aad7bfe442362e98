"""Finds the marks of chat templates, of reasoning and of native calls inside a text.

<think> </think>   <|im_end|> </s>   <|im_start|>assistant   <tool_call> [TOOL_CALLS]
<|channel|>final<|message|>   <action> </action>
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from reactext.reading.beginnings import MORE, Undecided

MarkKind = Literal[
    "think", "think_end", "end", "role", "start", "native", "channel", "tag", "tag_end"
]


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a text. ``name`` is what it says: the role, the native form, the tag."""

    kind: MarkKind
    name: str
    start: int
    end: int
    text: str = ""


FIRST = "<[◁"
"""The characters that a mark begins with."""

_REACH = 160
_HARMONY = re.compile(
    r"(?:<\|start\|>[^<\n]{0,60})?<\|channel\|>(?P<channel>[^<\n]{0,70})"
    r"(?:<\|channel\|>[^<\n]{0,70})?(?:<\|constrain\|>[^<\n]{0,16})?<\|message\|>"
)
_HARMONY_BEGUN = re.compile(
    r"(?:<\|(?:start|channel|constrain|message)\|>[^<\n]{0,70}){1,3}(?:<[|a-z]{0,11})?\Z"
)
_OPENS_ROLE = r"(?:<\|im_start\|>|<start_of_turn>|<\|start\|>|<\|turn>|<\|start_header_id\|>)[ ]?"
# A role is named after its token: <|im_start|>user, <start_of_turn>model.
_NAMED_ROLE = re.compile(
    rf"{_OPENS_ROLE}(?P<role>[a-z]{{0,12}})"
    r"(?P<ended>[ \t]{0,4}(?:\r?\n|<\|end_header_id\|>|(?=[^a-z\s])))"
)
_NAMED_ROLE_BEGUN = re.compile(
    rf"{_OPENS_ROLE}[a-z]{{0,12}}"
    r"[ \t]{0,4}(?:\r|<[|a-z_]{0,15})?\Z"
)
_ANGLE = re.compile(r"<(?P<name>[\w/|｜][\w▁|｜/.:=\"' \-]{0,60})>")
_ANGLE_BEGUN = re.compile(r"<(?:[\w/|｜][\w▁|｜/.:=\"' \-]{0,60})?\Z")
_SQUARE = re.compile(r"\[(?P<name>/?[A-Z][A-Z_]{1,24})\]")
_SQUARE_BEGUN = re.compile(r"\[/?(?:[A-Z][A-Z_]{0,24})?\Z")
_KIMI = re.compile(r"◁(?P<name>/?think)▷")
_KIMI_BEGUN = re.compile(r"◁/?[a-z]{0,5}\Z")

_THINK = {
    "think", "thinking", "reasoning", "reason", "reflection", "scratchpad", "analysis",
    "seed:think", "begin_of_thought", "inner_monologue", "thoughts", "start_thinking",
}  # fmt: skip
_THINK_END = {f"/{each}" for each in _THINK} | {"end_of_thought", "end_thinking"}
_END = {
    "/s", "im_end", "eot_id", "eom_id", "end_of_turn", "end", "endoftext", "end_of_text", "eos",
    "end_of_sentence", "end_response", "return", "eot", "call", "end_of_turn_token", "turn", "pad",
}  # fmt: skip
_ROLE = {
    "user",
    "human",
    "system",
    "tool",
    "observation",
    "ipython",
    "inst",
    "tool_response",
    "tool_results",
}
_START = {
    "assistant", "model", "s", "bos", "begin_of_text", "begin_of_sentence", "startoftext", "/inst",
    "im_start", "start_response", "start_of_turn", "start_header_id", "start",
}  # fmt: skip
NATIVE_ENDS = {
    "start_action": ("end_action",),
    "tool_call": ("/tool_call", "/tool_calls"),
    "tool_calls": ("/tool_calls",),
    "function_call": ("/function_call", "/function_calls"),
    "function_calls": ("/function_calls",),
    "tool_use": ("/tool_use",),
    "tool_calls_section_begin": ("tool_calls_section_end",),
    "tool_call_begin": ("tool_call_end",),
    "tool_call_start": ("tool_call_end",),
    "tool_calls_begin": ("tool_calls_end",),
    "start_function_call": ("end_function_call",),
    "python_tag": (),
    "function=": ("/function",),
    "invoke": ("/invoke",),
}
"""The native forms by the name of the mark that opens them, with those that close them."""

_NATIVE_CLOSERS = {each for closers in NATIVE_ENDS.values() for each in closers}


def find_mark(text: str, position: int, *, final: bool) -> Mark | Undecided | None:
    """Return the mark that begins exactly at ``position``, or None.

    MORE is returned when only the text that comes next can tell; never if ``final``.
    """
    end = position + _REACH
    if text[position] == "[":
        found, begun = _SQUARE.match(text, position, end), _SQUARE_BEGUN
    elif text[position] == "◁":
        found, begun = _KIMI.match(text, position, end), _KIMI_BEGUN
    else:
        return _angle_mark(text, position, end, final=final)
    if found is not None:
        return _named(found["name"], found)
    return MORE if not final and begun.match(text, position) else None


def _angle_mark(text: str, position: int, end: int, *, final: bool) -> Mark | Undecided | None:
    if text[position + 1 : position + 2] not in ("|", "s", ""):
        return _plain_angle_mark(text, position, end, final=final)
    if harmony := _HARMONY.match(text, position, end):
        return Mark("channel", harmony["channel"].strip(), position, harmony.end(), harmony[0])
    begun = len(text) < end and not final
    if begun and _HARMONY_BEGUN.match(text, position):
        return MORE
    if begun and _NAMED_ROLE_BEGUN.match(text, position):
        return MORE
    if role := _NAMED_ROLE.match(text, position, end):
        kind: MarkKind = "start" if role["role"] in ("assistant", "model", "") else "role"
        return Mark(kind, role["role"], position, role.end(), role[0])
    return _plain_angle_mark(text, position, end, final=final)


def _plain_angle_mark(
    text: str, position: int, end: int, *, final: bool
) -> Mark | Undecided | None:
    if found := _ANGLE.match(text, position, end):
        return _named(found["name"], found)
    begun = len(text) < end and not final
    return MORE if begun and _ANGLE_BEGUN.match(text, position) else None


def _named(written: str, found: re.Match[str]) -> Mark | None:
    name = written.strip("|｜ ").replace("▁", "_").lower()
    name = name.replace("｜dsml｜", "").replace("dsml｜", "")
    first = name.split()[0] if name.split() else name
    kind: MarkKind
    is_closing = written.endswith(("|", "｜")) and not written.startswith(("|", "｜", "/"))
    if name == "channel":  # Gemma: <|channel>thought … <channel|>
        kind = "think_end" if is_closing else "think"
    elif is_closing and name != "turn":  # Gemma: <|tool_call>…<tool_call|>
        kind = "tag_end"
    elif name in _THINK or name in _THINK_END:
        kind = "think_end" if name in _THINK_END else "think"
    elif name in _END:
        kind = "end"
    elif name in _ROLE and (found[0][0] == "[" or "|" in written or "｜" in written):
        kind = "role"
    elif name in _START and (
        written in ("s", "bos", "/INST", "start_of_turn") or "|" in written or "｜" in written
    ):
        kind = "start"
    elif first in NATIVE_ENDS or first.startswith("function="):
        kind, name = "native", "function=" if first.startswith("function=") else first
    elif name in _NATIVE_CLOSERS:
        kind = "tag_end"
    elif name.startswith("/"):
        kind, name = "tag_end", name[1:]
    elif found[0][0] == "<":
        kind = "tag"
    else:
        return None
    return Mark(kind, name, found.start(), found.end(), found[0])
