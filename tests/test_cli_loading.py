"""Tools and models of the user's own are found where the command line says they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactext.cli.loading import object_at, tools_from
from reactext.errors import SetupError

MODULE = '''
from neighbour import shared
from reactext.tools import tool

@tool
def first(city: str) -> str:
    """First."""
    return city

@tool
def second() -> str:
    """Second."""
    return ""

same = first

def plain() -> str:
    """No tool yet."""
    return ""

several = [first, plain]

class Holder:
    inner = second
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a module of tools, where the command is run."""
    (tmp_path / "my_tools.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "neighbour.py").write_text("shared = 1\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    wrong = "from reactext.tools import tool\n\n@tool(timeout='5')\ndef f(): ...\n"
    (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
    (tmp_path / "unfinished.py").write_text("def f(:\n", encoding="utf-8")
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("my_tools", "neighbour", "broken", "wrong", "unfinished", "empty"):
        sys.modules.pop(name, None)


def names(tools: list[object]) -> list[str]:
    return [str(getattr(each, "name", getattr(each, "__name__", "?"))) for each in tools]


@pytest.mark.parametrize("module", ["my_tools.py", "./my_tools.py", "my_tools"])
@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        ("", ["first", "second"]),
        (":second", ["second"]),
        (":plain", ["plain"]),
        (":several", ["first", "plain"]),
        (":Holder.inner", ["second"]),
    ],
)
def test_tools(place: Path, module: str, suffix: str, expected: list[str]) -> None:
    if module.startswith("."):
        module = str(place / module)
    assert names(tools_from([module + suffix])) == expected


def test_several_places(place: Path) -> None:
    assert names(tools_from(["my_tools:second", "my_tools.py:plain"])) == ["second", "plain"]


def test_an_object(place: Path) -> None:
    assert callable(object_at("my_tools.py:plain"))


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ("nothing.py", "there is no file 'nothing.py'"),
        ("nothing", "'nothing' cannot be loaded: ModuleNotFoundError: No module named 'nothing'"),
        ("my_tools.py:third", "'my_tools.py:third': there is no 'third' in it"),
        ("empty.py", "there is no tool in 'empty.py'; write @tool above a function"),
        ("broken.py", "ZeroDivisionError: division by zero"),
        ("unfinished.py", "SyntaxError: invalid syntax"),
    ],
)
def test_what_cannot_be_loaded(place: Path, named: str, complaint: str) -> None:
    with pytest.raises(SetupError, match=re.escape(complaint)):
        tools_from([named])


@pytest.mark.parametrize(("name", "line"), [("broken", 2), ("wrong", 3)])
def test_the_line_that_failed_is_named(place: Path, name: str, line: int) -> None:
    with pytest.raises(SetupError, match=rf"{name}\.py, line {line}\)"):
        tools_from([f"{name}.py"])


def test_an_object_needs_a_name(place: Path) -> None:
    with pytest.raises(SetupError, match="add what is meant, as in my_tools:name"):
        object_at("my_tools")
