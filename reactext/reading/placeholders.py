"""Echoes of what a prompt puts in place of a name, or of an answer: neither is one."""

from __future__ import annotations

import re

_NAME = re.compile(
    r"[<\[{(＜【].*(?:\s|of|one|tool|工具|名称).*[>\])}＞】]\Z"
    r"|the action to take\b.*|tool[ _]name\Z|action[ _]name\Z"
    r"|(?:name of )?(?:a|the|your)[ _]tool\b.*|your[ _]action\Z"
    r"|\$?[A-Z_]*TOOL_?NAME[A-Z_]*\Z|\$\{?[A-Z_]{3,40}\}?\Z|工具名称?\Z|\.\.\.\Z|…\Z",
    re.IGNORECASE | re.DOTALL,
)
_OPENING = "[<{(（【＜"
_CLOSING = "]>})）】＞"
_ABOUT_ANSWER = re.compile(
    rf"[{re.escape(_OPENING)}](?:[^\n]{{0,100}}\b)?(?:your|the|final)\b[^\n]{{0,20}}\banswer\b"
    rf"[^\n]{{0,200}}[{re.escape(_CLOSING)}]\Z"
    rf"|[{re.escape(_OPENING)}][^\n]{{0,100}}(?:最终答案|你的回答|你的答案)[^\n]{{0,100}}"
    rf"[{re.escape(_CLOSING)}]\Z",
    re.IGNORECASE,
)
_PHRASES = (
    "the final answer to the original input question",
    "the final answer to the original question",
    "your final answer here",
    "your final answer",
    "your answer here",
    "your answer",
    "...",
    "…",
)
_LONGEST = 330


def is_name_placeholder(text: str) -> bool:
    """Whether a text stands for the name of a tool in a prompt."""
    return _NAME.match(text.strip().strip("`*")) is not None


def is_answer_placeholder(text: str) -> bool:
    """Whether a text stands for the answer in a prompt, whatever follows it there."""
    stripped, _, more = text.strip().partition("\n")
    stripped = stripped.rstrip()
    if more and not stripped.strip(".…"):
        return False
    if stripped.rstrip(".").lower() in _PHRASES or stripped in _PHRASES:
        return True
    return may_be_answer_placeholder(stripped) and _ABOUT_ANSWER.match(stripped) is not None


def may_be_answer_placeholder(text: str) -> bool:
    """Whether what an answer begins with may still turn out to be one."""
    stripped = text.lstrip()
    if len(stripped) > _LONGEST or "\n" in stripped.rstrip():
        return False
    if stripped and stripped[0] in _OPENING:
        closing = stripped.rstrip().find(_CLOSING[_OPENING.index(stripped[0])])
        return closing < 0 or closing == len(stripped.rstrip()) - 1
    lowered = stripped.rstrip().rstrip(".").lower()
    return any(each.startswith(lowered) for each in _PHRASES)
