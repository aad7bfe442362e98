"""The calculator says what is right, or why it cannot; the clock knows its zones."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactext.arithmetic import DEEPEST, LONGEST, evaluate
from reactext.builtin_tools import BUILTIN_TOOLS, clock

VALUES = [
    ("17 * 23", "391"),
    ("17 × 23 = ?", "391"),
    ("17 x 23", "391"),
    ("0x10", "16"),
    ("100 ÷ 8", "12.5"),
    ("（１２＋３）×４", "60"),
    ("5 − 7", "-2"),
    ("2^10", "1024"),
    ("2**-3", "0.125"),
    ("-2**2", "-4"),
    ("7 // 2", "3"),
    ("17 % 5", "2"),
    ("15% of 80", "12"),
    ("200 * 15%", "30"),
    ("(10%) + 1", "1.1"),
    ("1,000,000 * 3", "3000000"),
    ("max(1,000)", "1"),
    ("1_000 + 1", "1001"),
    ("0.1 + 0.2", "0.3"),
    ("19.99 * 3", "59.97"),
    ("12345678901234.56 + 0.01", "12345678901234.57"),
    ("1.5e3", "1500"),
    ("10 / 3", "3.33333333333"),
    ("1/3*3", "1"),
    ("sqrt(2)", "1.41421356237"),
    ("√16 + √(2.25)", "5.5"),
    ("math.pi * 2", "6.28318530718"),
    ("SQRT(4)", "2"),
    ("round(2.567, 1)", "2.6"),
    ("pow(2, 0.5)", "1.41421356237"),
    ("ln(e)", "1"),
    ("gcd(12, 18)", "6"),
    ("factorial(20)", "2432902008176640000"),
    ("1e-999999999", "0"),
    ("+".join(["1"] * DEEPEST), str(DEEPEST)),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_values(expression: str, value: str) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("", "nothing to calculate"),
        ("17 *", r"'17 \*' is not an arithmetic expression"),
        ("(" * 300, "is not an arithmetic expression"),
        ("1/0", "divides by zero"),
        ("0**-1", "divides by zero"),
        ("9**9**9", "too large"),
        ("2**1000000000", "too large"),
        ("factorial(100000)", "too large"),
        ("factorial(1.5)", "1.5 has no factorial"),
        ("round(1, 10**9)", "too large"),
        ("1e400", "too large"),
        ("exp(1000)", "too large"),
        ("(-8)**0.5", "not a real number"),
        ("sqrt(-4)", "the square root of -4 is not a real number"),
        ("log(-1)", "math domain error|expected a positive input"),
        ("min()", r"min\(\) cannot be calculated"),
        ("gcd(0.5, 2)", r"gcd\(0.5, 2\) cannot be calculated"),
        ("__import__('os')", "cannot be calculated"),
        ("(1).__class__", "cannot be calculated"),
        ("'a' * 3", "'a'. cannot be calculated"),
        ("price * 2", "'price' cannot be calculated"),
        ("True + 1", "'true' cannot be calculated"),
        ("-" * (DEEPEST + 1) + "1", "calculate it in parts"),
        ("1" * (LONGEST + 1), "calculate it in parts"),
    ],
)
def test_what_cannot_be_calculated(expression: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        evaluate(expression)


@given(st.text(alphabet="0123456789.,+-*/%^() esqrt", max_size=40) | st.text(max_size=40))
def test_any_text_is_a_value_or_a_complaint(text: str) -> None:
    try:
        value = evaluate(text)
    except ValueError as complaint:
        value = str(complaint)
    assert value


@given(*[st.integers(-(10**20), 10**20)] * 3)
def test_whole_numbers_are_exact(a: int, b: int, c: int) -> None:
    assert evaluate(f"{a} * {b} - {c}".replace("- -", "+ ")) == str(a * b - c)


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("Asia/Shanghai", "+0800"),
        ("asia/shanghai", "+0800"),
        ("Shanghai", "+0800"),
        ("UTC", "+0000"),
        ("UTC+8", "+0800"),
        ("gmt-03:30", "-0330"),
    ],
)
def test_the_clock_knows_zones(zone: str, offset: str) -> None:
    told = re.fullmatch(r"(\w+), (\d{4}-\d\d-\d\d) \d\d:\d\d \(UTC([+-]\d{4})\)", clock(zone))
    assert told is not None
    assert told[3] == offset
    assert datetime.fromisoformat(told[2]).strftime("%A") == told[1]


@pytest.mark.parametrize(
    ("zone", "guess"), [("Europe/Berln", "Europe/Berlin"), ("??", "Asia/Shanghai or UTC+8")]
)
def test_the_clock_guesses(zone: str, guess: str) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f"no time zone {zone!r}; write one like {guess}")
    ):
        clock(zone)


def test_the_clock_knows_here() -> None:
    assert re.fullmatch(r"\w+, \d{4}-\d\d-\d\d \d\d:\d\d \(UTC[+-]\d{4}\)", clock())


def test_there_are_two() -> None:
    assert [each.name for each in BUILTIN_TOOLS] == ["calculator", "clock"]
