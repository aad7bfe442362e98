"""``trace`` shows a run that was written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import click

from reactext.errors import SetupError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--width",
    type=click.IntRange(10),
    default=200,
    show_default=True,
    help="Cut each text after so many characters.",
)
@click.option("--full", is_flag=True, help="Cut nothing.")
@click.option(
    "--html",
    type=click.File("w", encoding="utf-8", lazy=True, atomic=True),
    help="Write a page to this file instead.",
)
def trace(file: Path, width: int, full: bool, html: TextIO | None) -> None:
    """Show the runs that FILE, or the files of a directory, tell of, and what each step took."""
    from reactext.trace import account, page, read_trace, step_table

    runs = read_trace(file)
    if not runs:
        raise SetupError(f"{str(file)!r} tells of no run; is it a file that Trace has written?")
    if html is not None:
        html.write(page(runs))
        return
    shown = (f"{account(run, width=None if full else width)}\n{step_table(run)}" for run in runs)
    click.echo("\n\n".join(shown))
