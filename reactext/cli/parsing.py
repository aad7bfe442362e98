"""``parse`` reads a model's text as the engine would, and shows what it read."""

from __future__ import annotations

from typing import TextIO

import click

import reactext
from reactext.cli.loading import tools_from
from reactext.tools import Toolbox


@click.command()
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"), default="-")
@click.option("--tools", multiple=True, metavar="PLACE", help="As for ask: names are resolved.")
@click.option("--cue", default="", help='What the prompt ended in, such as "Thought:".')
def parse(file: TextIO, tools: tuple[str, ...], cue: str) -> None:
    """Read one turn of a model from FILE or stdin, and print it as JSON.

    Where no step can be read, what is wrong is said on stderr, with a caret under the place.
    """
    if file.isatty():
        click.echo("reading what you type, until Ctrl-D", err=True)
    toolbox = Toolbox(tools_from(tools)) if tools else None
    click.echo(reactext.parse(file.read(), toolbox, cue=cue).model_dump_json(indent=2))
