"""``ask`` runs a task, ``render`` shows the prompt that it would send first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reactext.cli.choosing import model_of, model_option
from reactext.cli.exits import Exit
from reactext.cli.loading import tools_from
from reactext.context import Finished

if TYPE_CHECKING:
    from reactext.cli.account import Account
    from reactext.engine import Engine
    from reactext.run import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])

_EXITS = {"finished": Exit.ANSWERED, "forced": Exit.FORCED, "cancelled": Exit.INTERRUPTED}


def _engine_options(command: _Command) -> _Command:
    """Add what makes an engine: the model, the tools and the prompts."""
    for option in (
        click.option("--max-steps", type=click.IntRange(1), default=10, show_default=True),
        click.option(
            "--prompts",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Directory of templates that replace ours.",
        ),
        click.option("--language", default="auto", show_default=True, help="en or zh."),
        click.option(
            "--tools",
            multiple=True,
            metavar="PLACE",
            help="FILE.py, module, or one of these with :name; may be given again. "
            "Without any there are a calculator and a clock.",
        ),
        model_option,
    ):
        command = option(command)
    return command


@click.command()
@click.argument("task")
@_engine_options
@click.option("--approve", multiple=True, metavar="PATTERN", help="Ask before such tools are run.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Write what happens to this file as it happens; `reactext trace FILE` shows it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole run as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print the answer and nothing else.")
def ask(
    task: str,
    approve: tuple[str, ...],
    trace: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Answer TASK, which is read from stdin when it is "-".

    The steps are told on stderr and the answer goes to stdout.
    """
    from reactext.cli.account import Account
    from reactext.tracing import Trace

    options["approve"] = dict.fromkeys(approve, True) or None
    options["hooks"] = [] if trace is None else [Trace(trace)]
    with (
        _engine(**options) as engine,
        engine.stream(_text_of(task)) as run,
        Account(quiet=quiet, answer=not as_json) as account,
    ):
        try:
            _follow(run, account)
        finally:
            if as_json:
                click.echo(run.context.model_dump_json(indent=2))
    raise click.exceptions.Exit(_EXITS.get(run.context.status, Exit.FAILED))


@click.command()
@click.argument("task")
@_engine_options
def render(task: str, **options: Any) -> None:
    """Print the exact text that a model would be sent first for TASK."""
    with _engine(**options) as engine:
        sys.stdout.write(engine.render(_text_of(task)))


def _text_of(task: str) -> str:
    return sys.stdin.read() if task == "-" else task


@contextmanager
def _engine(*, model: str | None, tools: tuple[str, ...], **options: Any) -> Iterator[Engine]:
    from reactext.builtin_tools import BUILTIN_TOOLS
    from reactext.engine import Engine

    with model_of(model) as chosen:
        yield Engine(chosen, tools_from(tools) if tools else BUILTIN_TOOLS, **options)


def _follow(run: Run, account: Account) -> None:
    """Show the run to its end. Ctrl-C ends it at the model, and what was done is kept."""
    try:
        for event in run:
            account.show(event)
    except KeyboardInterrupt:  # between two events: inside of one, the run sees to it
        run.cancel("interrupted")
        run.close()
        account.show(Finished(context=run.context))
