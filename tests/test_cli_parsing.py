"""``parse`` prints the turn as JSON, or says where reading failed, in a code of its own."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from reactext import Turn, parse
from reactext.builtin_tools import BUILTIN_TOOLS
from reactext.cli.app import app

TEXT = 'Thought: 我算一下\nAction: calculator("17 * 23")\n'


def run(*arguments: str, text: str | bytes = TEXT) -> Result:
    return CliRunner().invoke(app, ["parse", *arguments], input=text)


def test_the_turn_from_stdin() -> None:
    result = run()
    assert (result.exit_code, result.stderr) == (0, "")
    assert Turn.model_validate_json(result.stdout) == parse(TEXT)
    assert "我算一下" in result.stdout


def test_the_turn_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "turn.txt").write_text(TEXT, encoding="utf-8")
    assert Turn.model_validate_json(run(str(tmp_path / "turn.txt"), text="").stdout) == parse(TEXT)


def test_tools_bind_arguments() -> None:
    result = run("--tools", "reactext.builtin_tools")
    assert Turn.model_validate_json(result.stdout) == parse(TEXT, BUILTIN_TOOLS)
    assert '"expression": "17 * 23"' in result.stdout


def test_a_cue() -> None:
    assert (
        Turn.model_validate_json(run("--cue", "Thought:", text=" x\nAction: a()").stdout).thought
        == "x"
    )


def test_a_caret_under_what_is_wrong() -> None:
    result = run(text="Thought: 我查一下\nAction: search(city=Oslo, x=f(1))\n")
    assert (result.exit_code, result.stdout) == (4, "")
    shown = result.stderr.splitlines()
    assert shown[0].startswith("reactext: f(…) is a call as an argument of search")
    assert shown[1] == "    Action: search(city=Oslo, x=f(1))"
    assert shown[2].strip() == "^"
    assert shown[3].startswith("write, for instance: ")


def test_the_remedy_is_a_call_of_a_real_tool() -> None:
    result = run("--tools", "reactext.builtin_tools", text="Thought: so")
    assert "write, for instance: Action: calculator(" in result.stderr


def test_bytes_that_are_no_text() -> None:
    result = run(text=b"Final Answer: \xff\xfe 391")
    assert result.exit_code == 0
    assert Turn.model_validate_json(result.stdout).answer == "�� 391"


def test_an_explanation() -> None:
    result = run("--explain", text="Thought: so\n**Action:** a(x=1")
    assert Turn.model_validate_json(result.stdout).actions[0].tool == "a"
    assert result.stderr == (
        "   1:1  label thought       Thought:\n"
        "   1:9  thought             so\n"
        "   2:1  label action        **Action:**\n"
        "  2:12  action              a(x=1\n"
        "  c1.1  call of calls.lark  a(x=1\n"
        "tolerated: dressed label, missing closer\n"
    )


def test_an_explanation_of_what_cannot_be_read() -> None:
    result = run("--explain", text="Thought: so")
    assert result.exit_code == 4
    assert result.stderr.startswith(
        "   1:1  label thought  Thought:\n   1:9  thought        so\nreactext: "
    )


def test_no_such_file() -> None:
    assert run("nothing.txt").exit_code == 2
