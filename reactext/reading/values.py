"""The values of arguments: what was written without quotes, and what it is taken for."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from reactext.reading.strings import LATEX_INSIDE, PATH_INSIDE


class Bare(str):
    """A value written without quotes; `plain` says what it is: a number, a literal or text."""

    __slots__ = ()


class WrittenFloat(float):
    """A decimal number of a JSON text; as a text it is what was written: 1.10, not 1.1."""

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Expression:
    """Code where a value is due: a call or a variable. ``kind`` says which, to the model."""

    kind: str
    text: str
    is_empty: bool = False
    has_arguments: bool = True


@dataclass(slots=True)
class Pairs:
    """Arguments as they were written: positional ones, and named ones in order.

    ``leading`` positional ones stand before any named one; ``doubled`` is a name given twice.
    """

    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    leading: int = 0
    doubled: str = ""


_LITERALS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "none": None, "nil": None, "undefined": None,
}  # fmt: skip
# days=2 # two days: a number or a literal, and a comment behind it.
_COMMENTED = re.compile(r"([\w.+-]{1,40})\s+(?:#|//)(?:\s|\Z)")
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,300}(?:_\d{3})*)\Z")
_DECIMAL = re.compile(r"[+-]?(?:\d{1,300}\.\d{0,300}|\.\d{1,300}|\d{1,300})(?:[eE][+-]?\d{1,3})?\Z")


def plain(value: Any) -> Any:
    """Return a value without `Bare` in it: numbers and literals as such, the rest as text."""
    if isinstance(value, Bare):
        return _scalar(str(value))
    if isinstance(value, WrittenFloat):
        return float(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return value


def _scalar(text: str) -> Any:
    if (commented := _COMMENTED.match(text)) is not None:
        value = _scalar(commented[1])
        return text if isinstance(value, str) else value
    lowered = text.lower()
    if lowered in _LITERALS:
        return _LITERALS[lowered]
    if _INTEGER.match(text):
        return int(text.replace("_", ""))
    if _DECIMAL.match(text) and not re.match(r"[+-]?0\d", text):
        return float(text)
    return text


def expression_in(value: Any) -> Expression | None:
    """Return the first code that stands in a value, at any depth, or None."""
    if isinstance(value, Expression):
        return value
    inner: list[Any] = []
    if isinstance(value, list):
        inner = value
    elif isinstance(value, dict):
        inner = list(value.values())
    return next((found for each in inner if (found := expression_in(each)) is not None), None)


def strict_json(text: str) -> Any:
    """Read JSON as it should be, raw line breaks allowed. Raises ValueError.

    A text in which a Windows path or LaTeX has single backslashes is refused: they are no escapes.
    """
    if "\\" in text and (PATH_INSIDE.search(text) or LATEX_INSIDE.search(text)):
        raise ValueError("a path, or LaTeX, with single backslashes")
    try:
        value = json.loads(text, strict=False, parse_constant=_refused, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return whole_characters(value) if "\\u" in text else value


def _finite(written: str) -> float:
    number = WrittenFloat(written)
    return _refused(written) if math.isinf(number) else number


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def whole_characters(value: Any) -> Any:
    """Replace halves of characters, which no text can hold: ``"\\ud83c"`` without the other."""
    if isinstance(value, str):
        if any("\ud800" <= each <= "\udfff" for each in value):
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, list):
        return [whole_characters(each) for each in value]
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(each) for key, each in value.items()}
    return value
