"""Schemas hold no references, and a type is said in few words."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, create_model

from reactext.signatures.schema import DEEPEST, branches, json_schema, type_text


class Leaf(BaseModel):
    title: str
    default: int = 3


class Left(BaseModel):
    right: Right | None = None


class Right(BaseModel):
    lefts: list[Left]


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


def chain(length: int) -> Any:
    """Make a model inside a model inside a model …"""
    model: Any = Leaf
    for number in range(length):
        model = create_model(f"Model{number}", inner=(model, ...))
    return model


SCHEMAS = [
    Left,
    Right,
    list[Leaf],
    dict[str, Leaf | None],
    tuple[Leaf, int],
    Annotated[Cat | Dog, Field(discriminator="kind")],
    chain(3),
    chain(DEEPEST + 5),
]


@pytest.mark.parametrize("annotation", SCHEMAS, ids=range(len(SCHEMAS)))
def test_no_references_are_left(annotation: Any) -> None:
    text = json.dumps(json_schema(TypeAdapter(annotation)))
    assert "$ref" not in text and "$defs" not in text and "discriminator" not in text


def test_property_may_be_called_like_a_keyword() -> None:
    assert json_schema(TypeAdapter(Leaf)) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "default": {"type": "integer", "default": 3}},
        "required": ["title"],
    }


def test_deep_models_end_as_any_object() -> None:
    schema = json_schema(TypeAdapter(chain(DEEPEST + 5)))
    depth = 0
    while "properties" in schema:
        schema, depth = schema["properties"]["inner"], depth + 1
    assert (schema, depth) == ({"type": "object"}, DEEPEST + 1)


TEXTS = [
    ({}, "any"),
    ({"type": "string"}, "str"),
    ({"type": ["string", "null"]}, "str|null"),
    ({"type": "string", "format": "email"}, "str"),
    ({"const": 1}, "1"),
    ({"enum": ["甲", None, True]}, '"甲"|null|true'),
    ({"enum": list(range(25))}, "|".join(map(str, range(20))) + "|…"),
    ({"type": "array"}, "list"),
    ({"type": "array", "items": {}}, "list"),
    (
        {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "list[int|null]",
    ),
    ({"type": "object", "additionalProperties": True}, "dict"),
    ({"type": "object", "additionalProperties": {"type": "number"}}, "dict[str, float]"),
    ({"allOf": [{"type": "boolean"}]}, "bool"),
    (
        {"oneOf": [{"type": "integer"}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}]},
        "int|str",
    ),
    (
        {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"default": 1, "type": "integer"},
                "c": {},
            },
            "required": ["a"],
        },
        "{a: str, b: int = 1, c: any = …}",
    ),
]


@pytest.mark.parametrize(("schema", "text"), TEXTS)
def test_types_are_said_shortly(schema: dict[str, Any], text: str) -> None:
    assert type_text(schema) == text


def test_branches_are_flat() -> None:
    nested = {"anyOf": [{"type": "null"}, {"oneOf": [{"const": 1}, {"type": ["string", "null"]}]}]}
    assert branches(nested) == [
        {"type": "null"},
        {"const": 1},
        {"type": "string"},
        {"type": "null"},
    ]
