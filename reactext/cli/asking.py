"""``ask`` runs a task, ``render`` shows the prompt that it would send first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reactext.cli.choosing import model_of, model_option, name_of
from reactext.cli.exits import Exit
from reactext.cli.loading import tools_from
from reactext.cli.streams import kept_apart
from reactext.context import ExecutionContext, Finished
from reactext.visible import visible

if TYPE_CHECKING:
    from reactext.cli.account import Account
    from reactext.engine import Engine
    from reactext.run import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])

_EXITS = {"finished": Exit.ANSWERED, "forced": Exit.FORCED, "cancelled": Exit.INTERRUPTED}


def _engine_options(command: _Command) -> _Command:
    """Add what makes an engine: the model, the tools and the prompts."""
    for option in (
        click.option(
            "--max-steps",
            type=click.IntRange(1),
            default=10,
            show_default=True,
            help="After so many, the model is asked for its answer.",
        ),
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


def _task(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> str:
    """Join what a shell took apart, where the task stood in no quotes."""
    task = " ".join(words)
    return sys.stdin.read() if task == "-" else task


task_argument = click.argument("task", nargs=-1, required=True, callback=_task, metavar="TASK")


@click.command()
@task_argument
@_engine_options
@click.option("--approve", multiple=True, metavar="PATTERN", help="Ask before such tools are run.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Write what happens to this file as it happens; `reactext trace FILE` shows it.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    help="After so many, the model is asked for its answer before it begins another step.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole run as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print the answer and nothing else.")
def ask(
    task: str,
    model: str | None,
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
    with kept_apart() as out, model_of(model) as chosen:
        engine = _engine(chosen, **options)
        with (
            engine.stream(task) as run,
            Account(quiet=quiet, answer=not as_json, out=out, model=name_of(chosen)) as account,
        ):
            try:
                _follow(run, account)
            finally:
                if as_json:
                    click.echo(visible(run.context.model_dump_json(indent=2)), file=out)
    raise click.exceptions.Exit(_exit_of(run.context))


@click.command()
@task_argument
@_engine_options
def render(task: str, model: str | None, **options: Any) -> None:
    """Print the exact text that a model would be sent first for TASK."""
    with kept_apart() as out, model_of(model) as chosen:
        out.write(_engine(chosen, **options).render(task))


def _engine(model: Any, *, tools: tuple[str, ...], **options: Any) -> Engine:
    from reactext.builtin_tools import BUILTIN_TOOLS
    from reactext.engine import Engine

    return Engine(model, tools_from(tools) if tools else BUILTIN_TOOLS, **options)


def _exit_of(context: ExecutionContext) -> Exit:
    from reactext.cli.account import is_cut

    return Exit.FORCED if is_cut(context) else _EXITS.get(context.status, Exit.FAILED)


def _follow(run: Run, account: Account) -> None:
    """Show the run to its end. Ctrl-C ends it at the model, and what was done is kept."""
    try:
        for event in run:
            account.show(event)
    except KeyboardInterrupt:  # between two events: inside of one, the run sees to it
        run.cancel("interrupted")
        run.close()
        account.show(Finished(context=run.context))
