"""``pull`` loads the weights of an embedded model, as ``ask`` does on its first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from reactext.weights import CATALOGUE, DEFAULT, Weights, locate


@click.command()
@click.argument("name", default=DEFAULT.name)
def pull(name: str) -> None:
    """Load the weights of an embedded model, by default the default one, and print their path.

    What was cut is continued. `reactext models` lists the names.
    """
    click.echo(fetched(name))


def fetched(name_or_path: str, *, catalogue: Sequence[Weights] = CATALOGUE) -> Path:
    """Return the file, showing on stderr how far it is while it is loaded."""
    with _progress() as (progress, notice):
        return locate(name_or_path, progress=progress, notice=notice, catalogue=catalogue)


@contextmanager
def _progress() -> Iterator[tuple[Callable[[int, int], None], Callable[[str], None]]]:
    """Give what shows a bar on a terminal; elsewhere there are only lines."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)

    def progress(here: int, whole: int) -> None:
        bar.start()
        bar.update(task, completed=here, total=whole)

    def notice(line: str) -> None:
        console.print(line, markup=False, emoji=False)

    try:
        yield progress, notice
    finally:
        bar.stop()
