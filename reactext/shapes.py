"""What texts may look like, as a small tree of frozen values: the common source of all grammars.

A shape is built once and written in any dialect by `reactext.dialects`. There is no recursion: a
`Rule` holds its body, so that every shape is a finite tree with shared branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix


@dataclass(frozen=True, slots=True)
class Text:
    """Exactly this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Character:
    """One character of these ranges, or of none of them; a range holds both its ends."""

    ranges: tuple[tuple[str, str], ...]
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """One part after the other."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options, none of which is empty."""

    options: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The item, so many times; without ``most``, any number of times.

    The item never matches nothing: repeating what may be empty costs llama.cpp seconds a token.
    """

    item: Shape
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A shape that grammars write once, under this name or one like it, and refer to.

    Two rules are the same only if they are one object.
    """

    name: str
    body: Shape


Shape = Text | Character | Chain | Choice | Repeat | Rule

NOTHING = Chain(())
FEW = 8
"""So many options are written side by side; more are sorted by how they begin."""
DEEP = 24
"""So many branchings follow on each other at most."""
BLOCK = 1000
"""So much is counted at once: llama.cpp refuses to count to 2000."""


def chain(*parts: Shape | str) -> Shape:
    """Join parts, merging texts that meet."""
    flat: list[Shape] = []
    for part in parts:
        shape = Text(part) if isinstance(part, str) else part
        for each in shape.parts if isinstance(shape, Chain) else (shape,):
            last = flat[-1] if flat else None
            if isinstance(each, Text) and isinstance(last, Text):
                flat[-1] = Text(last.text + each.text)
            elif each != Text(""):
                flat.append(each)
    return flat[0] if len(flat) == 1 else Chain(tuple(flat))


def choice(options: Iterable[Shape | str]) -> Shape:
    """Offer the options, each once; if one of them is `NOTHING`, all may be left out."""
    shapes = dict.fromkeys(Text(each) if isinstance(each, str) else each for each in options)
    written = tuple(each for each in shapes if each != NOTHING)
    if not written:
        return NOTHING
    either = written[0] if len(written) == 1 else Choice(written)
    return either if len(written) == len(shapes) else optional(either)


def optional(shape: Shape | str) -> Shape:
    """Allow the shape to be left out."""
    return Repeat(Text(shape) if isinstance(shape, str) else shape, 0, 1)


def repeat(item: Shape, least: int = 0, most: int | None = None) -> Shape:
    """Repeat the item; counts that servers refuse are split, and above a million do not count."""
    if most is not None and most >= BLOCK * BLOCK:
        most = None
    if isinstance(item, Chain | Choice) and (most is None or most > FEW):
        item = Rule("item", item)
    if most is None or most < BLOCK:
        return NOTHING if most == 0 else Repeat(item, least, most)
    block = Rule("block", Repeat(item, BLOCK, BLOCK))
    blocks, rest = divmod(least, BLOCK)
    needed = chain(repeat(block, blocks, blocks), repeat(item, rest, rest))
    blocks, rest = divmod(most - least, BLOCK)
    largest = chain(repeat(block, blocks, blocks), repeat(item, 0, rest))
    if blocks == 0:
        return chain(needed, largest)
    smaller = chain(repeat(block, 0, blocks - 1), repeat(item, 0, BLOCK - 1))
    return chain(needed, Rule("up-to", choice([smaller, largest])))


def one_of(ranges: str) -> Character:
    """One of these characters, where ``a-z`` is a range."""
    return Character(_ranges(ranges))


def none_of(ranges: str, also: Iterable[str] = ()) -> Character:
    """Any character but these, where ``a-z`` is a range, and but those also given one by one."""
    return Character(_ranges(ranges) + tuple((each, each) for each in also), excluded=True)


def _ranges(characters: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(characters):
        is_range = characters[position + 1 : position + 2] == "-" and position + 2 < len(characters)
        last = position + 2 if is_range else position
        found.append((characters[position], characters[last]))
        position = last + 1
    return tuple(found)


def by_beginning(options: Mapping[str, Shape], *, depth: int = 0) -> Shape:
    """Choose one of the texts, each followed by its shape, which may be `NOTHING`.

    Many are sorted into branches by how they begin: llama.cpp keeps every option that may still
    be meant, and tries each of them on the whole vocabulary.
    """
    if len(options) <= FEW or depth == DEEP:
        return choice(chain(text, shape) for text, shape in options.items())
    branches: dict[str, dict[str, Shape]] = {}
    for text, shape in options.items():
        branches.setdefault(text[:1], {})[text] = shape
    return choice(_branch(each, depth + 1) for each in branches.values())


def _branch(options: dict[str, Shape], depth: int) -> Shape:
    shared = commonprefix(list(options))  # noqa: RUF071 (these are texts, not paths)
    rests = {text[len(shared) :]: shape for text, shape in options.items()}
    return chain(shared, by_beginning(rests, depth=depth))


def in_order(parts: Sequence[tuple[Shape, bool]], comma: str) -> Shape:
    """Join parts by commas, leaving out any of those that are not required (the flag).

    Its size is linear in the number of parts: all that may follow a part is one rule, which the
    parts before it share. The comma comes before the choice, so that whoever follows the text has
    two ways to go on after a part, not one for each part that may come.
    """
    following: Shape = NOTHING
    is_needed = False
    for shape, required in reversed(parts):
        here = shape
        if following != NOTHING:
            following = following if required else Rule("rest", following)
            tail = chain(comma, following)
            here = chain(shape, tail if is_needed else optional(tail))
            if not required:
                here = choice([here, following])
        is_needed = is_needed or required
        following = here
    return following if is_needed or not parts else optional(following)


def in_places(parts: Sequence[tuple[Shape, bool]], comma: str, more: Shape = NOTHING) -> Shape:
    """Join parts by commas, each in its place: what is not required may be left out at the end.

    ``more`` follows when all are there; it brings its own comma.
    """
    tail = more
    is_needed = False
    for position, (shape, required) in reversed(list(enumerate(parts))):
        is_needed = is_needed or required
        here = chain(comma if position else NOTHING, shape, tail)
        tail = here if is_needed else optional(here)
    return tail
