"""Writes a shape as a grammar that a server takes: GBNF, EBNF, or Lark as llguidance reads it.

All stay in the subset that the servers read alike. GBNF is that of llama.cpp, and EBNF the same:
xgrammar differs in nothing that is written here. In Lark every rule but the first is a terminal:
llguidance reads terminals greedily and never steps back, and a text that is one terminal as a
whole is cut nowhere. llguidance takes terminals apart lazily, so this is its fastest form, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from reactext.completion import GrammarDialect
from reactext.shapes import Chain, Character, Choice, Repeat, Rule, Shape, Text

LLGUIDANCE_HEADER = "%llguidance {}\n"
_ENTRIES = ("root", "start")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a dialect writes its first rule, definitions, texts, classes and the names of rules."""

    entry: str
    definition: str
    text: Callable[[str], str]
    character: Callable[[str], str]
    name: Callable[[str], str]
    header: str = ""


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(each, each) for each in text).replace('"', '\\"') + '"'


def _lark_quoted(text: str) -> str:
    # vLLM takes a source that holds this sign for EBNF, wherever it stands
    return _quoted(text).replace("::=", "::\\u003d")


def _lark_expression(inside: str) -> str:
    return "/[" + inside.replace("/", "\\/") + "]/"


def _lark_terminal(name: str) -> str:
    return name.upper().replace("-", "_")


_GBNF = _Dialect("root", "{} ::= {}\n", _quoted, "[{}]".format, str)
_LARK = _Dialect("start", "{}: {}\n", _lark_quoted, _lark_expression, _lark_terminal)
_DIALECTS: dict[GrammarDialect, _Dialect] = {
    "gbnf": _GBNF,
    "ebnf": _GBNF,
    "lark": _LARK,
    "llguidance": replace(_LARK, header=LLGUIDANCE_HEADER),
}


def write(shape: Shape, dialect: GrammarDialect) -> str:
    """Write the shape as the source of a grammar, from the first rule downward."""
    writer = _Writer(_DIALECTS[dialect])
    return writer.source(Rule("turn", shape))


class _Writer:
    """Names every rule, and writes it once, also where two rules come out the same."""

    def __init__(self, dialect: _Dialect) -> None:
        self._dialect = dialect
        self._names: dict[int, str] = {}
        self._by_body: dict[str, str] = {}
        self._bodies: dict[str, str] = {}

    def source(self, rule: Rule) -> str:
        entry = (self._dialect.entry, self._reference(rule))
        rules = reversed([*self._bodies.items(), entry])
        return self._dialect.header + "".join(
            self._dialect.definition.format(*each) for each in rules
        )

    def _reference(self, rule: Rule) -> str:
        if id(rule) not in self._names:
            body = self._write(rule.body)
            if body not in self._by_body:
                self._by_body[body] = name = self._unused_name(rule.name)
                self._bodies[name] = body
            self._names[id(rule)] = self._by_body[body]
        return self._names[id(rule)]

    def _unused_name(self, wanted: str) -> str:
        stem = re.sub("[^a-z0-9]+", "-", wanted.lower()).strip("-")
        stem = stem if "a" <= stem[:1] <= "z" else f"rule-{stem}".strip("-")
        name, number = self._dialect.name(stem), 1
        while name in self._bodies or name in _ENTRIES:
            number += 1
            name = self._dialect.name(f"{stem}-{number}")
        return name

    def _write(self, shape: Shape) -> str:
        match shape:
            case Text(text):
                return self._dialect.text(text)
            case Character():
                return self._character(shape)
            case Chain(parts):  # from the last to the first: the rules are listed in reverse
                return " ".join([self._part(each) for each in reversed(parts)][::-1])
            case Choice(options):
                return " | ".join([self._write(each) for each in reversed(options)][::-1])
            case Repeat(item, least, most):
                return self._part(item, is_repeated=True) + _times(least, most)
            case Rule():
                return self._reference(shape)

    def _character(self, shape: Character) -> str:
        (first, last), *others = shape.ranges
        if first == last and not others and not shape.excluded:
            return self._dialect.text(first)
        return self._dialect.character(_class(shape))

    def _part(self, shape: Shape, *, is_repeated: bool = False) -> str:
        needs_brackets = isinstance(shape, Choice) or (
            is_repeated and isinstance(shape, Chain | Repeat)
        )
        return f"({self._write(shape)})" if needs_brackets else self._write(shape)


def _times(least: int, most: int | None) -> str:
    if (least, most) == (1, 1):
        return ""
    short = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((least, most))
    exact = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    return short or exact


def _class(shape: Character) -> str:
    """Write the inside of a class, what could be taken for something else at the right end.

    A dash comes first and a caret last; before it control characters, as xgrammar takes all hex
    digits after their sign for theirs.
    """
    ordered = sorted(
        shape.ranges, key=lambda each: (each[0] != "-", each[0] == "^", each[0] < " ", each)
    )
    ranges = [
        _in_class(first) if first == last else f"{_in_class(first)}-{_in_class(last)}"
        for first, last in ordered
    ]
    return ("^" if shape.excluded else "") + "".join(ranges)


def _in_class(character: str) -> str:
    if character in "][":
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
