"""``ask`` answers on stdout, tells the steps on stderr, and ends with the code that fits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import reactext
from reactext.builtin_tools import BUILTIN_TOOLS
from reactext.cli.app import app
from reactext.completion import ScriptedModel
from reactext.context import ExecutionContext
from reactext.engine import Engine

MODELS = '''
import pathlib
import threading

from reactext.completion import Piece, ScriptedModel
from reactext.errors import ServerUnreachable

CALL = ' I need the product.\\nAction: calculator(expression="17 * 23")\\n'
ANSWER = " I know the answer.\\nFinal Answer: 17 * 23 is 391."

answering = ScriptedModel([CALL, ANSWER])
calling = ScriptedModel([CALL, " The product is 391."])
failing = ScriptedModel([CALL, *[ServerUnreachable("nothing answers", remedy="start it")] * 9])
raising = ScriptedModel([CALL, ValueError("boom")])
shouting = ScriptedModel([" I go.\\nAction: shout()\\n", ANSWER])
cut = ScriptedModel([[" I know.\\nFinal Answer: Once upon", Piece(" a time", finish="length")]])
greeting = ScriptedModel([' I greet.\\nAction: greet(name="Ana")\\n', ANSWER])


class Waiting:
    """Writes a step, then in the next one a thought that never ends."""

    def __init__(self):
        self.calls = 0

    def complete(self, prompt, *, stop, options):
        self.calls += 1
        if self.calls == 1:
            yield CALL
            return
        try:
            yield " I wait.\\n"
            yield "And wait"
            while True:  # by and by: a signal just before a wait does not end it
                threading.Event().wait(0.1)
        finally:
            pathlib.Path("closed").write_text("")


waiting = Waiting()
'''
TOOLS = '''
from reactext.tools import tool


@tool
def greet(name: str) -> str:
    """Greets."""
    return f"Hello {name}"
'''

NOISY = '''
import os
from reactext.tools import tool

print("while it is loaded")


@tool
def shout() -> str:
    """Shouts."""
    print("of the tool")
    os.system("echo of its program")
    return "done"
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with models and tools, where the command is run."""
    (tmp_path / "scripts.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "greeter.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "noisy.py").write_text(NOISY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("scripts", None)
    sys.modules.pop("greeter", None)


def ask(model: str, *options: str, task: str = "What is 17 * 23?", stdin: str = "") -> Result:
    arguments = ["ask", task, "--model", f"python:scripts.py:{model}", *options]
    return CliRunner().invoke(app, arguments, input=stdin)


def test_the_answer_and_the_account(place: Path) -> None:
    result = ask("answering")
    assert (result.exit_code, result.stdout) == (0, "17 * 23 is 391.\n")
    assert result.stderr.startswith(
        'I need the product.\n→ calculator(expression="17 * 23")\n'
        "← 391\nI know the answer.\nScriptedModel · 2 steps"
    )


def test_quiet(place: Path) -> None:
    result = ask("answering", "--quiet")
    assert (result.exit_code, result.output) == (0, "17 * 23 is 391.\n")


def test_json(place: Path) -> None:
    result = ask("answering", "--json", "-q")
    context = ExecutionContext.model_validate_json(result.stdout)
    assert (result.exit_code, context.status) == (0, "finished")
    assert context.steps[0].observations[0].text == "391"
    assert result.stderr == ""


def test_the_task_from_stdin(place: Path) -> None:
    result = ask("answering", "--json", task="-", stdin="What is 17 * 23?\n")
    assert ExecutionContext.model_validate_json(result.stdout).task.strip() == "What is 17 * 23?"


def test_a_task_without_quotes(place: Path) -> None:
    arguments = ["ask", "What", "is", "17", "--json", "--model", "python:scripts.py:answering"]
    result = CliRunner().invoke(app, arguments)
    assert ExecutionContext.model_validate_json(result.stdout).task == "What is 17"


def test_own_tools(place: Path) -> None:
    result = ask("greeting", "--tools", "greeter.py")
    assert "← Hello Ana" in result.stderr
    assert result.exit_code == 0


def test_the_last_allowed_step(place: Path) -> None:
    result = ask("calling", "--max-steps", "1")
    assert result.exit_code == 3
    assert "391" in result.stdout
    assert "not finished (max_steps" in result.stderr


def test_a_tool_that_nobody_approves(place: Path) -> None:
    result = ask("answering", "--approve", "calc*")
    assert "← This call was not allowed" in result.stderr


def test_a_pattern_that_fits_no_tool(place: Path) -> None:
    result = ask("answering", "--approve", "calculate")
    assert result.exit_code == 2
    assert "'calculate', which fits no tool; did you mean calculator?" in result.stderr


def test_no_more_seconds(place: Path) -> None:
    result = ask("calling", "--max-seconds", "0.000001")
    assert result.exit_code == 3
    assert "not finished (max_seconds" in result.stderr


def test_an_answer_that_is_cut(place: Path) -> None:
    result = ask("cut")
    assert (result.exit_code, result.stdout) == (3, "Once upon a time\n")
    assert "the answer is cut: it came to the limit of tokens\n" in result.stderr


@pytest.mark.parametrize("options", [[], ["--json"], ["-q"]])
def test_what_tools_print_is_no_answer(place: Path, options: list[str]) -> None:
    process = start(
        "ask", "x", "--model", "python:scripts.py:shouting", "--tools", "noisy.py", *options
    )
    output, errors = process.communicate(timeout=30)
    answer = ExecutionContext.model_validate_json(output).answer if "--json" in options else output
    assert (answer or "").strip() == "17 * 23 is 391."
    for said in ("while it is loaded", "of the tool", "of its program"):
        assert said in errors


def test_a_model_that_raises(place: Path) -> None:
    result = ask("raising")
    assert result.exit_code == 1
    assert re.search(
        r"^reactext: the model ScriptedModel raised ValueError: boom \(.*, line \d+\)$",
        result.stderr,
        re.MULTILINE,
    )
    assert "Traceback" not in result.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="wants a device that is always full")
@pytest.mark.parametrize("command", ["ask x", "render x"])
def test_a_full_disk(place: Path, command: str) -> None:
    with open("/dev/full", "w") as full:
        process = start(*command.split(), "--model", "python:scripts.py:answering", stdout=full)
        _, errors = process.communicate(timeout=30)
    assert errors.splitlines()[-1] == "reactext: No space left on device"
    assert "Traceback" not in errors
    assert process.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="streams are closed the POSIX way")
@pytest.mark.parametrize(
    ("closing", "code", "said"),
    [
        (">&-", 141, "reactext: stdout is closed: there is nowhere to write to\n"),
        ("<&-", 0, "391"),
        ("2>&-", 0, ""),
    ],
)
def test_closed_streams(place: Path, closing: str, code: int, said: str) -> None:
    model = "python:scripts.py:answering"
    command = f"{sys.executable} -m reactext ask x --model {model} {closing}"
    environment = {**os.environ, "PYTHONPATH": str(Path(reactext.__file__).parent.parent)}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trace_that_cannot_be_written(place: Path) -> None:
    result = ask("answering", "--trace", "scripts.py/trace.jsonl")
    assert result.exit_code == 2
    assert "traces cannot be written to 'scripts.py/trace.jsonl'" in result.stderr
    assert "→" not in result.stderr


def test_a_run_is_traced(place: Path) -> None:
    ask("answering", "--trace", "run.jsonl")
    shown = CliRunner().invoke(app, ["trace", "run.jsonl"]).stdout
    assert "answer: 17 * 23 is 391." in shown


def test_a_server_that_fails_in_mid_run(place: Path) -> None:
    result = ask("failing", "--json")
    context = ExecutionContext.model_validate_json(result.stdout)
    assert (result.exit_code, context.status) == (1, "failed")
    assert context.steps[0].observations[0].text == "391"
    assert result.stderr.endswith("reactext: nothing answers; start it\n")
    assert result.stderr.count("nothing answers") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ask"], "Missing argument 'TASK'"),
        (["ask", " ", "--model", "python:scripts.py:answering"], "task=' ' must be the question"),
        (["ask", "x", "--model", "nothing:x"], "'nothing:x' names no model"),
        (["ask", "x", "--model", "python:scripts.py"], "add what is meant"),
        (["ask", "x", "--model", "python:scripts.py:CALL"], "names no model"),
        (["ask", "x", "--model", "python:scripts.py:answering", "--tools", "no.py"], "no file"),
        (["ask", "x", "--max-steps", "0"], "0 is not in the range"),
        (["ask", "x", "--model", "embedded:no.gguf"], "there is no file 'no.gguf'"),
        (["answer"], "No such command 'answer'"),
    ],
)
def test_wrong_usage(place: Path, arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.output


def test_render_shows_the_exact_prompt(place: Path) -> None:
    arguments = ["render", "What is 17 * 23?", "--model", "python:scripts.py:answering"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert result.stdout == Engine(ScriptedModel([]), BUILTIN_TOOLS).render("What is 17 * 23?")


def test_own_prompts(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "react.jinja").write_text("My own prompt.\n", encoding="utf-8")
    arguments = ["render", "x", "--model", "python:scripts.py:answering", "--prompts", "mine"]
    assert "My own prompt." in CliRunner().invoke(app, arguments).stdout


def start(*arguments: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(reactext.__file__).parent.parent)}
    return subprocess.Popen(
        [sys.executable, "-m", "reactext", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("seen", ["I wait.", "And wait"])
def test_an_interrupt_stops_the_model(place: Path, seen: str) -> None:
    process = start("ask", "x", "--model", "python:scripts.py:waiting", "--json")
    assert process.stderr
    told = ""
    while seen not in told:
        told += process.stderr.read(1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (place / "closed").exists()
    assert "cancelled: interrupted" in errors
    assert "Traceback" not in errors
    context = ExecutionContext.model_validate_json(output)
    assert context.status == "cancelled"
    assert context.steps[0].observations[0].text == "391"


@pytest.mark.skipif(os.name != "posix", reason="a pipe is closed the POSIX way")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_goes_away(place: Path, stream: str) -> None:
    process = start("ask", "x", "--model", "python:scripts.py:answering", "--json")
    getattr(process, stream).close()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 141
    if stream == "stdout":
        assert "Traceback" not in errors
        assert "Exception ignored" not in errors


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import reactext.cli; reactext.cli.main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(reactext.__file__).parent.parent)}
    result = subprocess.run(
        [sys.executable, "-c", code, "models"], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 2
    assert result.stderr == (
        f"reactext: the command line needs {missing}; "
        "install it with: pip install 'reactext[cli]'\n"
    )


def answered_by(key: bytes | None, *options: str) -> tuple[int, str]:
    """Ask on a terminal, press a key at the question (None: Ctrl-C); the exit code, what is shown."""
    import pty

    master, terminal = pty.openpty()
    arguments = ["ask", "x", "--model", "python:scripts.py:answering", "--approve", "calc*"]
    process = subprocess.Popen(
        [sys.executable, "-m", "reactext", *arguments, *options],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "PYTHONPATH": str(Path(reactext.__file__).parent.parent),
            "TERM": "xterm-256color",
        },
    )
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
            if piece.endswith(b"in its place: "):
                if key is None:
                    process.send_signal(signal.SIGINT)
                else:
                    os.write(master, key)
    except OSError:
        pass  # how Linux says that the other end is closed
    os.close(master)
    return process.wait(30), shown.decode()


@pytest.mark.skipif(os.name != "posix", reason="a terminal is made the POSIX way")
class TestOnATerminal:
    def test_the_end_of_input_approves_nothing(self, place: Path) -> None:
        code, shown = answered_by(b"\x04")
        assert code == 0
        assert "no decision: the call is not run" in shown
        assert "did not approve it" in shown
        assert "loading the model and reading the task" in shown
        assert "17 * 23 is 391." in shown

    def test_what_is_written_decides(self, place: Path) -> None:
        code, shown = answered_by(b"a\r391, by hand\r")
        assert code == 0
        assert "\u2190 391, by hand" in shown

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_ctrl_c_at_the_question_ends_the_run(self, place: Path, options: list[str]) -> None:
        code, shown = answered_by(None, *options)
        assert code == 130
        assert "Fatal" not in shown
        assert "cancelled: interrupted" in shown
        assert "1 step" in shown
