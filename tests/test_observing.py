"""Whatever a tool returns or raises becomes a text that a model can read."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import count
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from reactext.observing import MOST_ITEMS, error_text, observation_text


class Colour(Enum):
    RED = "red"


@dataclass
class Place:
    city: str
    opened: date


class Flight(BaseModel):
    number: str
    departs: datetime


class Point(NamedTuple):
    x: int
    y: int


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class BrokenModel(BaseModel):
    thing: Any


class BrokenError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Shown:
    def __str__(self) -> str:
        return "shown"


def cyclic() -> list[Any]:
    items: list[Any] = [1]
    items.append(items)
    return items


def deep() -> list[Any]:
    items: list[Any] = []
    for _ in range(100_000):
        items = [items]
    return items


def breaking() -> Iterator[int]:
    yield 1
    raise RuntimeError("in the middle")


TEXTS: list[tuple[Any, str]] = [
    ("as it is", "as it is"),
    ('{"already": "json"}', '{"already": "json"}'),
    ("a\r\nb\rc", "a\nb\nc"),
    ("half \ud83d of a pair", "half \ufffd of a pair"),
    ("", "(an empty text was returned)"),
    (" \n", "(an empty text was returned)"),
    (None, "done, nothing was returned"),
    (3, "3"),
    (2.5, "2.5"),
    (True, "true"),
    (["北京", "é"], '["北京", "é"]'),
    ({"a": [1, None]}, '{"a": [1, null]}'),
    ([], "[]"),
    ({}, "{}"),
    ((1, "a"), '[1, "a"]'),
    (range(3), "[0, 1, 2]"),
    ({3, 1, 2}, "[1, 2, 3]"),
    (frozenset({"b", "a"}), '["a", "b"]'),
    (deque([1, 2]), "[1, 2]"),
    (OrderedDict(b=1, a=2), '{"b": 1, "a": 2}'),
    ((each * 2 for each in [1, 2]), "[2, 4]"),
    (map(str, [1]), '["1"]'),
    ({"a": 1}.keys(), '["a"]'),
    ({"a": 1}.values(), "[1]"),
    (Colour.RED, "red"),
    ([Colour.RED], '["red"]'),
    (Place("Oslo", date(2025, 3, 12)), '{"city": "Oslo", "opened": "2025-03-12"}'),
    (
        [Flight(number="AB1", departs=datetime(2025, 3, 12, 9, tzinfo=UTC))],
        '[{"number": "AB1", "departs": "2025-03-12T09:00:00Z"}]',
    ),
    (Point(1, 2), '{"x": 1, "y": 2}'),
    (datetime(2025, 3, 12, 9), "2025-03-12T09:00:00"),
    (time(9, 30), "09:30:00"),
    (timedelta(hours=1), "1:00:00"),
    (Decimal("1.10"), "1.10"),
    ({"price": Decimal("1.10")}, '{"price": "1.10"}'),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("a/b"), "a/b"),
    ("é".encode(), "é"),
    (b"\xff\x00", "(binary data, 2 bytes)"),
    (bytearray(b"a"), "a"),
    (memoryview(b"a"), "a"),
    (ValueError("bad"), "ValueError: bad"),
    (Shown(), "shown"),
    ([Shown()], '["shown"]'),
    (Broken(), "(a value of type Broken that cannot be shown)"),
    ([Broken()], '["(a value of type Broken that cannot be shown)"]'),
    (BrokenModel(thing=1), '{"thing": 1}'),
    (float("nan"), "NaN"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_values_become_texts(value: Any, text: str) -> None:
    assert observation_text(value) == text


HARD: list[Any] = [
    BrokenModel(thing=Broken()),
    {1: "a", (1, 2): "b", None: "c", date(2025, 3, 12): "d"},
    {Broken(): Broken()},
    {Place: Place},
    cyclic(),
    deep(),
    breaking(),
    10**5000,
    print,
    object(),
    {"a": {1, "b", None}},
    [b"\xff"],
    complex(1, 2),
    NotImplemented,
    type,
]


@pytest.mark.parametrize("value", HARD, ids=range(len(HARD)))
def test_hard_values_become_some_text(value: Any) -> None:
    assert observation_text(value).strip()


def test_endless_generator_is_cut() -> None:
    items = json.loads(observation_text(count()))
    assert items[:3] == [0, 1, 2]
    assert items[MOST_ITEMS:] == [f"(only the first {MOST_ITEMS} items were read)"]


@given(st.text() | st.binary() | st.dictionaries(st.text() | st.integers(), st.text()))
def test_every_text_can_be_sent(value: Any) -> None:
    text = observation_text(value)
    assert text.encode("utf-8")
    assert "\r" not in text


ERRORS: list[tuple[BaseException, str, str]] = [
    (ValueError("bad city"), "", "ValueError: bad city"),
    (TimeoutError(), "", "TimeoutError"),
    (BrokenError(), "", "BrokenError: (its message cannot be shown)"),
    (KeyError("city"), "", "KeyError: 'city'"),
    (
        FileNotFoundError(2, "No such file or directory", "/srv/app/secrets/token.txt"),
        "",
        "FileNotFoundError: [Errno 2] No such file or directory: '…/token.txt'",
    ),
    (
        FileNotFoundError(2, "No such file or directory", "/srv/my app/token.txt"),
        "",
        "FileNotFoundError: [Errno 2] No such file or directory: '…/token.txt'",
    ),
    (
        FileNotFoundError(2, "No such file or directory", "/data/notes/a.txt"),
        'read(path="/data/notes/a.txt")',
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/notes/a.txt'",
    ),
    (OSError(r"cannot open C:\Users\ada\app\x.db"), "", r"OSError: cannot open …/x.db"),
    (
        ValueError('File "/usr/lib/python3/site-packages/x.py", line 3'),
        "",
        'ValueError: File "…/x.py", line 3',
    ),
    (
        ValueError("https://example.org/a/b/c gave 404 in 1/2 s, see a/b"),
        "",
        "ValueError: https://example.org/a/b/c gave 404 in 1/2 s, see a/b",
    ),
    (
        ValueError("http://h:80/a/b.py?c=/d e.g. 3/4 and/or 12/03/2025 ~1/2 km/h s3://b/c/d"),
        "",
        "ValueError: http://h:80/a/b.py?c=/d e.g. 3/4 and/or 12/03/2025 ~1/2 km/h s3://b/c/d",
    ),
    (
        ValueError(r"bad escape '\\d+\\w' at \alpha\beta, \\n or '\\nfoo\\nbar'"),
        "",
        r"ValueError: bad escape '\\d+\\w' at \alpha\beta, \\n or '\\nfoo\\nbar'",
    ),
    *(
        (OSError(f"cannot open {place} now"), "", "OSError: cannot open …/x.db now")
        for place in (
            "file:///home/ada/x.db",
            "file://srv/share/x.db",
            "FILE:/x.db",
            "smb://srv/share/a/x.db",
            "sqlite:////srv/app/x.db",
            "/srv/app/x.db",
            "./rel/x.db",
            "../../x/y/x.db",
            "~/secret/x.db",
            "~/x.db",
            "~ada/secret/x.db",
            "D:/work/x.db",
            "D:\\work\\x.db",
            r"\\srv\share\x.db",
            r"\\\\srv\\share\\ab\\x.db",
            r"\\?\C:\work\x.db",
        )
    ),
    (OSError("host:/srv/app/x.db is away"), "", "OSError: host:…/x.db is away"),
    (OSError("cannot open ./rel/x.db"), 'f(p="./rel/x.db")', "OSError: cannot open ./rel/x.db"),
    (
        RuntimeError(
            "worker failed: Traceback (most recent call last):\n"
            '  File "/srv/app/work.py", line 1, in <module>\n    1 / 0\n'
            "ZeroDivisionError: division by zero\n"
        ),
        "",
        "RuntimeError: worker failed: ZeroDivisionError: division by zero",
    ),
    (ValueError("a\r\nb \udc00"), "", "ValueError: a\nb \ufffd"),
]


@pytest.mark.parametrize(("error", "written", "text"), ERRORS)
def test_errors_show_no_places(error: BaseException, written: str, text: str) -> None:
    assert error_text(error, written) == text
