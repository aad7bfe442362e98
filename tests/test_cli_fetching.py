"""``pull`` shows how far it is on a terminal, and prints nothing but the path to a pipe."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from file_server import FileServer, serving

import reactext
from reactext.cli.app import app
from reactext.cli.fetching import fetched
from reactext.weights import DEFAULT, Weights, path_of

BODY = os.urandom(300_000)
TINY = Weights(
    name="tiny",
    file="tiny.gguf",
    size=len(BODY),
    sha256=hashlib.sha256(BODY).hexdigest(),
    licence="Apache-2.0",
    home="https://example.org/tiny.gguf",
    repository="org/tiny",
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A hub that has the file, and an empty cache."""
    with serving() as files:
        files.files["/org/tiny/resolve/main/tiny.gguf"] = BODY
        monkeypatch.setenv("REACTEXT_CACHE", str(tmp_path))
        monkeypatch.setenv("HF_ENDPOINT", files.address)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield files


def test_lines_where_there_is_no_terminal(
    server: FileServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fetched("tiny", catalogue=[TINY])
    assert path.read_bytes() == BODY
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.strip() == f"loading tiny (0 MB, Apache-2.0), once, to {path}"


PROGRAM = """
import sys
from reactext.cli.fetching import fetched
from reactext.weights import Weights
print(fetched("tiny", catalogue=[Weights.model_validate_json(sys.argv[1])]))
"""


@pytest.mark.skipif(os.name != "posix", reason="a terminal is made the POSIX way")
def test_a_bar_on_a_terminal(server: FileServer) -> None:
    import pty

    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, TINY.model_dump_json()],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(reactext.__file__).parent.parent),
            "TERM": "xterm-256color",
        },
    )
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:
        pass  # how Linux says that the other end is closed
    os.close(master)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert output.decode() == f"{path_of(TINY)}\n"
    assert "300.0/300.0 kB" in shown.decode()


def test_a_path_is_printed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").write_bytes(b"")
    result = CliRunner().invoke(app, ["pull", str(tmp_path / "own.gguf")])
    assert (result.exit_code, result.output) == (0, f"{tmp_path / 'own.gguf'}\n")


def test_an_unknown_name_is_wrong_usage() -> None:
    result = CliRunner().invoke(app, ["pull", "smollm"])
    assert result.exit_code == 2
    assert result.output == (
        "reactext: no weights are named 'smollm'; did you mean 'smollm2-135m'?\n"
    )


def test_no_source_is_a_failure(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    result = CliRunner().invoke(app, ["pull"])
    assert result.exit_code == 1
    assert f"get the official file in another way ({DEFAULT.home})" in result.stderr
    assert "Traceback" not in result.output
