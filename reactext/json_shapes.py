"""A JSON schema becomes the shape of the JSON texts that meet it, as `json.dumps` writes them.

Everything is bounded. Read are types, enums, constants, unions, items, properties, dates and times,
and the limits on lengths, sizes and signs; what a schema says beyond that (patterns, steps, which
months have 31 days) is left to the validation of the arguments. A schema that says nothing allows
any value of bounded depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor, isfinite
from typing import Any

from reactext.canonical import value_text
from reactext.errors import SetupError
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


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a value may hold where its schema does not say it.

    ``depth`` is how far values of unknown type may be nested.
    """

    characters: int = 500
    items: int = 32
    depth: int = 3


KEY_CHARACTERS = 64
INTEGER_DIGITS = 19
FRACTION_DIGITS = 20
ENUMERATED_INTEGERS = 32

_ESCAPE = chain("\\", choice([one_of('"\\bfnrt'), chain("u00", one_of("01"), one_of("0-9a-f"))]))
_CHARACTER = Rule("character", choice([none_of('"\\\x00-\x1f'), _ESCAPE]))
_COMMA = ", "
_DIGIT = one_of("0-9")
_NULL = Text("null")
_BOOLEAN = Rule("boolean", choice(["true", "false"]))

_MINUTES = chain(one_of("0-5"), _DIGIT)
_HOURS = choice([chain(one_of("01"), _DIGIT), chain("2", one_of("0-3"))])
_ZONE = choice(["Z", chain(one_of("+-"), _HOURS, ":", _MINUTES)])
_DATE = chain(
    *(one_of("12"), repeat(_DIGIT, 3, 3), "-"),
    *(choice([chain("0", one_of("1-9")), chain("1", one_of("0-2"))]), "-"),
    choice([chain("0", one_of("1-9")), chain(one_of("12"), _DIGIT), chain("3", one_of("01"))]),
)
_TIME = chain(_HOURS, ":", _MINUTES, optional(chain(":", _MINUTES)), optional(_ZONE))
_FORMATS = {
    "date": Rule("date", chain('"', _DATE, '"')),
    "time": Rule("time", chain('"', _TIME, '"')),
    "date-time": Rule("date-time", chain('"', _DATE, "T", _TIME, '"')),
}

Schema = dict[str, Any]


def value_shape(schema: Schema | bool, limits: Limits) -> Shape:
    """Return the shape of the JSON texts of this schema, which holds no ``$ref``."""
    if isinstance(schema, bool):
        return _any_value(limits)
    if "const" in schema:
        return Text(value_text(schema["const"]))
    if "enum" in schema:
        return _enumeration(schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return choice(value_shape(each, limits) for each in schema[union])
    if "allOf" in schema:
        merged = {key: value for part in schema["allOf"] for key, value in part.items()}
        return value_shape(merged, limits)
    return _of_types(schema, limits)


def _of_types(schema: Schema, limits: Limits) -> Shape:
    named = schema.get("type", _implied_type(schema))
    if named is None:
        return _any_value(limits)
    types = list(named) if isinstance(named, list | tuple) else [named]
    if schema.get("nullable"):
        types.append("null")
    return choice(_of_type(each, schema, limits) for each in types)


def _implied_type(schema: Schema) -> str | None:
    if schema.keys() & {"properties", "additionalProperties", "patternProperties"}:
        return "object"
    if schema.keys() & {"items", "prefixItems"}:
        return "array"
    return None


def _of_type(name: str, schema: Schema, limits: Limits) -> Shape:
    match name:
        case "string" if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        case "string":
            return _string(*_bounds(schema, "minLength", "maxLength", limits.characters))
        case "integer":
            return _integer(schema)
        case "number":
            return _number(schema)
        case "boolean":
            return _BOOLEAN
        case "null":
            return _NULL
        case "array":
            return _array(schema, limits)
        case "object":
            return _object(schema, limits)
        case _:
            return _any_value(limits)


def _bounds(schema: Schema, least: str, most: str, usual: int) -> tuple[int, int]:
    low = schema.get(least) or 0
    high = schema.get(most)
    return low, max(low, usual if high is None else high)


def _enumeration(members: Iterable[Any]) -> Shape:
    texts = [value_text(each) for each in members]
    if not texts:
        raise SetupError("an enum without members allows no value; give it members or leave it out")
    return Rule("choice", by_beginning(dict.fromkeys(texts, NOTHING)))


@lru_cache(maxsize=128)
def _string(least: int, most: int, name: str = "string") -> Shape:
    if most == 0:
        return Text('""')
    return Rule(name, chain('"', repeat(_CHARACTER, least, most), '"'))


def _integer(schema: Schema) -> Shape:
    low = _limit(schema, "minimum", ceil, "exclusiveMinimum", lambda each: floor(each) + 1)
    high = _limit(schema, "maximum", floor, "exclusiveMaximum", lambda each: ceil(each) - 1)
    if low is not None and high is not None and 0 <= high - low < ENUMERATED_INTEGERS:
        return _enumeration(range(low, high + 1))
    return _whole_number(low, high)


def _number(schema: Schema) -> Shape:
    low = _limit(schema, "minimum", floor, "exclusiveMinimum", floor)
    high = _limit(schema, "maximum", ceil, "exclusiveMaximum", ceil)
    return _decimal_number(low, high)


@lru_cache(maxsize=128)
def _whole_number(low: int | None, high: int | None) -> Shape:
    return Rule("integer", _digits(low, high))


@lru_cache(maxsize=128)
def _decimal_number(low: int | None, high: int | None) -> Shape:
    fraction = optional(chain(".", repeat(_DIGIT, 1, FRACTION_DIGITS)))
    tiny = chain("-", repeat(_DIGIT, 1, 3))
    large = chain(optional("+"), repeat(_DIGIT, 1, 2))  # one digit more could mean infinity
    exponent = optional(chain("e", choice([tiny, large])))
    return Rule("number", chain(_digits(low, high), fraction, exponent))


def _limit(
    schema: Schema,
    inclusive: str,
    including: Callable[[float], int],
    exclusive: str,
    excluding: Callable[[float], int],
) -> int | None:
    for key, round_it in ((inclusive, including), (exclusive, excluding)):
        value = schema.get(key)
        if isinstance(value, int | float) and isfinite(value):
            return round_it(value)
    return None


def _digits(low: int | None, high: int | None) -> Shape:
    """Whole numbers of the right sign and of no more digits than the limits have."""
    known = [high] if low is not None and low >= 0 else [low, high]
    digits = max(len(str(abs(each))) if each is not None else INTEGER_DIGITS for each in known)
    digits = min(digits, INTEGER_DIGITS)
    more = [repeat(_DIGIT, 0, digits - 1)] if digits > 1 else []
    sign = [] if low is not None and low >= 0 else [optional("-")]
    return chain(*sign, choice(["0", chain(one_of("1-9"), *more)]))


def _array(schema: Schema, limits: Limits) -> Shape:
    first = [value_shape(each, limits) for each in schema.get("prefixItems", ())]
    least, most = _bounds(schema, "minItems", "maxItems", max(limits.items, len(first)))
    rest = schema.get("items", not first)
    if rest is False:
        return _list("[", first[:most], None, least, most, "]")
    item = value_shape(rest, limits)
    return _list("[", first[:most] or [item], item, least, most, "]")


def _object(schema: Schema, limits: Limits) -> Shape:
    if properties := schema.get("properties"):
        required = schema.get("required", ())
        members = [
            (chain(f"{value_text(name)}: ", value_shape(each, limits)), name in required)
            for name, each in properties.items()
        ]
        return Rule("object", chain("{", in_order(members, _COMMA), "}"))
    patterns = list(schema.get("patternProperties", {}).values())
    values = patterns[0] if patterns else schema.get("additionalProperties", True)
    if values is False:
        return Text("{}")
    names = schema.get("propertyNames", {}).get("enum")
    key = _enumeration(names) if names else _string(0, KEY_CHARACTERS, "key")
    member = Rule("member", chain(key, ": ", value_shape(values, limits)))
    least, most = _bounds(schema, "minProperties", "maxProperties", limits.items)
    return _list("{", [member], member, least, most, "}")


def _list(
    opening: str, first: Sequence[Shape], rest: Shape | None, least: int, most: int, closing: str
) -> Shape:
    """The first items in their order, then any number of the rest; least to most in all."""
    if most == 0 or not first:
        return Text(opening + closing)
    more: Shape = NOTHING
    if rest is not None:
        wanted = max(0, least - len(first))
        more = repeat(chain(_COMMA, rest), wanted, max(wanted, most - len(first)))
    parts = [(each, position < least) for position, each in enumerate(first)]
    items = in_places(parts, _COMMA, more)
    name = "array" if opening == "[" else "object"
    return Rule(name, chain(opening, items, closing))


def _any_value(limits: Limits) -> Shape:
    scalars = [_string(0, limits.characters), _number({}), _BOOLEAN, _NULL]
    if limits.depth == 0:
        return Rule("scalar", choice(scalars))
    inner = replace(limits, depth=limits.depth - 1)
    return Rule("any", choice([*scalars, _array({}, inner), _object({}, inner)]))
