"""``doctor`` prints a verdict a line, with the remedy under it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reactext.cli.app import app

MODEL = """
from reactext.completion import ModelCard, ScriptedModel

sound = ScriptedModel([" five six seven"] * 9, card=ModelCard(name="scripted"))
empty = ScriptedModel([""] * 9)


def plain(prompt):
    return " five six seven"
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "patients.py"
    path.write_text(MODEL, encoding="utf-8")
    return f"python:{path}"


def test_verdicts_and_remedies(place: str) -> None:
    result = CliRunner().invoke(app, ["doctor", "--model", f"{place}:sound"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1] == "ok       model         scripted, spoken to as plain"
    assert any(line.startswith("warning  grammar") for line in lines)
    assert any(line.strip().startswith("small models gain most") for line in lines)


def test_a_plain_function_is_examined_too(place: str) -> None:
    result = CliRunner().invoke(app, ["doctor", "--model", f"{place}:plain"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].startswith("ok       completion")


def test_a_failure_is_the_exit_code(place: str) -> None:
    result = CliRunner().invoke(app, ["doctor", "--model", f"{place}:empty"])
    assert result.exit_code == 1
    assert "failed   completion    it wrote nothing" in result.stdout


def test_as_json(place: str) -> None:
    result = CliRunner().invoke(app, ["doctor", "--json", "--model", f"{place}:sound"])
    verdicts = json.loads(result.stdout)
    assert [verdict["name"] for verdict in verdicts][:3] == ["server", "model", "completion"]
    assert set(verdicts[0]) == {"name", "grade", "finding", "remedy"}
