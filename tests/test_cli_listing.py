"""``models`` lists what can be asked, and marks what is asked by default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from file_server import FileServer, serving

from reactext.cli.app import app


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """What answers as Ollama does, and an empty cache."""
    with serving() as files:
        monkeypatch.setenv("OLLAMA_HOST", files.address)
        monkeypatch.setenv("REACTEXT_CACHE", str(tmp_path))
        monkeypatch.delenv("REACTEXT_MODEL", raising=False)
        yield files


def has(server: FileServer, *names: str) -> None:
    listed = json.dumps({"models": [{"name": name} for name in names]}).encode()
    server.files |= {"/api/tags": listed, "/api/ps": b'{"models": []}'}


def models() -> Result:
    return CliRunner().invoke(app, ["models"])


def test_a_server_with_models_is_the_default(server: FileServer) -> None:
    has(server, "qwen2.5:7b", "llama3:8b")
    lines = models().stdout.splitlines()
    assert lines[0].split()[:5] == ["embedded:qwen2.5-coder-0.5b", "491", "MB", "not", "here"]
    assert [line for line in lines if "ollama" in line] == [
        "* ollama:qwen2.5:7b",
        "  ollama:llama3:8b",
    ]


def test_without_a_server_it_is_the_embedded_one(server: FileServer) -> None:
    result = models()
    assert result.exit_code == 0
    assert result.stdout.startswith("* embedded:qwen2.5-coder-0.5b ")
    assert result.stderr == f"no Ollama server with a model answers at {server.address}\n"


@pytest.mark.parametrize(
    ("named", "marked"),
    [
        ("embedded:smollm2-135m", "* embedded:smollm2-135m "),
        ("openai:http://127.0.0.1:1/v1#x", "* openai:http://127.0.0.1:1/v1#x "),
    ],
)
def test_the_environment_names_it(
    server: FileServer, monkeypatch: pytest.MonkeyPatch, named: str, marked: str
) -> None:
    monkeypatch.setenv("REACTEXT_MODEL", named)
    starred = [line for line in models().stdout.splitlines() if line.startswith("*")]
    assert len(starred) == 1
    assert starred[0].startswith(marked)
