"""Every Python block of the README and the docs runs, and prints what stands below it.

A block is run by itself, in an empty directory. Output that follows in a plain fence is compared.
``python no-run`` is only compiled (it wants a server); so is what is marked so, nothing else.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```python( no-run)?\n(.*?)^```\n(?:\n```(?:text)?\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def blocks() -> list[object]:
    """All blocks of all pages; their names are the page and the line."""
    found: list[object] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            name = f"{page.name}:{line}"
            found.append(pytest.param(name, block[2], block[3], bool(block[1]), id=name))
    return found


@pytest.mark.parametrize(("name", "code", "output", "compiled_only"), blocks())
def test_a_block_of_the_docs(
    name: str,
    code: str,
    output: str | None,
    compiled_only: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = compile(code, name, "exec")
    if compiled_only:
        return
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {"__name__": "__main__"})
    if output is not None:
        assert _lines(printed.getvalue()) == _lines(output)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").split("\n")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_there_are_blocks() -> None:
    assert len(blocks()) >= 5
