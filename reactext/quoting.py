"""Makes text of users and tools inert: it cannot end the model's turn or pass for one of its lines.

A tool's output stands inside the prompt, and a server turns the text of a special token there
into the token itself. So such text is broken by a space, and a line of a tool's output that
begins like a label is marked as quoted. What is shown to people stays as it was.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reactext.protocol import Protocol

# The chat formats' own marks: <|im_end|>, <|turn>, <turn|>, <｜User｜>; then those that are plain
# words in angle or square brackets. Every look-ahead is bounded, so the time is linear.
_SPECIAL = re.compile(
    r"[<](?=[|｜][^\s<>]{1,64}>|[^\s<>|｜]{1,64}[|｜]>"
    r"|/?(?:s|bos|eos|pad|unk|mask|(?:start|end)_of_(?:turn|image|role|text)|think(?:ing)?"
    r"|tool_calls?|tool_response|tools|unused\d{1,4}|0x[0-9A-F]{2}|reponame|filename"
    r"|[a-z]{1,16}(?:_[a-z]{1,16}){1,4})>|<SYS>>|</SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|TOOL_CONTENT|ARGS|THINK)\])",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def plain(text: str) -> str:
    """Normalise line ends to LF, join surrogate pairs, and replace what no server takes as text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("\ufffd", whole_characters(text))


def whole_characters(text: str) -> str:
    """Join surrogate pairs and replace halves, so that the text can be encoded."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def inert(text: str) -> str:
    """Normalise a text and break the special tokens that it spells."""
    return _SPECIAL.sub(lambda found: found[0] + " ", plain(text))


def quoted(text: str, protocol: Protocol) -> str:
    """Make a tool's output inert, and mark the lines that begin like one of the labels."""
    return _label_lines(protocol).sub(r"> \g<0>", inert(text))


@lru_cache(maxsize=32)
def _label_lines(protocol: Protocol) -> re.Pattern[str]:
    words = {word for names in protocol.labels for word in names[1]}
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    either = "|".join(map(re.escape, longest_first))
    return re.compile(
        rf"^[ \t]{{0,8}}[*_#>`\- ]{{0,4}}(?:{either})[ \d*_`]{{0,6}}[:：]", re.IGNORECASE | re.M
    )
