"""A module imports only from rooms above its own in docs/design.md; each library has one door."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "reactext"
pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="wants the sources beside the tests")

OUTSIDE = {
    "lark": {"grammar"},
    "jinja2": {"prompts", "backends"},
    "requests": {"backends", "weights"},
    "click": {"cli"},
    "rich": {"cli"},
    "xllamacpp": {"backends"},
    "llguidance": {"constrain", "dialects"},
}
"""The rooms that may import a library. (backends render a chat template to know its kind.)"""


def rooms() -> dict[str, int]:
    """The rooms, each with the number of its row in the table."""
    table = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    names = [re.findall(r"`(\w+)`", row) for row in rows]
    return {name: number for number, row in enumerate(names) for name in row}


def modules() -> list[Path]:
    """All modules but those that stand above every room."""
    above = {"__init__.py", "__main__.py", "_version.py"}
    found = sorted(PACKAGE.rglob("*.py"))
    return [path for path in found if path.parent != PACKAGE or path.name not in above]


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The dotted names of all modules that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "reactext":
                found |= {f"reactext.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path: Path) -> None:
    order = rooms()
    own = order[room_of(path)]
    for name in imports(path):
        room = name.split(".")[1] if name.startswith("reactext.") else None
        if room in order:
            assert order[room] <= own, f"{path.name} imports {name}, which is below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_library_has_its_door(path: Path) -> None:
    for name in imports(path):
        library = name.split(".")[0]
        assert room_of(path) in OUTSIDE.get(library, {room_of(path)}), f"{path.name}: {name}"


def test_every_module_has_a_room_and_every_room_a_module() -> None:
    assert {room_of(path) for path in modules()} == set(rooms())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_is_too_long_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
