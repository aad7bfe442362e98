"""Which JSON texts the constraint allows for the schema of a parameter."""

from __future__ import annotations

import json
import math
from enum import Enum
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matching import checked, matches
from pydantic import BaseModel, Field, TypeAdapter
from shape_samples import sample

from reactext.canonical import value_text
from reactext.dialects import write
from reactext.errors import SetupError
from reactext.json_shapes import Limits, value_shape
from reactext.signatures.schema import json_schema

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
SMALL = Limits(characters=8, items=4, depth=2)


def grammar(schema: Any, limits: Limits = SMALL) -> str:
    return checked(write(value_shape(schema, limits), "gbnf"), "gbnf")


CASES: list[tuple[str, Any, list[str], list[str]]] = [
    (
        "strings are what json.dumps writes",
        STRING,
        [
            '""',
            '"a b"',
            '"“中” é 😀"',
            r'"\"\\\n\t\b\f\r"',
            r'"\u0001\u001f"',
            '"\x7f"',
            '"12345678"',
        ],
        [
            "a",
            '"',
            '"a',
            "'a'",
            '"a\nb"',
            '"\t"',
            r'"\x"',
            r'"\/"',
            r'"\u00e9"',
            '"123456789"',
            "1",
        ],
    ),
    (
        "an escape counts as one character",
        STRING,
        [r'"\n\n\n\n\n\n\n\n"'],
        [r'"\n\n\n\n\n\n\n\n\n"'],
    ),
    (
        "lengths of strings",
        {"type": "string", "minLength": 2, "maxLength": 12},
        ['"ab"', '"123456789012"'],
        ['""', '"a"', '"1234567890123"'],
    ),
    (
        "dates",
        {"type": "string", "format": "date"},
        ['"2025-03-12"', '"1999-12-31"', '"2024-02-29"'],
        ['"tomorrow"', '"12.3.2025"', '"2025-13-01"', '"2025-03-32"', '"2025-3-1"', '""'],
    ),
    (
        "times",
        {"type": "string", "format": "time"},
        ['"09:30"', '"23:59:59"', '"07:00:00Z"', '"07:00+01:00"'],
        ['"24:00"', '"9:30"', '"noon"'],
    ),
    (
        "dates with times",
        {"type": "string", "format": "date-time"},
        ['"2025-03-12T09:30:00"', '"2025-03-12T09:30:00+08:00"'],
        ['"2025-03-12"', '"2025-03-12 09:30"'],
    ),
    ("another format is any text", {"type": "string", "format": "uri"}, ['"a"'], ["a"]),
    ("an empty string only", {"type": "string", "maxLength": 0}, ['""'], ['"a"']),
    (
        "integers",
        INTEGER,
        ["0", "7", "-12", "9223372036854775807"],
        ["", "-", "01", "1.0", "1e3", '"1"', "+1", "12345678901234567890"],
    ),
    (
        "no sign where there is nothing below 0",
        {"type": "integer", "minimum": 0},
        ["0", "5"],
        ["-5"],
    ),
    ("above 0", {"type": "integer", "exclusiveMinimum": -1}, ["0", "5"], ["-5"]),
    (
        "a short range is listed",
        {"type": "integer", "minimum": -1, "maximum": 10},
        ["-1", "0", "1", "9", "10"],
        ["-2", "11", "100", "05"],
    ),
    (
        "ends that do not belong to it",
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 4},
        ["1", "2", "3"],
        ["0", "4"],
    ),
    (
        "fractional ends",
        {"type": "integer", "minimum": 0.5, "maximum": 2.5},
        ["1", "2"],
        ["0", "3"],
    ),
    (
        "a long range bounds the digits",
        {"type": "integer", "minimum": 0, "maximum": 500},
        ["0", "500"],
        ["1000", "-1"],
    ),
    ("infinite ends are none", {"type": "integer", "minimum": -math.inf}, ["-7"], ["-"]),
    (
        "numbers",
        {"type": "number"},
        ["0", "-0.5", "3", "1.25", "1e+16", "1.5e-07", "2e5", "5e-324"],
        ["", ".5", "1.", "1e", "1e100", "00", "NaN", "Infinity", '"1"'],
    ),
    ("numbers from 0", {"type": "number", "minimum": 0}, ["0.5", "12"], ["-0.5"]),
    ("booleans", {"type": "boolean"}, ["true", "false"], ["True", "1", '"true"']),
    ("null", {"type": "null"}, ["null"], ["None", '"null"']),
    ("a constant", {"const": ["a", 1]}, ['["a", 1]'], ['["a",1]', '["a"]']),
    (
        "an enum of all kinds",
        {"enum": ["a", "ab", 1, 10, True, None, {"k": []}]},
        ['"a"', '"ab"', "1", "10", "true", "null", '{"k": []}'],
        ['"b"', '"abc"', "11", "false", "a"],
    ),
    (
        "members of an enum may hold anything",
        {"enum": ['a"b', "a\nb", "a\\b", "[a]{2}*+?|.^$", "/#;::=", "\x01", "中“”", "<|im_end|>"]},
        [r'"a\"b"', r'"a\nb"', r'"a\\b"', '"[a]{2}*+?|.^$"', '"/#;::="', r'"\u0001"', '"中“”"'],
        ['"a"', '"a\nb"', '"aa"', '"[a]"', '"/#;:="'],
    ),
    ("nullable", {"type": ["string", "null"]}, ['"a"', "null"], ["1"]),
    ("nullable, as OpenAPI says it", {"type": "integer", "nullable": True}, ["1", "null"], ['"a"']),
    ("a union", {"anyOf": [INTEGER, {"enum": ["all"]}]}, ["1", '"all"'], ['"any"', "null"]),
    (
        "a union whose parts overlap",
        {"oneOf": [INTEGER, {"type": "number"}]},
        ["1", "1.5"],
        ['"a"'],
    ),
    ("one schema and more", {"allOf": [STRING, {"maxLength": 2}]}, ['"ab"'], ['"abc"', "1"]),
    (
        "arrays",
        {"type": "array", "items": INTEGER},
        ["[]", "[1]", "[1, 2]", "[1, 2, 3, 4]"],
        ["[1,2]", "[ ]", "[1, ]", "[1", '["a"]', "[1, 2, 3, 4, 5]"],
    ),
    (
        "sizes of arrays",
        {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 3},
        ["[1, 2]", "[1, 2, 3]"],
        ["[]", "[1]", "[1, 2, 3, 4]"],
    ),
    ("an empty array only", {"type": "array", "maxItems": 0}, ["[]"], ["[1]"]),
    (
        "tuples",
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
        ['[1, "a"]'],
        ["[]", "[1]", '["a", 1]', '[1, "a", 2]'],
    ),
    (
        "tuples with an open end",
        {"prefixItems": [INTEGER, STRING], "items": {"type": "boolean"}, "minItems": 1},
        ["[1]", '[1, "a"]', '[1, "a", true, false]'],
        ["[]", "[1, true]", '[1, "a", 2]'],
    ),
    ("a closed tuple", {"prefixItems": [INTEGER], "items": False}, ["[]", "[1]"], ["[1, 2]"]),
    (
        "objects, their members in order",
        {
            "type": "object",
            "properties": {"a": INTEGER, "b": STRING, "c": {"type": "boolean"}},
            "required": ["b"],
        },
        [
            '{"a": 1, "b": "x", "c": true}',
            '{"b": "x"}',
            '{"b": "", "c": false}',
            '{"a": 1, "b": ""}',
        ],
        ["{}", '{"a": 1}', '{"b": "x", "a": 1}', '{"b":"x"}', '{"b": "x", "d": 1}', '{"b": "x", }'],
    ),
    (
        "objects without a required member",
        {"properties": {"a": INTEGER, "b": INTEGER}},
        ["{}", '{"a": 1}', '{"b": 2}', '{"a": 1, "b": 2}'],
        ['{"c": 1}', '{"a": 1, }'],
    ),
    (
        "mappings",
        {"type": "object", "additionalProperties": INTEGER},
        ["{}", '{"x": 1}', '{"x": 1, "y z": 2}', r'{"\"": 3}'],
        ['{"x": "a"}', "{x: 1}", "{1: 1}"],
    ),
    (
        "mappings with listed keys",
        {"type": "object", "additionalProperties": INTEGER, "propertyNames": {"enum": ["a", "b"]}},
        ['{"a": 1}', '{"b": 1, "a": 2}'],
        ['{"c": 1}'],
    ),
    (
        "mappings whose keys have a pattern",
        {"type": "object", "patternProperties": {"^x": INTEGER}},
        ['{"x": 1}'],
        ['{"x": "a"}'],
    ),
    (
        "sizes of mappings",
        {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": INTEGER},
        ['{"a": 1}', '{"a": 1, "b": 2}'],
        ["{}", '{"a": 1, "b": 2, "c": 3}'],
    ),
    ("no members at all", {"type": "object", "additionalProperties": False}, ["{}"], ['{"a": 1}']),
    (
        "any value, so deep",
        {},
        ["1", '"a"', "null", "[]", "[1, [2, null]]", '{"a": {"b": "c"}}', '[{"a": 1}]'],
        ["[[[1]]]", '{"a": {"b": {"c": 1}}}', "a", ""],
    ),
    ("true is any value", True, ["[1, null]"], ["x"]),
    ("an unknown type is any value", {"type": "date"}, ['"12 May"', "1"], ["2025-03-12"]),
    ("an array of anything", {"type": "array"}, ['[1, "a", [2]]'], ["[[[[1]]]]"]),
]


@pytest.mark.parametrize(
    ("schema", "allowed", "refused"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_schema(schema: Any, allowed: list[str], refused: list[str]) -> None:
    source = grammar(schema)
    assert [text for text in allowed if not matches(source, text)] == []
    assert [text for text in refused if matches(source, text)] == []


def test_an_empty_enum_is_refused() -> None:
    with pytest.raises(SetupError, match="an enum without members"):
        value_shape({"enum": []}, SMALL)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: float = 0.0
    label: str | None = None


class Drawing(BaseModel):
    points: list[Point] = Field(max_length=3)
    colour: Colour = Colour.RED
    kind: Literal["open", "closed"] = "open"
    weights: dict[str, float] = {}
    size: tuple[int, int] | None = None


TYPES: list[Any] = [
    *(str, int, float, bool, list[str], dict[str, int], tuple[int, str], Colour, Drawing, Any),
    *(list[Point], Point | None, list[list[int]], dict[str, list[bool]], set[Literal["a", 1]]),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_what_is_allowed_validates(kind: Any, seed: int) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    text = sample(value_shape(json_schema(adapter), SMALL), Random(seed))
    adapter.validate_python(json.loads(text), strict=False)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(-1e90, 1e90, allow_subnormal=False).filter(lambda each: not 0 < abs(each) < 1e-90)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4)
    ),
    max_leaves=5,
)
ANYTHING = grammar({}, Limits(characters=8, items=4, depth=5))


@given(plain)
def test_every_value_is_allowed_as_it_is_written(value: Any) -> None:
    assert matches(ANYTHING, value_text(value))
