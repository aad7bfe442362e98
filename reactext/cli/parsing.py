"""``parse`` reads a model's text as the engine would, and shows what it read."""

from __future__ import annotations

from typing import TextIO

import click

import reactext
from reactext.cli.loading import tools_from
from reactext.tools import Toolbox
from reactext.visible import one_line, visible


@click.command()
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"), default="-")
@click.option("--tools", multiple=True, metavar="PLACE", help="As for ask: names are resolved.")
@click.option("--cue", default="", help='What the prompt ended in, such as "Thought:".')
@click.option("--explain", is_flag=True, help="Tell on stderr what each part was taken as.")
def parse(file: TextIO, tools: tuple[str, ...], cue: str, explain: bool) -> None:
    """Read one turn of a model from FILE or stdin, and print it as JSON.

    Where no step can be read, what is wrong is said on stderr, with a caret under the place.
    """
    if file.isatty():
        click.echo("reading what you type, until Ctrl-D", err=True)
    text = file.read()
    toolbox = Toolbox(tools_from(tools)) if tools else None
    if explain:
        _tell(text, toolbox, cue)
    click.echo(visible(reactext.parse(text, toolbox, cue=cue).model_dump_json(indent=2)))


def _tell(text: str, toolbox: Toolbox | None, cue: str) -> None:
    """Print one line for each part, one for each call, and one for what was tolerated."""
    from reactext.explaining import explain

    told = explain(text, toolbox, cue=cue)
    rows = [
        (_place(text, part.start), part.taken_as, part.text)
        for part in told.parts
        if part.text.strip()
    ]
    if told.turn is not None:
        rows += [(each.id, told.rules[each.id], each.text) for each in told.turn.actions]
        rows += [("", "the answer", told.turn.answer)] if told.turn.answer else []
    width = max((len(taken_as) for _, taken_as, _ in rows), default=0)
    for place, taken_as, part in rows:
        click.echo(f"{place:>6}  {taken_as:<{width}}  {one_line(part, 60)}", err=True)
    if told.turn is not None and told.turn.repairs:
        click.echo(f"tolerated: {visible(', '.join(told.turn.repairs))}", err=True)


def _place(text: str, position: int) -> str:
    """Return line and column, counted from 1."""
    return f"{text.count(chr(10), 0, position) + 1}:{position - text.rfind(chr(10), 0, position)}"
