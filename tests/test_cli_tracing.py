"""``trace`` shows what a run left behind, on the terminal or as a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reactext.cli.app import app
from reactext.completion import ScriptedModel
from reactext.engine import Engine
from reactext.tracing import Trace


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """A file that tells of one run."""
    model = ScriptedModel([f" I {'really ' * 50}know.\nFinal Answer: 391"])
    Engine(model, hooks=[Trace(tmp_path / "run.jsonl")]).run("What is 17 * 23?")
    return tmp_path / "run.jsonl"


def trace(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["trace", *arguments])


def test_an_account_and_a_table(traced: Path) -> None:
    result = trace(str(traced))
    assert result.exit_code == 0
    assert "task: What is 17 * 23?" in result.output
    assert "answer: 391" in result.output
    assert "really know" not in result.output


def test_nothing_is_cut(traced: Path) -> None:
    assert "really know" in trace(str(traced), "--full").output


def test_a_page(traced: Path) -> None:
    page = traced.with_suffix(".html")
    result = trace(str(traced), "--html", str(page))
    assert (result.exit_code, result.output) == (0, "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_no_such_file(tmp_path: Path) -> None:
    result = trace(str(tmp_path / "none.jsonl"))
    assert result.exit_code == 2
    assert "none.jsonl" in result.output


def test_a_file_that_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk, bread\n", encoding="utf-8")
    result = trace(str(tmp_path / "notes.txt"))
    assert result.exit_code == 2
    assert "tells of no run" in result.output
