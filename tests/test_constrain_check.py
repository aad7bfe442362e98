"""What is wrong with a grammar is found here, since no server says it."""

from __future__ import annotations

import pytest

from reactext.completion import GrammarDialect
from reactext.constrain import check
from reactext.errors import SetupError

GOOD = r"""# numbers, and some texts
root ::= item (", " item){0,3} # so many
  # and an empty line

item ::=
  number | text
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]{1,}) {2}
text ::= "\"" ([^"\\\x00-\x1f\]] | "\\" ["\\nrt] |
  "\u00e9" | (
    "new
line" |
  )) + "\"" [中-]?
"""

BAD: list[tuple[str, str, str]] = [
    ("nothing", "", "line 1, column 1: no rule is named root"),
    ("no root", 'a ::= "x"\n', "line 1, column 1: no rule is named root"),
    ("a rule that is nowhere", 'root ::= "x" | a-b\n', "column 16: no rule is named 'a-b'"),
    (
        "a rule twice",
        'root ::= "x"\nroot ::= "y"\n',
        "line 2, column 1: a second rule is named 'root'",
    ),
    ("no definition", 'root = "x"\n', "column 6: ::= should stand here"),
    ("no name", '::= "x"\n', "column 1: a rule's name should stand here"),
    (
        "an underscore",
        'root ::= a_b\na_b ::= "x"\n',
        "column 11: neither a text nor a class nor a rule",
    ),
    ("an open text", 'root ::= "x\n', 'column 10: this is never closed by "'),
    ("an open class", "root ::= [a-z\n", "column 10: this is never closed by ]"),
    ("an open bracket", 'root ::= ("x" | "y"\n', "column 10: this bracket is never closed"),
    ("a closed bracket", 'root ::= "x")\n', "column 13: this closes nothing"),
    (
        "an unknown escape",
        r'root ::= "\d"',
        "column 11: this escape is not known everywhere: '\\\\d'",
    ),
    ("half an escape", r'root ::= "\x4"', "this escape is not known everywhere"),
    ("nothing to repeat", 'root ::= * "x"\n', "column 10: nothing stands here"),
    ("no least count", 'root ::= "x"{,3}\n', "column 13: a repetition is"),
    ("too large a count", 'root ::= "x"{0,2000}\n', "column 13: this comes to 2000 rules"),
    ("too large a least", 'root ::= "x"{2001,}\n', "this comes to 2001 rules"),
    ("too large a product", 'root ::= ("a" [b]{0,200}){1,20}\n', "this comes to 4020 rules"),
    ("counts on counts", 'root ::= "x"{50}{50}\n', "this comes to 2500 rules"),
    (
        "a second line",
        'root ::= "x"\n  | "y"\n',
        "line 2, column 3: a rule's name should stand here",
    ),
]


@pytest.mark.parametrize("dialect", ["gbnf", "ebnf"])
def test_a_good_grammar_passes(dialect: GrammarDialect) -> None:
    check(GOOD, dialect)


@pytest.mark.parametrize(("source", "problem"), [each[1:] for each in BAD], ids=[e[0] for e in BAD])
def test_a_bad_grammar_is_refused_with_its_place(source: str, problem: str) -> None:
    with pytest.raises(SetupError) as caught:
        check(source, "gbnf")
    assert problem in str(caught.value)


def test_xgrammar_knows_more_names_and_counts() -> None:
    check('root ::= a_b.c{0,5000}\na_b.c ::= "x"\n', "ebnf")


def test_a_large_part_of_a_rule_counts_as_one_where_it_has_a_name() -> None:
    check('root ::= a{1,20}\na ::= "a" [b]{0,200}\n', "gbnf")


@pytest.mark.parametrize("dialect", ["lark", "llguidance"])
def test_lark_is_read_by_llguidance(dialect: GrammarDialect) -> None:
    header = "%llguidance {}\n" if dialect == "llguidance" else ""
    check(header + 'start: "x" A\nA: /[a-z]+/\n', dialect)
    with pytest.raises(SetupError, match="llguidance does not accept the grammar"):
        check(header + 'start: "x" B\n', dialect)


def test_a_grammar_without_the_header_is_no_llguidance() -> None:
    with pytest.raises(SetupError, match="must begin with '%llguidance"):
        check('start: "x"\n', "llguidance")
