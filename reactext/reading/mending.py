"""Writes the damaged text of a call or a value as the well-formed text that was meant.

    {'city': “Faro”， unit: c   becomes   {"city": "Faro", unit: c}

Strings become JSON strings, full-width punctuation ASCII, comments go, commas and closers that are
missing come. Bare words stay, for the grammar to read. What is no value is left as it is, so that
the grammar refuses it: nothing is invented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from reactext.reading.strings import CLOSING, QUOTES, decoded, ends_string, opens_within, quoted
from reactext.reading.tracking import CLOSERS, MAX_DEPTH, OPENERS, TooMuchError
from reactext.reading.values import Bare, plain

_TWINS = str.maketrans("，：＝；＋－．０１２３４５６７８９　、", ",:=;+-.0123456789 ,")
_PLAIN = re.compile(rf"[^{re.escape(QUOTES)}(\[{{（［｛【)\]}}）］｝】#/]+")
_COMMENT = re.compile(r"/\*[\s\S]*?\*/|//[^\n]*|#[^\n]*")
_RUN = re.compile(r"#+|/+(?=/)")
_TRIPLE = ('"""', "'''")
_KEY_FOLLOWS = re.compile(r"\s*(?:[^\W\d]\w{0,60}\s{0,8}[:=：＝](?!/)|[\"'“‘\[{(])")
_PREFIX = re.compile(r"(?<![\w\"])([rRbBuUfF]{1,2})\Z")


_QUOTED_KEY = re.compile(r"[\"'“][^\W\d][\w \-]{0,60}[\"'”][ \t]{0,20}[:：]")
_COLON = re.compile(r"[ \t\r\n]{0,100}[:：]")
_PATH_END = re.compile(r"[A-Za-z]:\\[^\"']*\\[\"'](?=[)\]}\s]*\Z)")
_LAST_WORD = re.compile(r"[:=,(\[{]\s*([^\s\"',:=(){}\[\]][^\"',:=(){}\[\]]*)\Z")
_STRING_OR_BLANKS = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|\s+')
_STRING_OR_EDGE = re.compile(
    r'("[^"\\]*(?:\\.[^"\\]*)*")|(?<=") ?(\+?) ?(?=")| ?,((?: ?,)+) ?| ?([,=:()\[\]{}]) ?'
)


_STRING_OR_WORD = re.compile(
    r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|(?P<word>[^\W\d]\w*)[ \w.\-]*(?P<after>[=:(]?)"
    r"|(?P<comma>,(?=[)\]}]))"
)
_JSON_WORDS = ("true", "false", "null")
_PYTHON_WORDS = ("True", "False", "None")


def _tolerated(word: str | None, after: str) -> str | None:
    """Say what is tolerated in a word that stands in no string; None if it is as it should be."""
    if word is None or word in _JSON_WORDS or after in ("=", "("):
        return None
    if after == ":":
        return "key without quotes"
    return "literal of Python" if word in _PYTHON_WORDS else "text without quotes"


MAX_VALUES = 10_000
"""So many values may stand in one call that is not plain JSON."""


def _packed(text: str, repairs: dict[str, None]) -> str:
    """Leave out the blanks between the parts; within bare words, all become one blank."""
    spaced = _STRING_OR_BLANKS.sub(lambda found: found[1] or " ", text.strip())
    values = 0

    def packed(found: re.Match[str]) -> str:
        nonlocal values
        values += found[4] == ","
        if found[3]:
            repairs["doubled comma"] = None
        return found[1] or found[2] or (found[3] and ",") or found[4]

    result = _STRING_OR_EDGE.sub(packed, spaced)
    if values > MAX_VALUES:
        raise TooMuchError(f"there are more than {MAX_VALUES} values in one call")
    return result


class UnmendableError(Exception):
    """The text cannot be meant as a value; ``str`` of it says why, to the model."""


@dataclass(frozen=True, slots=True)
class Mended:
    """The text as it was meant, and what had to be tolerated; ``cut_off`` is an open string."""

    text: str
    repairs: tuple[str, ...]
    cut_in_string: bool = False
    cut_off: str = ""


def mend(text: str) -> Mended:
    """Return the well-formed text that was meant. Raises `UnmendableError`."""
    return _Mender(text).mended()


@dataclass(slots=True)
class _Mender:
    text: str
    here: int = 0
    written: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    repairs: dict[str, None] = field(default_factory=dict)
    cut_in_string: bool = False
    cut_off: str = ""
    doubled: int = 0
    last_comment_end: int | None = None

    def mended(self) -> Mended:
        while self.here < len(self.text):
            self._step()
        if self.stack:
            self.cut_in_string = self.cut_in_string or self._is_word_cut()
            self._repaired("missing closer")
            self.written += reversed(self.stack)
        text = _packed("".join(self.written), self.repairs)
        for word in _STRING_OR_WORD.finditer(text):
            if word["comma"]:
                self._repaired("trailing comma")
            elif (named := _tolerated(word["word"], word["after"])) is not None:
                self._repaired(named)
        return Mended(text, tuple(self.repairs), self.cut_in_string, self.cut_off)

    def _is_word_cut(self) -> bool:
        """Whether the text ends in a word without quotes, which may not be whole."""
        word = _LAST_WORD.search("".join(self.written[-8:])[-200:])
        return word is not None and isinstance(plain(Bare(word[1].strip())), str)

    def _repaired(self, name: str) -> None:
        self.repairs[name] = None

    def _step(self) -> None:
        plain = _PLAIN.match(self.text, self.here)
        if plain is not None:
            self.here = plain.end()
            self._plain(plain[0])
            return
        character = self.text[self.here]
        if character in "#/":
            self._slash(character)
        elif character in OPENERS:
            self._open(character)
        elif character in CLOSERS:
            self._close(character)
        else:
            self._quote(character)

    def _plain(self, text: str) -> None:
        ascii_text = text.translate(_TWINS).replace("=>", ":").replace("\\\n", " ")
        if ascii_text != text and not text.isascii():
            self._repaired("full-width punctuation")
        self.written.append(ascii_text)

    def _before(self) -> str:
        """The last characters that were written, blanks aside."""
        tail = ""
        for piece in reversed(self.written):
            tail = (piece[-40:] + tail)[-40:]
            if tail.strip():
                break
        return tail.rstrip()

    def _slash(self, character: str) -> None:
        before = self.text[self.here - 1 : self.here]
        is_data = self.stack[-1:] in (["}"], ["]"])
        between = is_data or self._before()[-1:] in tuple(',([{"])}') or not self.written
        may_open = between and (before == "" or before.isspace() or before in ",([{")
        if may_open and (comment := self._comment()) is not None:
            if character == "#" and comment[0][1:2].strip() and self.stack[-1:] == [")"]:
                self.written.append(character)
                self.here += 1
                return
            self._repaired("comment")
            self.here = comment.end()
            return
        run = _RUN.match(self.text, self.here)
        end = self.here + 1 if run is None else run.end()
        self.written.append(self.text[self.here : end])
        self.here = end

    def _comment(self) -> re.Match[str] | None:
        if self.text.startswith("/*", self.here) and self.last_comment_end is None:
            self.last_comment_end = self.text.rfind("*/")
        if self.text.startswith("/*", self.here) and (self.last_comment_end or 0) < self.here:
            return None
        return _COMMENT.match(self.text, self.here)

    def _comma_if_missing(self, *, key: bool = True) -> None:
        if not self.stack or not self.written:
            return
        before = self._before()
        if before[-1:] == '"' and self.stack[-1] in ")}" and not key:
            return
        after_word = key and self.stack[-1] == "}" and self.text[self.here - 1].isspace()
        if before[-1:] in ('"', "]", "}") or (after_word and before[-1:].isalnum()):
            self._repaired("missing comma")
            self.written.append(", ")

    def _open(self, character: str) -> None:
        if character != "(" and OPENERS[character] != "]":
            self._comma_if_missing()
        if character not in "([{":
            self._repaired("full-width punctuation")
        if character == "{" and self.text.startswith("{{", self.here):
            self.doubled += 1
            self._repaired("doubled braces")
            self.here += 1
        closer = OPENERS[character]
        self.stack.append(closer)
        if len(self.stack) > MAX_DEPTH:
            raise TooMuchError(f"more than {MAX_DEPTH} brackets are open at once")
        self.written.append({")": "(", "]": "[", "}": "{"}[closer])
        self.here += 1

    def _close(self, character: str) -> None:
        closer = CLOSERS[character]
        if character not in ")]}":
            self._repaired("full-width punctuation")
        if closer == "}" and self.doubled and self.text.startswith("}}", self.here):
            self.doubled -= 1
            self.here += 1
        self.here += 1
        if closer not in self.stack:
            if not self.stack:
                self.written.append(closer)
            return
        while self.stack:
            top = self.stack.pop()
            self.written.append(top)
            if top == closer:
                break
            self._repaired("missing closer")

    def _quote(self, character: str) -> None:
        if character not in CLOSING or not self._is_value_due():
            self.written.append(character)
            self.here += 1
            return
        prefix = self._prefix()
        opening = self.text[self.here : self.here + 3]
        is_triple = opening in _TRIPLE
        start = self.here + (3 if is_triple else 1)
        end, after = self._triple_end(start, opening) if is_triple else self._end(start, character)
        body = self.text[start:end]
        value = body if "r" in prefix else decoded(body)
        if value == body and "\\" in body and "r" not in prefix:
            self._repaired("single backslashes")
        if "f" in prefix and "{" in value:
            raise UnmendableError(
                "an f-string with variables is an argument; write the text itself"
            )
        if character != '"' or is_triple:
            self._repaired("quotes")
        elif "\n" in body:
            self._repaired("raw line break in a string")
        self._comma_if_missing(key=_COLON.match(self.text, after) is not None)
        self.written.append(quoted(value))
        self.here = after
        rest = _KEY_FOLLOWS.match(self.text, after)
        if rest is not None and self.stack and rest[0].strip()[0] not in "\"'“‘[{(":
            self._repaired("missing comma")
            self.written.append(",")

    def _is_value_due(self) -> bool:
        """A quote opens a string unless it stands inside of a word or after one."""
        before = self._before()
        if not before or before[-1] in '([{,=:+"]})|;':
            return True
        if self.stack[-1:] == ["}"] and _QUOTED_KEY.match(self.text, self.here):
            return self.text[self.here - 1].isspace()
        return _PREFIX.search(before) is not None and not self.text[self.here - 1].isspace()

    def _prefix(self) -> str:
        last = self.written[-1] if self.written else ""
        found = _PREFIX.search(last)
        if found is None:
            return ""
        self.written[-1] = last[: found.start()]
        return found[1].lower()

    def _triple_end(self, start: int, opening: str) -> tuple[int, int]:
        end = self.text.find(opening, start)
        while end > 0 and self.text[end - 1] == "\\":
            end = self.text.find(opening, end + 1)
        if end < 0:
            return self._cut(start)
        return end, end + 3

    def _end(self, start: int, quote: str) -> tuple[int, int]:
        closing = CLOSING[quote]
        pattern = _NEXT[closing]
        here, is_within = start, False
        while (found := pattern.match(self.text, here)) is not None:
            after = found.end()
            if not is_within and ends_string(self.text, after, final=True):
                return after - 1, after
            self._repaired("unescaped quote")
            before = self.text[max(after - 5, 0) : after - 1]
            solid = self.text[here - 1 : after - 1].rstrip()[-1:]
            is_within = not is_within and opens_within(before, solid)
            here = after
        return self._cut(start)

    def _cut(self, start: int) -> tuple[int, int]:
        path = _PATH_END.match(self.text, start)
        if path is not None:
            return path.end() - 1, path.end()
        self.cut_in_string = True
        self.cut_off = self.text[start - 1 :]
        self._repaired("missing quote")
        return len(self.text), len(self.text)


_NEXT = {
    closing: re.compile(rf"[^\\{closing}]*(?:\\[\s\S][^\\{closing}]*)*{closing}")
    for closing in set(CLOSING.values())
}
