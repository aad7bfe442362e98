"""What is shown is what there is: nothing in it hides, or turns the line around."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reactext
from reactext.visible import visible

HIDING = "\u202e\u2066\u200b\u200f\ufeff\xad\x7f\x9b\u2028\U000e0041"
"""Characters that turn a line around, steer a terminal, or are not seen at all."""

PROGRAM = """
import json
from reactext import Engine, ScriptedModel, tool

@tool
def delete(path: str) -> str:
    "Delete a file."
    return "deleted"

HIDING = json.loads(input())
path = HIDING + "txt.a"
call = json.dumps({"name": "delete", "arguments": {"path": path}})
model = ScriptedModel([f" x\\nAction: {call}", " x\\nFinal Answer: done"])
context = Engine(model, [delete], approve={"delete": True}).run("Go")
print("status", context.steps[0].observations[0].status, flush=True)
"""


@given(st.text(), st.text(alphabet=HIDING + "ab\\\"'\n"))
def test_json_stays_json_of_the_same_value(name: str, value: str) -> None:
    told = {name: value}
    for text in (json.dumps(told, ensure_ascii=False, indent=2), json.dumps(told)):
        shown = visible(text)
        assert not set(shown) & set(HIDING)
        assert json.loads(shown) == told


@pytest.mark.parametrize("text", ["naïve\tcafé", "👩‍👩‍👧 ❤️", "می‌خواهم", "日本語\nकि", "e\u0301"])
def test_what_people_write_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.skipif(os.name != "posix", reason="a terminal is made the POSIX way")
def test_who_approves_sees_the_call_that_runs() -> None:
    import pty

    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "PYTHONPATH": str(Path(reactext.__file__).parent.parent)},
    )
    os.close(terminal)
    edited = json.dumps({"path": HIDING + "b"}, ensure_ascii=True)
    os.write(master, json.dumps(HIDING).encode() + b"\n")
    replies = iter([b"e\n", edited.encode() + b"\n", b"y\n"])
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
            if re.search(rb"(in its place|on one line|\[y\]es): $", shown):
                os.write(master, next(replies))
    except OSError:
        pass  # how Linux says that the other end is closed
    os.close(master)
    assert process.wait(30) == 0, shown.decode()
    told = shown.decode()
    assert "status ok" in told
    assert not set(told) & set(HIDING), ascii(told)
    question = told[told.index("Run delete(") :].splitlines()[0]
    assert r"\u202e\u2066\u200b\u200f\ufeff\u00ad\u007f\u009b\u2028\udb40\udc41txt.a" in question
    assert question.rstrip().endswith("?")
    assert "\n    +  " in told.replace("\r\n", "\n")
