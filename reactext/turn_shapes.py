"""The shape of a canonical turn: a thought on one line, then calls of these tools, or an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from reactext.errors import SetupError
from reactext.json_shapes import Limits, value_shape
from reactext.protocol import CallSyntax, Protocol
from reactext.shapes import (
    NOTHING,
    Rule,
    Shape,
    Text,
    by_beginning,
    chain,
    choice,
    in_order,
    in_places,
    none_of,
    one_of,
    optional,
    repeat,
)
from reactext.tools import Tool, Toolbox

_CONTROLS = "\x00-\x08\x0a-\x1f"
_CHARACTER = none_of(_CONTROLS)
_BLANKS = "\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_MARKS = "<[◁"
"""What the marks of chat templates, of reasoning and of native calls begin with."""

_DRESS = "#*>`~_+|=-"
"""What labels, quotations and fences are dressed with, and sentences do not begin with."""

_NO_MARK = [chain("<", one_of(" =")), chain("[", none_of(_CONTROLS + "A-Z/", _MARKS))]
_LABEL_CHARACTERS = 24
"""A label is no longer, with its colon."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How many calls and characters; an answer without limit ends where the model ends it."""

    calls: int = 4
    thought: int = 160
    answer: int | None = None
    values: Limits = field(default_factory=Limits)


def turn_shape(toolbox: Toolbox, protocol: Protocol, cue: str, limits: TurnLimits) -> Shape:
    """Return the shape of what may follow the cue; raises SetupError for a cue without a label."""
    gap = Text(" ") if protocol.colon.isascii() else optional(" ")
    answer = chain(gap, _answer(protocol, limits.answer))
    calls = chain(gap, _calls(toolbox, protocol.calls, limits)) if len(toolbox) else None
    steps = [] if calls is None else [chain(protocol.label("action"), calls)]
    step = Rule("step", choice([*steps, chain(protocol.label("answer"), answer)]))
    thought = chain(gap, _thought(protocol, limits.thought), "\n", step)
    entries = {"thought": thought, "action": calls, "answer": answer}
    if not cue:
        return chain(protocol.label("thought"), thought)
    ends = [name for name in entries if cue.endswith(protocol.label(name))]
    entry = entries[max(ends, key=lambda name: len(protocol.label(name)))] if ends else None
    if entry is None:
        allowed = [protocol.label(name) for name, shape in entries.items() if shape is not None]
        raise SetupError(
            f"no turn can follow a prompt that ends in {cue[-40:]!r}; let it end in one of "
            + ", ".join(map(repr, allowed))
        )
    return entry


def _thought(protocol: Protocol, characters: int) -> Shape:
    """One line that neither begins like a label or a fence nor holds a mark, in any language.

    A label needs a colon, so that there is none among the first characters.
    """
    colons = sorted({":", "：", *protocol.colon})
    first = none_of(_BLANKS, [*_MARKS, *_DRESS, *colons])
    early = Rule("early", choice([none_of(_CONTROLS, [*_MARKS, *colons]), *_NO_MARK]))
    if characters <= _LABEL_CHARACTERS:
        return Rule("thought", chain(first, repeat(early, 0, characters - 1)))
    later = Rule("later", choice([none_of(_CONTROLS, _MARKS), *_NO_MARK]))
    count = _LABEL_CHARACTERS - 1
    short = repeat(early, 0, count)
    long = chain(repeat(early, count, count), repeat(later, 1, characters - count - 1))
    return Rule("thought", chain(first, choice([short, long])))


def _calls(toolbox: Toolbox, syntax: CallSyntax, limits: TurnLimits) -> Shape:
    beginnings: dict[str, list[Shape]] = {}
    for tool in toolbox:
        before, after = _around(syntax.call, "arguments", tool=tool.name)
        arguments = _arguments(tool, syntax, limits.values)
        rest = chain(arguments, after)
        rest = rest if arguments == NOTHING else Rule(tool.name, rest)
        beginnings.setdefault(before, []).append(rest)
    call = Rule("call", by_beginning({text: choice(each) for text, each in beginnings.items()}))
    more = repeat(chain(syntax.separator, call), 0, limits.calls - 1)
    # without the line break small models go on to the limit, for want of their usual way to end
    return Rule("calls", chain(call, more, optional("\n")))


def _arguments(tool: Tool, syntax: CallSyntax, limits: Limits) -> Shape:
    parts = []
    for each in tool.parameters:
        before, after = _around(syntax.argument, "value", name=each.name)
        parts.append((chain(before, value_shape(each.schema, limits), after), each.required))
    join = in_order if "{name}" in syntax.argument else in_places
    return join(parts, syntax.comma)


def _around(template: str, hole: str, **known: str) -> tuple[str, str]:
    """Fill in what is known of a template, and return what stands before and after the hole."""
    mark = "\0"
    before, _, after = template.format(**{hole: mark}, **known).partition(mark)
    return before, after


@lru_cache(maxsize=16)
def _answer(protocol: Protocol, characters: int | None) -> Shape:
    """Text to the end; a line that begins with a label is the end.

    A base model ends an answer with the next question. Were the label forbidden, that would only
    drive the model into some other text; so it may be written, and nothing after it.
    """
    labels = {protocol.label(name) for name in type(protocol.labels).model_fields}
    short = _beginnings(labels)
    short_line = _one_of_lines("short-line", short)
    # the beginning of this label, as the last thing, is taken for what a stop has left of it
    cut = [each for each in short if protocol.label("observation").startswith(each)]
    letters = {each for each in short if len(each) == 1} - {
        each for each in cut if not each.isascii()
    }
    letter = _one_of_lines("letter", sorted(letters))
    short_end = _one_of_lines("short-end", sorted(set(short) - set(cut) | letters))
    newline = Rule("newline", chain("\n", optional("\n")))
    to_next_line = chain(newline, repeat(chain(short_line, newline)))
    line = Rule("line", chain(to_next_line, Rule("line-start", _unlike(labels, _CONTROLS))))
    last = Rule("last-line", chain(to_next_line, optional(choice([short_end, *sorted(labels)]))))
    first = choice([Rule("start", _unlike(labels, _BLANKS)), chain(letter, line)])
    most = None if characters is None else characters - 1
    text = chain(first, repeat(choice([_CHARACTER, line]), 0, most))
    return Rule("answer", chain(choice([text, letter]), optional(last)))


def _one_of_lines(name: str, lines: list[str]) -> Shape:
    return Rule(name, by_beginning(dict.fromkeys(lines, NOTHING)))


def _beginnings(labels: set[str]) -> list[str]:
    """All that labels begin with, short of a whole one: lines that only look like labels."""
    found = {label[:length] for label in labels for length in range(1, len(label))}
    return sorted(each for each in found if not each.startswith(tuple(labels)))


def _unlike(labels: Iterable[str], without: str) -> Shape:
    """What begins like none of the labels, up to the first character that tells it."""
    branches: dict[str, list[str]] = {}
    for label in sorted(labels):
        branches.setdefault(label[0], []).append(label[1:])
    longer = [
        chain(first, _unlike(rests, _CONTROLS))
        for first, rests in branches.items()
        if "" not in rests
    ]
    return choice([none_of(without, branches), *longer])
