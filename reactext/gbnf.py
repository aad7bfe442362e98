"""Finds what llama.cpp does not accept in a GBNF grammar, or takes for something else.

Its server says no more than that it failed; and a rule that is defined twice, or a bound above
2000 in its older versions, it takes without a word to mean something else.
"""

from __future__ import annotations

import re
from typing import NoReturn

from reactext.errors import SetupError

COUNT_LIMIT = 2000
"""llama.cpp writes repetitions out, and refuses those that come to so many rules."""

_BLANKS = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_XGRAMMAR_NAME = re.compile(r"[A-Za-z_.][\w.-]*", re.ASCII)
_CHARACTER = re.compile(
    r'\\(?:[nrt\\"\[\]-]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|[^\\]', re.DOTALL
)
_DEFINED_AS = re.compile("::=")
_TIMES = re.compile(r"([*+?])|\{[ \t]*(\d+)[ \t]*(?:(,)[ \t]*(\d*)[ \t]*)?\}")


def check_gbnf(source: str) -> None:
    """Raise SetupError, with line and column, if llama.cpp would not take the source as meant."""
    _Reader(source, _NAME, COUNT_LIMIT).grammar()


def check_ebnf(source: str) -> None:
    """Raise SetupError, with line and column, if xgrammar would not take the source as meant."""
    _Reader(source, _XGRAMMAR_NAME, None).grammar()


class _Reader:
    """Goes through a grammar from left to right, counting rules as llama.cpp does."""

    def __init__(self, source: str, name: re.Pattern[str], limit: int | None) -> None:
        self._source = source
        self._name = name
        self._limit = limit
        self._position = 0
        self._places: dict[str, int] = {}  # where each name stands first
        self._defined: set[str] = set()
        self._made = 0  # rules that llama.cpp makes up for groups and repetitions

    def grammar(self) -> None:
        self._skip(_BLANK_LINES)
        while self._here:
            self._rule()
        if "root" not in self._defined:
            self._fail("no rule is named root, where a text begins", 0)
        for name, place in self._places.items():
            if name not in self._defined:
                self._fail(f"no rule is named {name!r}", place)

    def _rule(self) -> None:
        start = self._position
        name = self._take(self._name, f"a rule's name should stand here, not {self._here!r}")
        if name in self._defined:
            self._fail(f"a second rule is named {name!r}; one of them would not count", start)
        self._places.setdefault(name, start)
        self._defined.add(name)
        self._skip(_BLANKS)
        self._take(_DEFINED_AS, "::= should stand here")
        self._skip(_BLANK_LINES)
        self._alternatives(_BLANKS)
        if self._here not in ("", "\r", "\n"):
            self._fail(f"this closes nothing: {self._here!r}")
        self._skip(_BLANK_LINES)

    def _alternatives(self, blanks: re.Pattern[str]) -> None:
        self._sequence(blanks)
        while self._here == "|":
            self._position += 1
            self._skip(_BLANK_LINES)
            self._sequence(blanks)

    def _sequence(self, blanks: re.Pattern[str]) -> None:
        rules = 0  # of the item before, 0 where there is none
        while self._here not in ("", "|", ")", "\r", "\n"):
            if self._here in "*+?{":
                rules = self._repeated(rules)
            elif self._here in '"[':
                self._quoted({'"': '"', "[": "]"}[self._here])
                rules = 1
            elif self._here == "(":
                rules = self._group()
            else:
                self._reference()
                rules = 1
            self._skip(blanks)

    def _quoted(self, end: str) -> None:
        """Go over a text or a class of characters."""
        start = self._position
        self._position += 1
        while self._here != end:
            if self._here == "":
                self._fail(f"this is never closed by {end}", start)
            self._take(_CHARACTER, f"this escape is not known everywhere: {self._next_two!r}")
        self._position += 1

    def _group(self) -> int:
        start, before = self._position, self._made + len(self._places)
        self._made += 1
        self._position += 1
        self._skip(_BLANK_LINES)
        self._alternatives(_BLANK_LINES)
        if self._here != ")":
            self._fail("this bracket is never closed", start)
        self._position += 1
        return self._made + len(self._places) - before

    def _reference(self) -> None:
        start = self._position
        name = self._take(self._name, f"neither a text nor a class nor a rule: {self._here!r}")
        self._places.setdefault(name, start)

    def _repeated(self, rules: int) -> int:
        start = self._position
        if not rules:
            self._fail("nothing stands here that could be repeated")
        found = _TIMES.match(self._source, start)
        if found is None:
            self._fail("a repetition is * + ? {2} {2,} or {2,5}")
        self._position = found.end()
        sign, least, comma, most = found.groups()
        low = int(least or 0)
        high = int(most) if most else low if least and not comma else None
        total = rules * (1 if sign else max(1, high or low))
        if self._limit is not None and total >= self._limit:
            self._fail(
                f"this comes to {total} rules, and llama.cpp takes fewer than {self._limit}", start
            )
        self._made += 1 if high is None else high - low
        return total

    @property
    def _here(self) -> str:
        return self._source[self._position : self._position + 1]

    @property
    def _next_two(self) -> str:
        return self._source[self._position : self._position + 2]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._source, self._position)
        self._position = found.end() if found else self._position

    def _take(self, pattern: re.Pattern[str], problem: str) -> str:
        found = pattern.match(self._source, self._position)
        if found is None:
            self._fail(problem)
        self._position = found.end()
        return found[0]

    def _fail(self, problem: str, position: int | None = None) -> NoReturn:
        position = self._position if position is None else position
        line = self._source.count("\n", 0, position) + 1
        column = position - self._source.rfind("\n", 0, position)
        raise SetupError(f"grammar, line {line}, column {column}: {problem}")
