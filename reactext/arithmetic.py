"""Arithmetic as models write it: ``17 × 23``, ``15% of 80``, ``2^10``, ``sqrt(2)``.

Decimals are exact (0.1 + 0.2 is 0.3), every size is bounded, and nothing but numbers is evaluated.
"""

from __future__ import annotations

import ast
import decimal
import math
import operator
import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Number = int | Fraction | float

LONGEST = 500
"""Characters of an expression."""
DEEPEST = 250
"""Levels of operations in each other; a sum of so many numbers has as many."""
LARGEST = 3322
"""Bits of a whole number: a thousand digits."""

_SIGNS = str.maketrans({"×": "*", "·": "*", "∙": "*", "÷": "/", "∕": "/", "−": "-", "–": "-"})
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: _exact(left) / right,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda left, right: _power(left, right),
}
_CONSTANTS: dict[str, Number] = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "ceil": math.ceil,
    "cos": math.cos,
    "degrees": math.degrees,
    "exp": math.exp,
    "factorial": lambda number: _factorial(number),
    "floor": math.floor,
    "gcd": math.gcd,
    "hypot": math.hypot,
    "lcm": math.lcm,
    "ln": math.log,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "pow": lambda left, right: _power(left, right),
    "radians": math.radians,
    "round": lambda number, digits=0: _round(number, digits),
    "sin": math.sin,
    "sqrt": lambda number: _root(number),
    "tan": math.tan,
}


def evaluate(expression: str) -> str:
    """Return the value as text; ValueError says what cannot be calculated, and why.

    >>> evaluate("17 × 23")
    '391'
    >>> evaluate("0.1 + 0.2")
    '0.3'
    """
    text = _as_python(expression)
    if not text:
        raise ValueError("there is nothing to calculate; write something like 17 * 23")
    if len(text) > LONGEST:
        raise ValueError(f"the expression has over {LONGEST} characters; calculate it in parts")
    try:
        return _written(_value(ast.parse(text, mode="eval").body, text, DEEPEST))
    except SyntaxError as error:
        raise ValueError(
            f"{_short(expression)} is not an arithmetic expression; write one like (17 + 4) * 23"
        ) from error
    except ZeroDivisionError as error:
        raise ValueError(f"{_short(expression)} divides by zero") from error
    except OverflowError as error:
        raise ValueError(f"the value of {_short(expression)} is too large") from error


def _as_python(expression: str) -> str:
    text = unicodedata.normalize("NFKC", expression.translate(_SIGNS)).strip().rstrip("=? ")
    text = text.lower().translate(_SIGNS).replace("^", "**").replace("math.", "")
    text = re.sub(r"√\s*([\d.]+)", r"sqrt(\1)", text).replace("√", "sqrt")
    text = re.sub(r"\s+x\s+", "*", text)
    # a percentage, unless a number follows: then it is the remainder of a division
    text = re.sub(r"([\d.]+)\s*%\s*of\b", r"(\1/100)*", text)
    text = re.sub(r"([\d.]+)\s*%(?=\s*(?:[)+*/,-]|$))", r"(\1/100)", text)
    if not re.search("[a-z]", text):  # else the comma may part arguments
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return text


def _value(node: ast.expr, text: str, depth: int) -> Number:
    if depth == 0:
        raise ValueError(f"the expression is nested over {DEEPEST} deep; calculate it in parts")
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return _bounded(_literal(node, text))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, text, depth - 1)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand, text, depth - 1)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            left, right = _value(node.left, text, depth - 1), _value(node.right, text, depth - 1)
            return _bounded(_OPERATORS[type(node.op)](left, right))
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _call(name, [_value(each, text, depth - 1) for each in node.args])
    part = ast.get_source_segment(text, node) or text
    raise ValueError(
        f"{_short(part)} cannot be calculated; write numbers, + - * / // % **, brackets, and "
        "functions such as sqrt, round, min, max, log, sin"
    )


def _literal(node: ast.Constant, text: str) -> Number:
    number: int | float = node.value  # type: ignore[assignment]  # _value has seen to that
    if isinstance(number, int) or not 1e-300 < abs(number) < 1e300:
        return number
    return Fraction((ast.get_source_segment(text, node) or str(number)).replace("_", ""))


def _call(name: str, arguments: list[Number]) -> Number:
    try:
        return _bounded(_FUNCTIONS[name](*arguments))
    except TypeError as error:
        given = ", ".join(map(_written, arguments))
        raise ValueError(f"{name}({given}) cannot be calculated: {error}") from error


def _bounded(number: Any) -> Number:
    if isinstance(number, complex):
        raise ValueError("the value is not a real number")
    if isinstance(number, float) and not math.isfinite(number):
        raise OverflowError
    if not isinstance(number, float):
        whole = max(abs(number.numerator), number.denominator)
        if whole.bit_length() > LARGEST:
            raise OverflowError
    return number  # type: ignore[no-any-return]


def _exact(number: Number) -> Fraction | float:
    return Fraction(number) if isinstance(number, int) else number


def _power(base: Number, exponent: Number) -> Any:
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        exponent = exponent.numerator
    if not isinstance(exponent, int) or isinstance(base, float):
        return float(base) ** float(exponent)
    whole = max(abs(base.numerator), base.denominator)
    if (whole.bit_length() - 1) * abs(exponent) > LARGEST:
        raise OverflowError  # before the time is spent, not after
    return _exact(base) ** exponent


def _round(number: Number, digits: Number) -> Number:
    if not -300 <= digits <= 300:
        raise OverflowError
    return round(number, int(digits))  # type: ignore[return-value]  # unions have no __round__


def _root(number: Number) -> Number:
    if number < 0:
        raise ValueError(f"the square root of {_written(number)} is not a real number")
    exact = Fraction(number)
    above, below = math.isqrt(exact.numerator), math.isqrt(exact.denominator)
    if above * above == exact.numerator and below * below == exact.denominator:
        return Fraction(above, below)
    return math.sqrt(number)


def _factorial(number: Number) -> int:
    if number > 450:
        raise OverflowError
    if number != int(number):
        raise ValueError(f"{_written(number)} has no factorial")
    return math.factorial(int(number))


def _written(number: Number) -> str:
    """Write whole numbers and decimals that end as they are, anything else to 12 digits."""
    if isinstance(number, float):
        return f"{number:.12g}"
    with decimal.localcontext(prec=30) as context:
        quotient = decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)
        if number.denominator == 1:
            return str(number.numerator)
        if not context.flags[decimal.Inexact]:
            return f"{quotient.normalize():f}"
        return f"{quotient:.12g}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
