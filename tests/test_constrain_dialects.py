"""The same texts in every dialect, and each as its servers read it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matching import checked, matches
from shape_samples import sample

from reactext.completion import GrammarDialect
from reactext.dialects import LLGUIDANCE_HEADER, write
from reactext.shapes import (
    Character,
    Repeat,
    Rule,
    Shape,
    Text,
    chain,
    choice,
    none_of,
    one_of,
    optional,
)

DIALECTS: list[GrammarDialect] = ["gbnf", "ebnf", "lark", "llguidance"]

DIGITS = Rule("digits", Repeat(one_of("0-9"), 1, 3))
LIST = chain(
    '"',
    Rule(
        "first item",
        choice([DIGITS, chain("-", optional(DIGITS)), none_of("/]\\\n\x00-\x08", "^-")]),
    ),
    Repeat(chain(", ", DIGITS), 2, 2),
    Repeat(choice(["a", "b"])),
    Repeat(Text("\\\t"), 1),
    "中",
)

GBNF = r"""
root ::= turn
turn ::= "\"" first-item (", " digits){2} ("a" | "b")* "\\\t"+ "中"
first-item ::= digits | "-" digits? | [^-/\\\]\x00-\x08\n^]
digits ::= [0-9]{1,3}
"""

LARK = r"""
start: TURN
TURN: "\"" FIRST_ITEM (", " DIGITS){2} ("a" | "b")* "\\\t"+ "中"
FIRST_ITEM: DIGITS | "-" DIGITS? | /[^-\/\\\]\x00-\x08\n^]/
DIGITS: /[0-9]/{1,3}
"""

WRITTEN = {
    "gbnf": GBNF[1:],
    "ebnf": GBNF[1:],
    "lark": LARK[1:],
    "llguidance": LLGUIDANCE_HEADER + LARK[1:],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_written(dialect: GrammarDialect) -> None:
    assert checked(write(LIST, dialect), dialect) == WRITTEN[dialect]


def test_rules_of_one_name_are_numbered_and_equal_ones_written_once() -> None:
    shape = chain(
        Rule("a b", Text("1")),
        Rule("a-b", Text("2")),
        Rule("A_B", Text("1")),
        Rule("中", Text("3")),
    )
    assert write(shape, "gbnf").splitlines() == [
        "root ::= turn",
        "turn ::= a-b a-b-2 a-b rule",
        'a-b-2 ::= "2"',
        'a-b ::= "1"',
        'rule ::= "3"',
    ]


@pytest.mark.parametrize(
    "name", ["root", "start", "turn", "1", "-", "", "天气", "ALL", "a--b", "é"]
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_any_name_can_be_the_name_of_a_rule(name: str, dialect: GrammarDialect) -> None:
    source = checked(write(chain(Rule(name, Text("x")), Rule(name, Text("y"))), dialect), dialect)
    assert matches(source, "xy") and not matches(source, "xx")


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=5)
unusual = st.text(
    "\"'\\/[](){}*+?|.^$-#:=<>&~`\n\r\t中é😀 \xa0\u200f\ufeff", min_size=1, max_size=5
)


@given(texts | unusual | st.just("::="))
@settings(max_examples=60)
def test_texts_stand_for_themselves(text: str) -> None:
    for dialect in ("gbnf", "lark"):
        source = checked(write(Text(text), dialect), dialect)
        assert matches(source, text)
        assert not matches(source, text + text)
    assert "::=" not in write(Text(text), "lark")


@given(unusual, st.booleans())
@settings(max_examples=60)
def test_classes_hold_exactly_their_characters(characters: str, excluded: bool) -> None:
    shape = Character(tuple((each, each) for each in dict.fromkeys(characters)), excluded)
    tried = set(characters) | set("abc-^]\\[/中\n")
    for dialect in ("gbnf", "lark"):
        source = checked(write(shape, dialect), dialect)
        found = {each for each in tried if matches(source, each)}
        assert found == {each for each in tried if (each in characters) != excluded}


letters = st.sampled_from("abc").map(Text)
shapes: st.SearchStrategy[Shape] = st.recursive(
    letters | st.just(one_of("a-c")),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda each: chain(*each))
        | st.lists(inner, min_size=1, max_size=3).map(choice)
        | inner.map(lambda each: Rule("r", each))
        | st.tuples(inner, st.integers(0, 2), st.integers(0, 2)).map(
            lambda each: Repeat(Rule("item", each[0]), 1 + each[1], 1 + each[1] + each[2])
        )
    ),
    max_leaves=8,
)


@given(shapes, st.integers(0, 2**32), st.text("abc", max_size=6))
@settings(max_examples=50)
def test_all_dialects_allow_the_same(shape: Shape, seed: int, other: str) -> None:
    gbnf, lark = (checked(write(shape, dialect), dialect) for dialect in ("gbnf", "lark"))
    written = sample(shape, Random(seed))
    assert matches(gbnf, written) and matches(lark, written)
    for text in (other, written + "a", written[:-1]):
        assert matches(gbnf, text) == matches(lark, text)
