"""Makes text of users and tools inert: it cannot end the model's turn or pass for one of its lines.

A task and a tool's output stand inside the prompt, and a server turns the text of a special token
there into the token itself. So such text is broken by a space, and a line of it that the reader
would take for a label is marked as quoted. What is shown to people stays as it was.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reactext.protocol import Protocol
from reactext.reading.bodies import Skip
from reactext.reading.labels import Label, LabelFinder
from reactext.reading.places import counts

# The chat formats' own marks: <|im_end|>, <|turn>, <turn|>, <｜User｜>; then those that are plain
# words in angle or square brackets. Every look-ahead is bounded, so the time is linear.
_SPECIAL = re.compile(
    r"[<](?=[|｜][^\s<>]{1,64}>|[^\s<>|｜]{1,64}[|｜]>"
    r"|/?(?:s|bos|eos|pad|unk|mask|(?:start|end)_of_(?:turn|image|role|text)|think(?:ing)?"
    r"|tool_calls?|tool_response|tools|unused\d{1,4}|0x[0-9A-F]{2}|reponame|filename"
    r"|repo_name|file_sep|pr|empty_output|gh_stars|image_soft_token|jupyter_(?:start|text|code"
    r"|output|script)|issue_(?:start|comment|closed)|commit_(?:before|msg|after)"
    r"|fim_(?:prefix|middle|suffix|pad))>|<SYS>>|</SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|TOOL_CONTENT|ARGS|THINK)\])"
    # in another case, these are markup or words
    r"|(?-i:[<](?=(?:(?:BOS|EOS|EOP|MASK|PAD|UNK)_TOKEN|CLS|SEP|[se]op|AI|用户|2mass"
    r"|extra_id_\d{1,4}|reserved_\d{1,4}|SPECIAL_\d{1,4}|(?:img|audio|video)_soft_token)>)"
    r"|\[(?=(?:IMG(?:_BREAK|_END)?|(?:BEGIN_)?AUDIO|PREFIX|MIDDLE|SUFFIX|CALL_ID|MODEL_SETTINGS"
    r"|[gs]?MASK|CLS|SEP|PAD|UNK|@BOS@|UNUSED_TOKEN_\d{1,4}|unused\d{1,4})\])"
    r"|>(?=>(?:TITLE|ABSTRACT|INTRODUCTION|SUMMARY|COMMENT|ANSWER|QUESTION|DOMAIN|PREFIX|SUFFIX"
    r"|MIDDLE)<<))",
    re.IGNORECASE,
)
_TAG = re.compile(r"[ \t]{0,8}</?(?P<name>[\w \-]{1,40})>")
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
    """Make a text inert, and mark the lines that the reader would take for labels."""
    finder = _finder(protocol)
    return "\n".join(
        f"> {line}" if _is_labelled(line, finder) else line for line in inert(text).split("\n")
    )


def _is_labelled(line: str, finder: LabelFinder) -> bool:
    """Whether a line begins with a label that counts, in whatever dress; or with one as a tag."""
    tag = _TAG.match(line)
    if tag is not None and finder.tag(tag["name"], 0, 0) is not None:
        return True
    label = finder.find(line, 0, final=True)
    if not isinstance(label, Label):
        return False
    is_question = label.kind == "question" and label.has_colon
    return is_question or counts(label, Skip(), is_first=False)


@lru_cache(maxsize=32)
def _finder(protocol: Protocol) -> LabelFinder:
    return LabelFinder(protocol)
