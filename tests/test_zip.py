"""A zip of a checkout works where it lies, at its top or in the folder that archives put around it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(
    not (ROOT / "reactext").is_dir(), reason="wants the sources beside the tests"
)

PROGRAM = """
import reactext
from reactext.trace import page, read_trace

reply = " I know.\\nFinal Answer: yes"
engine = reactext.Engine(reactext.ScriptedModel([reply] * 9), hooks=[reactext.Trace("run.jsonl")])
assert engine.run("x").answer == "yes"
assert "一步一步" in engine.render("上海天气怎么样？")
assert "<style>" in page(read_trace("run.jsonl"))
try:
    reactext.Engine(reactext.ScriptedModel([]), frame="chatlm")
except reactext.SetupError as error:
    print(error, reactext.__file__)
"""


@pytest.mark.parametrize("folder", ["", "reactext-main/"])
def test_a_zip_of_a_checkout(folder: str, tmp_path: Path) -> None:
    archive = tmp_path / "checkout.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("reactext", "grammars", "prompts"):
            for path in sorted((ROOT / name).rglob("*")):
                if "__pycache__" not in path.parts:
                    packed.write(path, folder + path.relative_to(ROOT).as_posix())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(archive / folder)},
    )
    assert done.stderr == ""
    assert "did you mean chatml?" in done.stdout
    assert "checkout.zip" in done.stdout
