"""Plausible values for a JSON schema, for the examples that a model is shown."""

from __future__ import annotations

import math
import re
from typing import Any

from reactext.signatures.schema import Schema, branches, members

_FORMATS = {
    "date": "2025-03-12",
    "date-time": "2025-03-12T09:30:00",
    "time": "09:30:00",
    "duration": "PT30M",
    "email": "ada@example.org",
    "uri": "https://example.org",
    "uuid": "6f1c2a34-9d1b-4c57-8a50-0d6d3c1f7e21",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}

# by the last word of a parameter's name: a model copies an example, so it should look like one
_NAMES = {
    "city": "Oslo",
    "country": "Norway",
    "location": "Oslo",
    "origin": "Oslo",
    "destination": "Lima",
    "expression": "2 * 3",
    "query": "opening hours",
    "date": "2025-03-12",
    "day": "2025-03-12",
    "time": "09:30",
    "id": "A1001",
    "email": "ada@example.org",
    "url": "https://example.org",
    "path": "notes.txt",
    "file": "notes.txt",
    "name": "Ada",
    "language": "en",
    "currency": "EUR",
    "timezone": "Europe/Oslo",
    "sql": "SELECT 1",
    "code": "print(1)",
    "keyword": "opening hours",
    "term": "opening hours",
    "text": "good morning",
    "message": "good morning",
    "title": "Lunch",
    "to": "ada@example.org",
    "城市": "上海",
    "日期": "2025-03-12",
    "表达式": "2 * 3",
    "关键词": "营业时间",
    "商品": "台灯",
}

_COMMON = (
    *_FORMATS.values(),
    *("A1001", "1001", "12", "1", "12345", "123456", "a", "A", "ab", "AB", "abc", "ABC", "ABC-123"),
    *("09:30", "2025-03", "2025", "+4712345678", "en-GB", "1.0.0", "#336699"),
)


def sample(schema: Schema, name: str = "") -> Any:
    """Return one value that the schema allows, as JSON has it; ``name`` says what it is for."""
    if schema.get("examples"):
        return schema["examples"][0]
    if "default" in schema and schema["default"] is not None:
        return schema["default"]
    options = branches(schema)
    chosen = next((each for each in options if each.get("type") != "null"), options[0])
    listed = members(chosen)
    if listed:
        return listed[0]
    return _typed(chosen, name)


def _typed(schema: Schema, name: str) -> Any:
    match schema.get("type"):
        case "integer":
            return _number(schema, 1)
        case "number":
            return _number(schema, 1.5)
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            return _array(schema, name)
        case "object":
            return _object(schema)
        case _:
            return _text(schema, name)


def _number(schema: Schema, usual: float) -> float:
    low: Any = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf))
    high: Any = schema.get("maximum", schema.get("exclusiveMaximum", math.inf))
    if low < usual < high or usual in (schema.get("minimum"), schema.get("maximum")):
        number: float = usual
    elif math.isinf(low) or math.isinf(high):  # on the right side of its only bound
        number = low + 1 if math.isinf(high) else high - 1
    else:
        number = (low + high) / 2
    number = math.ceil(number) if isinstance(usual, int) else number
    step = schema.get("multipleOf")
    return math.ceil(number / step) * step if step else number


def _array(schema: Schema, name: str) -> list[Any]:
    if "prefixItems" in schema:
        return [sample(each) for each in schema["prefixItems"]]
    one = re.sub(r"(?<=[a-z])s$", "", name)
    return [sample(schema.get("items") or {}, one)] * max(1, schema.get("minItems", 1))


def _object(schema: Schema) -> dict[str, Any]:
    properties = schema.get("properties")
    if properties:
        wanted = schema.get("required") or list(properties)[:1]
        return {each: sample(properties[each], each) for each in wanted}
    values = schema.get("additionalProperties")
    return {"key": sample(values)} if isinstance(values, dict) else {}


def _text(schema: Schema, name: str) -> str:
    text = _FORMATS.get(schema.get("format", "")) or _named(name)
    if "pattern" in schema:
        text = _matching(schema["pattern"], text)
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    text = text if len(text) >= shortest else text.ljust(shortest, "x")
    return text[:longest]


def _matching(pattern: str, text: str) -> str:
    """Return a text that the pattern fits, if a common one does."""
    try:
        return next((each for each in (text, *_COMMON) if re.search(pattern, each)), text)
    except re.error:  # a pattern of another dialect
        return text


def _named(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").split("_")
    if words[-1] in _NAMES:
        return _NAMES[words[-1]]
    spoken = " ".join(words).strip()
    return f"some {spoken}" if spoken.isascii() and spoken else spoken or "some text"
