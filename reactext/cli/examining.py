"""``doctor`` tries what a model does, and says what to do about what it does not."""

from __future__ import annotations

import json

import click

from reactext.cli.choosing import model_of, model_option
from reactext.cli.exits import Exit
from reactext.doctor import Verdict, examine, worst
from reactext.visible import visible

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "unknown": None}


@click.command()
@model_option
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def doctor(model: str | None, as_json: bool) -> None:
    """Try what the model and its server do, with a verdict and a remedy on each.

    It fails when one of the verdicts does.
    """
    verdicts: list[Verdict] = []
    with model_of(model) as patient:
        for verdict in examine(patient):
            verdicts.append(verdict)
            if not as_json:
                _show(verdict)
    if as_json:
        click.echo(json.dumps([verdict.model_dump() for verdict in verdicts], indent=2))
    if worst(verdicts) == "failed":
        raise click.exceptions.Exit(Exit.FAILED)


def _show(verdict: Verdict) -> None:
    grade = click.style(f"{verdict.grade:<8}", fg=_COLOURS[verdict.grade])
    click.echo(f"{grade} {verdict.name:<13} {visible(verdict.finding)}")
    if verdict.remedy:
        click.echo(f"{'':<22} {visible(verdict.remedy)}")
