"""Random texts of a shape: everything that a model under the grammar could write, in small."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from reactext.shapes import Chain, Character, Choice, Repeat, Rule, Shape, Text

USUAL = " etaoinshrdlu" * 2
UNUSUAL = "AZ09 \t.,:;|'\"`*#_-<>[](){}=\\/&?!%$@~^\n\r\x7f\x85\u2028\ufeff：，｜（）【】“”中文é😀"


def sample(shape: Shape, random: Random, fragments: Sequence[str] = ()) -> str:
    """Return a text of the shape; the fragments are woven in wherever its characters allow."""
    match shape:
        case Text(text):
            return text
        case Character():
            return _character(shape, random)
        case Chain(parts):
            return "".join(sample(each, random, fragments) for each in parts)
        case Choice(options):
            return sample(random.choice(options), random, fragments)
        case Rule(body=body):
            return sample(body, random, fragments)
        case Repeat():
            return _repeated(shape, random, fragments)


def allows(shape: Character, character: str) -> bool:
    """Whether the shape is that of this character."""
    return shape.excluded != any(first <= character <= last for first, last in shape.ranges)


def _character(shape: Character, random: Random) -> str:
    if not shape.excluded:
        first, last = random.choice(shape.ranges)
        return chr(random.randint(ord(first), ord(last)))
    pool = USUAL if random.random() < 0.7 else UNUSUAL
    return random.choice([each for each in pool if allows(shape, each)])


def _repeated(shape: Repeat, random: Random, fragments: Sequence[str]) -> str:
    most = shape.least + 12 if shape.most is None else shape.most
    usual = min(most, shape.least + random.choice((0, 1, 1, 2, 3, 6)))
    count = most if random.random() < 0.01 and most < 200 else usual
    written: list[str] = []
    while len(written) < count:
        allowed = [each for each in fragments if len(each) <= count - len(written)]
        item = _plain_character(shape.item)
        if item is not None and allowed and random.random() < 0.2:
            fragment = random.choice(allowed)
            if all(allows(item, each) for each in fragment):
                written += fragment
                continue
        written.append(sample(shape.item, random, fragments))
    return "".join(written)


def _plain_character(shape: Shape) -> Character | None:
    """Return the class of characters that this item of a text may be."""
    match shape:
        case Character():
            return shape
        case Rule(body=body):
            return _plain_character(body)
        case Choice(options):
            return next((each for each in options if isinstance(each, Character)), None)
        case _:
            return None
