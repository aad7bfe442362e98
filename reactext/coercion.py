"""Brings a value that a model wrote to the form that a JSON schema asks for, if nothing is lost.

"3" becomes 3 where a whole number is asked for, and 3 becomes "3" where a text is; a value becomes
the list of it, a text that is JSON what it says, "celsius" the listed "Celsius". 3.7 stays 3.7:
that a whole number was meant is for the model to say.
"""

from __future__ import annotations

import ast
import json
import math
import re
from typing import Any

from reactext.canonical import value_text
from reactext.signatures.schema import Schema, branches, members

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list, tuple),
    "object": (dict,),
}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value is of the type that the schema asks for, all the way down."""
    return any(_fits_branch(value, each) for each in branches(schema))


def _fits_branch(value: Any, schema: Schema) -> bool:
    listed = members(schema)
    if listed is not None:
        return any(type(each) is type(value) and bool(each == value) for each in listed)
    kind: str | None = schema.get("type")
    if kind is None:
        return True
    if not isinstance(value, _KINDS.get(kind, (object,))):
        return False
    if isinstance(value, bool):
        return kind == "boolean"
    return _parts_fit(value, schema)


def _parts_fit(value: Any, schema: Schema) -> bool:
    if isinstance(value, (list, tuple)):
        return all(fits(each, _item_schema(schema, index)) for index, each in enumerate(value))
    if isinstance(value, dict):
        named = all(each in value for each in schema.get("required", ()))
        return named and all(fits(each, _value_schema(schema, key)) for key, each in value.items())
    return True


def coerced(value: Any, schema: Schema) -> Any:
    """Return the value in the form of the schema; as it was where that would lose something."""
    if fits(value, schema):
        return value
    for each in branches(schema):
        changed = _coerced_branch(value, each)
        if fits(changed, each):
            return changed
    return value


def _coerced_branch(value: Any, schema: Schema) -> Any:
    listed = members(schema)
    if listed is not None:
        return _listed(value, listed)
    match schema.get("type"):
        case "string":
            return _text(value)
        case "integer" | "number":
            return _number(value)
        case "boolean":
            return _truth(value)
        case "null":
            is_null = isinstance(value, str) and value.strip().lower() in ("null", "none")
            return None if is_null else value
        case "array":
            return _array(value, schema)
        case "object":
            return _object(value, schema)
        case _:
            return value


def _text(value: Any) -> Any:
    if not isinstance(value, (bool, int, float)):
        return value
    try:
        return value_text(value)
    except ValueError:  # a whole number of more digits than Python will write
        return value


def _listed(value: Any, listed: list[Any]) -> Any:
    """Find the one member that is written like the value, but for case and quotes."""
    alike = [each for each in listed if _plain(each) == _plain(value)]
    return alike[0] if len(alike) == 1 else value


def _plain(value: Any) -> str:
    return (value if isinstance(value, str) else repr(value)).strip().casefold()


def _number(value: Any) -> Any:
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"[+-]?\d{1,300}", text):
            return int(text)
        if re.fullmatch(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?", text):
            value = float(text)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


def _truth(value: Any) -> Any:
    if isinstance(value, (str, int)):
        return _TRUTH.get(str(value).strip().lower(), value)
    return value


def _array(value: Any, schema: Schema) -> Any:
    said = _said(value, "[", "(")
    if isinstance(said, (list, tuple)):
        return [coerced(each, _item_schema(schema, index)) for index, each in enumerate(said)]
    if value is None or "prefixItems" in schema:
        return value
    return [coerced(value, schema.get("items") or {})]


def _object(value: Any, schema: Schema) -> Any:
    said = _said(value, "{")
    if not isinstance(said, dict):
        return value
    return {key: coerced(each, _value_schema(schema, key)) for key, each in said.items()}


def _said(value: Any, *openers: str) -> Any:
    """Return what a text says, if it is JSON or a Python literal."""
    if not isinstance(value, str) or not value.strip().startswith(openers):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return value


def _item_schema(schema: Schema, index: int) -> Schema:
    first: list[Schema] = schema.get("prefixItems", [])
    return first[index] if index < len(first) else _schema(schema.get("items"))


def _value_schema(schema: Schema, key: str) -> Schema:
    properties = schema.get("properties", {})
    return properties[key] if key in properties else _schema(schema.get("additionalProperties"))


def _schema(found: Any) -> Schema:
    return found if isinstance(found, dict) else {}
