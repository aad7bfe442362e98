"""Reads calls and values by the Lark grammars; the only module that knows Lark.

The grammars are the specification: `canonical.lark` is what is asked for, `calls.lark` what is read
besides, `turn.lark` the order of the labels.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedInput
from lark.lexer import Lexer

from reactext import _resources
from reactext.canonical import call_text
from reactext.errors import SetupError
from reactext.protocol import CallSyntax, grammar_source
from reactext.reading.mending import mend
from reactext.reading.values import Bare, Expression, Pairs, plain, strict_json

__all__ = [
    "Call",
    "GrammarError",
    "Order",
    "check_calls",
    "read_arguments",
    "read_call",
    "read_canonical",
    "read_value",
    "rewritten",
]


class GrammarError(Exception):
    """A text is not of the grammar; ``position`` is where."""

    def __init__(self, position: int) -> None:
        super().__init__(f"unreadable at {position}")
        self.position = position


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was written: nothing is resolved or bound."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()
    leading: int = field(default=0, compare=False)
    doubled: str = ""


def read_canonical(text: str) -> list[Call]:
    """Read canonical calls, joined by the separator. Raises `GrammarError`."""
    tree = _parsed(_grammar("canonical.lark", ("calls",)), text, "calls")
    try:
        return [_canonical_call(each) for each in tree.children if isinstance(each, Tree)]
    except ValueError as error:
        raise GrammarError(0) from error


def rewritten(call: str, syntax: CallSyntax) -> str:
    """Return a canonical call in this syntax; what is no canonical call stays as it is."""
    if syntax == CallSyntax():
        return call
    try:
        read = read_canonical(call)
    except GrammarError:
        return call
    written = (call_text(each.name, each.args, dict(each.kwargs), syntax=syntax) for each in read)
    return syntax.separator.join(written)


def read_call(text: str, syntax: CallSyntax) -> Call:
    """Read one call of mended text. Raises `GrammarError`."""
    return _call(_parsed(_calls_grammar(syntax), text, "call"))


def read_arguments(text: str) -> Pairs:
    """Read the arguments of a call, without its brackets. Raises `GrammarError`."""
    return _arguments(_parsed(_calls_grammar(CallSyntax()), text, "arguments"))


def read_value(text: str) -> Any:
    """Read one value of mended text. Raises `GrammarError`."""
    return _value(_parsed(_calls_grammar(CallSyntax()), text, "value"))


@lru_cache(maxsize=16)
def check_calls(syntax: CallSyntax) -> None:
    """Make sure that calls are read as they are written. Raises SetupError."""
    if not syntax.grammar:
        return
    call = Call("tool", (), (("first", "text"), ("second", "more")))
    written = call_text(call.name, call.args, dict(call.kwargs), syntax=syntax)
    try:
        read = read_call(mend(written).text, syntax)
    except GrammarError as error:
        raise SetupError(
            f"the grammar of calls does not read {written!r}, which calls.call and calls.argument "
            f"write, at column {error.position + 1}"
        ) from error
    if read != call:
        raise SetupError(f"the grammar of calls reads {written!r} as {read}")


class Order:
    """The order of the labels in one turn, by `turn.lark`; fed with one label after the other."""

    def __init__(self) -> None:
        self._parser = _order_grammar().parse_interactive("")

    def takes(self, name: str) -> bool:
        """Whether a label of this name has a place now; if so, it is taken."""
        try:
            self._parser.feed_token(Token(name, ""))
        except UnexpectedInput:
            return False
        return True


class _NoLexer(Lexer):
    """The labels are found by the scanner, not by Lark."""

    def __init__(self, configuration: Any) -> None:
        pass

    def lex(self, _state: Any, _parser_state: Any) -> Iterator[Token]:
        return iter(())


@lru_cache(maxsize=1)
def _order_grammar() -> Lark:
    return Lark(
        _resources.read("grammars", "turn.lark"), parser="lalr", start="turn", lexer=_NoLexer
    )


@lru_cache(maxsize=4)
def _grammar(name: str, starts: tuple[str, ...]) -> Lark:
    return Lark(
        _resources.read("grammars", name),
        parser="lalr",
        start=list(starts),
        import_paths=[_ours],
        source_path=None,
    )


def _ours(_importer: str | None, path: str) -> tuple[str, str]:
    """Find ``%import reactext.calls``. By an OSError, Lark knows that an import is not ours."""
    folder, _, name = path.replace(os.sep, "/").partition("/")
    if folder != "reactext":
        raise FileNotFoundError(path)
    return path, _resources.read("grammars", name)


@lru_cache(maxsize=16)
def _calls_grammar(syntax: CallSyntax) -> Lark:
    if not syntax.grammar:
        return _grammar("calls.lark", ("call", "arguments", "value"))
    source, place = grammar_source(syntax)
    folder = [os.path.dirname(place)] if place.endswith(".lark") else []
    try:
        return Lark(source, parser="lalr", start="call", import_paths=[_ours, *folder])
    except (LarkError, OSError) as error:
        raise SetupError(f"the grammar {place} cannot be used: {error}") from error


def _parsed(grammar: Lark, text: str, start: str) -> Tree[Token]:
    try:
        return grammar.parse(text, start=start)
    except UnexpectedInput as error:
        raise GrammarError(error.pos_in_stream or 0) from error


def _name(node: Tree[Token]) -> str:
    """The rule of a node; an imported one carries the grammar it came from."""
    return str(node.data).rpartition("__")[2]


def _canonical_call(tree: Tree[Token]) -> Call:
    name, *arguments = tree.children
    pairs = Pairs()
    for each in arguments:
        assert isinstance(each, Tree)
        if each.data == "named":
            key = str(each.children[0])
            pairs.doubled = pairs.doubled or (key if key in pairs.kwargs else "")
            pairs.kwargs[key] = _canonical_value(each.children[1])
        else:
            pairs.args.append(_canonical_value(each))
            pairs.leading += not pairs.kwargs
    return _as_call(str(name), pairs)


def _canonical_value(tree: Any) -> Any:
    if tree.data in ("string", "scalar"):
        return strict_json(str(tree.children[0]))
    if tree.data == "list":
        return [_canonical_value(each) for each in tree.children if each is not None]
    pairs = (each.children for each in tree.children if each is not None)
    return {_canonical_value(key): _canonical_value(value) for key, value in pairs}


def _call(tree: Tree[Token]) -> Call:
    """Return the call of a tree, of our grammar or of one that imports its rules."""
    name, pairs = "", Pairs()
    for each in tree.children:
        if isinstance(each, Tree) and _name(each) == "callee":
            name = str(each.children[0])
        elif isinstance(each, Tree) and _name(each) == "arguments":
            pairs = _arguments(each)
        elif isinstance(each, Tree):
            _add(pairs, each)
    return _as_call(name, pairs)


def _as_call(name: str, pairs: Pairs) -> Call:
    named = tuple(pairs.kwargs.items())
    return Call(name, tuple(pairs.args), named, pairs.leading, pairs.doubled)


def _arguments(tree: Tree[Token] | None) -> Pairs:
    pairs = Pairs()
    for each in tree.children if tree is not None else ():
        if isinstance(each, Tree):
            _add(pairs, each)
    return pairs


def _add(pairs: Pairs, node: Tree[Token]) -> None:
    if _name(node) == "named":
        key, value = node.children
        assert isinstance(key, Tree)
        name = _text(key.children[0])
        pairs.doubled = pairs.doubled or (name if name in pairs.kwargs else "")
        pairs.kwargs[name] = _value(value)
    else:
        pairs.args.append(_value(node))
        pairs.leading += not pairs.kwargs


def _text(token: Any) -> str:
    text = str(token)
    return json.loads(text) if text.startswith('"') else text


def _value(node: Any) -> Any:
    """Return the value of a node."""
    name = _name(node)
    if name == "string":
        return "".join(map(_text, node.children))
    if name == "bare":
        return _bare(str(node.children[0]))
    if name == "nested" and node.children[0] == "dict":
        return _object(_arguments(node.children[1]))
    if name == "nested":
        return Expression(
            "call",
            f"{node.children[0]}(…)",
            is_empty=_builds_empty(node),
            has_arguments=node.children[1] is not None,
        )
    if name == "subscript":
        return Expression("variable", f"{node.children[0]}[…]")
    pairs = _arguments(node.children[0])
    if name == "list":
        return _list(pairs)
    if name == "group":
        return _group(pairs)
    return _object(pairs)


def _bare(text: str) -> Any:
    if text in ("NaN", "Infinity", "-Infinity") or plain(Bare(text)) in (math.inf, -math.inf):
        return Expression("number that is none", text)
    return Bare(text)


def _builds_empty(node: Tree[Token]) -> bool:
    """Whether this is an empty object as Python prints one: ``AttributedDict()``."""
    return node.children[1] is None and str(node.children[0])[:1].isupper()


def _list(pairs: Pairs) -> Any:
    if pairs.kwargs:
        raise GrammarError(0)
    return pairs.args


def _group(pairs: Pairs) -> Any:
    """A tuple is a list, but one value in brackets is that value."""
    if pairs.kwargs:
        return _object(pairs)
    return pairs.args[0] if len(pairs.args) == 1 else pairs.args


def _object(pairs: Pairs) -> Any:
    if pairs.args and pairs.kwargs:
        raise GrammarError(0)
    return pairs.args if pairs.args else pairs.kwargs
