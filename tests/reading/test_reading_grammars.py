"""The grammar files are the specification: without conflicts, without anything dead."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest
from lark import Lark
from lark import logger as lark_logger
from lark.lexer import Lexer, Token

from reactext import _resources
from reactext.grammar import GrammarError, Order, read_canonical

FILES = {
    "canonical.lark": ["calls"],
    "calls.lark": ["call", "arguments", "value"],
    "turn.lark": ["turn"],
}


class NoLexer(Lexer):
    """The labels of `turn.lark` are not found by Lark."""

    def __init__(self, configuration: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> Iterator[Token]:
        return iter(())


def complaints(source: str, starts: list[str], caplog: pytest.LogCaptureFixture) -> str:
    """What Lark says while it builds a grammar as strictly as it can."""
    lark_logger.setLevel(logging.DEBUG)
    with caplog.at_level(logging.DEBUG, logger=lark_logger.name):
        lark_logger.addHandler(caplog.handler)
        lexer = NoLexer if "%declare" in source else "contextual"
        Lark(source, parser="lalr", start=starts, lexer=lexer, strict=True, debug=True)
        lark_logger.removeHandler(caplog.handler)
    return caplog.text


@pytest.mark.parametrize("name", FILES)
def test_a_grammar_has_no_conflict_and_nothing_dead(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert complaints(_resources.read("grammars", name), FILES[name], caplog) == ""


def test_the_listener_hears_what_is_dead(caplog: pytest.LogCaptureFixture) -> None:
    heard = complaints('start: "a"\ndead: "b"\n', ["start"], caplog)
    assert "dead" in heard


@pytest.mark.parametrize("name", FILES)
def test_a_grammar_is_read_by_people_first(name: str) -> None:
    lines = _resources.read("grammars", name).splitlines()
    assert lines[0].startswith("// ") and any(line.startswith("//     ") for line in lines[:8])
    assert all(len(line) <= 100 for line in lines)
    assert not any(line.startswith("%ignore") for line in lines)


def test_the_files_are_all_that_there_are() -> None:
    assert _resources.listing("grammars", ".lark") == sorted(FILES)


def test_the_sample_of_the_canonical_grammar_is_of_it() -> None:
    header = _resources.read("grammars", "canonical.lark")
    samples = re.findall(r"^//     (\w.*)$", header, re.MULTILINE)
    assert [len(read_canonical(sample)) for sample in samples] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "search('x')",
        'search( "x")',
        'search(query = "x")',
        "search(Oslo)",
        'search("x",)',
        'search("x"',
        'search(query: "x")',
        'search("x")||search("y")',
        'search("a\nb")',
        "search(True)",
        'search("\\d")',
        'read_file("C:\\temp\\new")',
    ],
)
def test_what_is_tolerated_is_not_canonical(text: str) -> None:
    with pytest.raises(GrammarError):
        read_canonical(text)


@pytest.mark.parametrize(
    ("labels", "taken"),
    [
        ("THOUGHT ACTION INPUT", "yyy"),
        ("THOUGHT ACTION INPUT ACTION INPUT", "yyyyy"),
        ("ACTION ACTION ANSWER", "yyn"),
        ("ACTION INPUT OBSERVATION", "yyn"),
        ("THOUGHT OBSERVATION", "yn"),
        ("OBSERVATION THOUGHT ANSWER", "yyy"),
        ("QUESTION THOUGHT THOUGHT ACTION", "yyyy"),
        ("ANSWER ACTION", "yn"),
        ("ANSWER THOUGHT", "yn"),
        ("THOUGHT INPUT", "yn"),
        ("ACTION NOTHING ANSWER", "yyy"),
        ("ACTION INPUT NOTHING THOUGHT ACTION", "yyyyy"),
    ],
)
def test_the_order_of_the_labels(labels: str, taken: str) -> None:
    order = Order()
    assert "".join("y" if order.takes(each) else "n" for each in labels.split()) == taken
