"""A toolbox becomes the grammar under which a model can write nothing but a valid turn.

    grammar = turn_grammar(toolbox, dialect="gbnf")
    check(grammar, "gbnf")

The tree behind it is built in `turn_shapes` and `json_shapes` and written by `dialects`. What is
built here is a pure function of its arguments; whoever needs it often keeps it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from reactext.completion import GrammarDialect
from reactext.dialects import LLGUIDANCE_HEADER, write
from reactext.errors import SetupError
from reactext.gbnf import check_ebnf, check_gbnf
from reactext.json_shapes import Limits
from reactext.protocol import Protocol
from reactext.tools import Toolbox
from reactext.turn_shapes import TurnLimits, turn_shape

_STANDARD = Protocol()


def turn_grammar(
    toolbox: Toolbox,
    *,
    dialect: GrammarDialect,
    protocol: Protocol = _STANDARD,
    cue: str = "Thought:",
    max_calls: int = 4,
    parallel: bool = True,
    thought_chars: int = 160,
    answer_chars: int | None = None,
    string_chars: int = 500,
    array_items: int = 32,
) -> str:
    """Write the grammar of the turns that may follow a prompt which ends in the cue.

    - ``cue``: ends in the label of a thought, an action or an answer; "" begins with the thought
    - ``max_calls``: so many calls joined by ``||``, or one if not ``parallel``
    - ``thought_chars``: the length of the thought, which is one line
    - ``answer_chars``: None lets the model end its answer, and its limit on tokens
    - ``string_chars``, ``array_items``: where a parameter's schema sets no limit of its own

    Raises SetupError for a cue that no turn can follow, and for limits below 1.
    """
    _at_least_one(
        max_calls=max_calls,
        thought_chars=thought_chars,
        answer_chars=answer_chars,
        string_chars=string_chars,
        array_items=array_items,
    )
    limits = TurnLimits(
        calls=max_calls if parallel else 1,
        thought=thought_chars,
        answer=answer_chars,
        values=Limits(characters=string_chars, items=array_items),
    )
    return write(turn_shape(toolbox, protocol, cue, limits), dialect)


def _at_least_one(**given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < 1:
            raise SetupError(f"{name}={value!r} must be at least 1")


def check(source: str, dialect: GrammarDialect) -> None:
    """Raise SetupError, saying where, if the source is no grammar of the dialect.

    Servers do not: they answer without a reason, or leave the model unconstrained. Lark is
    checked only where the package llguidance is installed.
    """
    match dialect:
        case "gbnf":
            check_gbnf(source)
        case "ebnf":
            check_ebnf(source)
        case "llguidance" if not source.startswith(LLGUIDANCE_HEADER):
            raise SetupError(
                f"the grammar must begin with {LLGUIDANCE_HEADER!r}; llama.cpp takes it for GBNF"
            )
        case "lark" | "llguidance":
            _check_lark(source)


def _check_lark(source: str) -> None:
    if find_spec("llguidance") is None:
        return
    llguidance = import_module("llguidance")
    grammar = llguidance.LLMatcher.grammar_from_lark(source)
    problem = llguidance.LLMatcher.validate_grammar(grammar, None)
    if problem:
        raise SetupError(f"llguidance does not accept the grammar: {problem}")
