"""Types as JSON schemas: with no references in them, and in the few words that a model is shown."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from reactext.canonical import value_text

Schema = dict[str, Any]

DEEPEST = 8
"""So many models inside each other are written out; a deeper one is any value of its type."""

MOST_MEMBERS = 20
"""So many listed values are shown; the rest are told when a wrong one is written."""

_FORMATS = {
    "date": 'date "YYYY-MM-DD"',
    "date-time": 'datetime "YYYY-MM-DDTHH:MM:SS"',
    "time": 'time "HH:MM:SS"',
    "duration": 'duration "PT1H30M"',
}
_WORDS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "null",
}


class _Quiet(GenerateJsonSchema):
    # a default that JSON cannot say is left out of the schema; no reason to warn of it
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012


def json_schema(adapter: TypeAdapter[Any]) -> Schema:
    """Return the schema of what validates; every reference is replaced by what it refers to.

    A model that contains itself is written out once; inside, it is any value of its type.
    """
    schema = adapter.json_schema(schema_generator=_Quiet)
    return _inlined(schema, schema.get("$defs", {}), ())


def _inlined(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> Schema:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")
        definition = definitions[name]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if name in inside or len(inside) >= DEEPEST:
            definition = {"type": definition["type"]} if "type" in definition else {}
        return _inlined({**definition, **beside}, definitions, (*inside, name))
    return {
        key: _part(key, value, definitions, inside)
        for key, value in schema.items()
        if key not in ("$defs", "title", "discriminator")
    }


def _part(key: str, value: Any, definitions: Schema, inside: tuple[str, ...]) -> Any:
    if key in ("properties", "patternProperties"):
        return {name: _inlined(each, definitions, inside) for name, each in value.items()}
    if key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return [_inlined(each, definitions, inside) for each in value]
    if key in ("items", "additionalProperties", "propertyNames", "not") and isinstance(value, dict):
        return _inlined(value, definitions, inside)
    return value


def branches(schema: Schema) -> list[Schema]:
    """Return the alternatives of a schema; one that has none is its own only alternative."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return [part for each in schema[key] for part in branches(each)]
    if len(schema.get("allOf", ())) == 1:
        return branches(schema["allOf"][0])
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": each} for each in schema["type"]]
    return [schema]


def members(schema: Schema) -> list[Any] | None:
    """Return the values that are listed one by one, or None where they are not."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return list(listed) if listed is not None else None


def type_text(schema: Schema) -> str:
    """Say a type shortly: ``str``, ``"c"|"f"``, ``list[int]``, ``{city: str, days: int = 1}``."""
    texts = dict.fromkeys(_branch_text(each) for each in branches(schema))
    return "|".join(texts)


def _branch_text(schema: Schema) -> str:
    listed = members(schema)
    if listed is not None:
        texts = [value_text(each) for each in listed[:MOST_MEMBERS]]
        return "|".join(texts if len(listed) <= MOST_MEMBERS else [*texts, "…"])
    kind = schema.get("type")
    if kind == "array":
        return _array_text(schema)
    if kind == "object":
        return _object_text(schema)
    if kind == "string":
        return _FORMATS.get(schema.get("format", ""), "str")
    return _WORDS.get(kind or "", "any")


def _array_text(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(type_text(each) for each in schema['prefixItems'])}]"
    items = schema.get("items")
    return f"list[{type_text(items)}]" if items else "list"


def _object_text(schema: Schema) -> str:
    properties = schema.get("properties")
    if properties:
        required = schema.get("required", ())
        parts = [_property_text(name, each, required) for name, each in properties.items()]
        return f"{{{', '.join(parts)}}}"
    values = schema.get("additionalProperties")
    return f"dict[str, {type_text(values)}]" if isinstance(values, dict) and values else "dict"


def _property_text(name: str, schema: Schema, required: Any) -> str:
    text = f"{name}: {type_text(schema)}"
    if name in required:
        return text
    return f"{text} = {value_text(schema['default'])}" if "default" in schema else f"{text} = …"
