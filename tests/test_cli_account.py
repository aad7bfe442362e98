"""The account of a run: steps on stderr, the answer alone on stdout, nothing steers a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reactext
from reactext.cli.account import LONGEST, Account
from reactext.context import ExecutionContext, Finished, Status
from reactext.hooks import Event
from reactext.models import Action, Correction, Observation, TextDelta, Usage


def finished(
    answer: str | None = "391", *, status: Status = "finished", reason: str = ""
) -> Finished:
    return Finished(
        context=ExecutionContext(
            run_id="r", task="t", status=status, answer=answer, stop_reason=reason
        )
    )


RUN: list[Event] = [
    *[TextDelta(kind="thought", text=text) for text in (" I need", " to\n", "calculate", ".\n")],
    Action(id="c1.1", tool="calculator", text='calculator(expression="17 * 23")'),
    Observation(action_id="c1.1", tool="calculator", text="391\n"),
    TextDelta(kind="thought", text=" I know the answer."),
    *[TextDelta(kind="answer", text=text) for text in (" ", "3", "91")],
    finished(),
]
TOLD = """\
I need to
calculate.
→ calculator(expression="17 * 23")
← 391
I know the answer.
0 steps · 0.0 s
"""


def untimed(text: str) -> str:
    return re.sub(r"\d+\.\d s", "0.0 s", text)


def told(events: list[Event], *, quiet: bool = False, answer: bool = True) -> None:
    with Account(quiet=quiet, answer=answer) as account:
        for event in events:
            account.show(event)


def test_piped(capsys: pytest.CaptureFixture[str]) -> None:
    told(RUN)
    output = capsys.readouterr()
    assert output.out == "391\n"
    assert untimed(output.err) == TOLD


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    told(RUN, quiet=True)
    assert tuple(capsys.readouterr()) == ("391\n", "")


def test_without_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    told(RUN, answer=False)
    output = capsys.readouterr()
    assert (output.out, untimed(output.err)) == ("", TOLD)


def test_observations_of_several_actions_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    told(
        [
            *[Action(id=f"c1.{n}", tool=name, text=f"{name}()") for n, name in enumerate("ab")],
            Observation(action_id="c1.0", tool="a", text="1"),
            Observation(action_id="c1.1", tool="b", text="2"),
        ]
    )
    assert capsys.readouterr().err == "→ a()\n→ b()\n← a: 1\n← b: 2\n"


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            Observation(action_id="", tool="t", text="x" * 9999),
            f"{'x' * (LONGEST - 1)}… (9999 charac",
        ),
        (
            Observation(action_id="", tool="t", text="\x1b[2J\r\x07[bold]x"),
            r"← \x1b[2J\x0d\x07[bold]x",
        ),
        (TextDelta(kind="thought", text="\x1b]0;title\x07:smile:"), r"\x1b]0;title\x07:smile:"),
        (Correction(text="", problem="there is no Action"), "✗ there is no Action\n"),
        (
            finished(status="forced", reason="max_steps"),
            "not finished (max_steps): this is what the steps so far allow to say\n",
        ),
        (finished(None, status="cancelled", reason="interrupted"), "cancelled: interrupted\n"),
    ],
)
def test_events(capsys: pytest.CaptureFixture[str], event: Event, shown: str) -> None:
    told([event])
    assert shown in capsys.readouterr().err


def test_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    usage = Usage(prompt_tokens=412, cached_tokens=380, completion_tokens=25)
    event = finished()
    told([Finished(context=event.context.model_copy(update={"usage": usage}))])
    assert (
        "0 steps · 0.0 s · 412 tokens read (380 cached) · 25 written\n" in capsys.readouterr().err
    )


def test_an_answer_that_was_not_streamed_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    told([TextDelta(kind="answer", text="half"), finished("the whole")])
    assert capsys.readouterr().out == "the whole\n"


PROGRAM = """
from reactext.cli.account import Account
from reactext.context import ExecutionContext, Finished
from reactext.models import TextDelta
with Account() as account:
    account.show(TextDelta(kind="thought", text=" so"))
    for piece in (" on", "e\\x1b[2J", "\\n"):
        account.show(TextDelta(kind="answer", text=piece))
    context = ExecutionContext(run_id="r", task="t", status="finished", answer="one\\x1b[2J")
    account.show(Finished(context=context))
"""


@pytest.mark.skipif(os.name != "posix", reason="a terminal is made the POSIX way")
def test_on_a_terminal() -> None:
    import pty

    master, terminal = pty.openpty()
    environment = {
        **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
        "PYTHONPATH": str(Path(reactext.__file__).parent.parent),
        "TERM": "xterm-256color",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    written = b""
    try:
        while piece := os.read(master, 65536):
            written += piece
    except OSError:
        pass  # how Linux says that the other end is closed
    os.close(master)
    assert process.wait(30) == 0
    text = written.decode().replace("\r\n", "\n")
    assert "\x1b[2mso\x1b[0m\n" in text
    assert text.count("one\\x1b[2J\n") == 1
