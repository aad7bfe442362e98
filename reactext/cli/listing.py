"""``models``: what can be asked, what of it is here, and what is asked by default."""

from __future__ import annotations

import os

import click

from reactext.visible import visible
from reactext.weights import CATALOGUE, Weights, is_here


@click.command()
def models() -> None:
    """List the models that can be asked, and mark the one that is asked by default."""
    from reactext import backends
    from reactext.backends._http import Origin
    from reactext.backends._ollama_facts import names
    from reactext.backends._ollama_host import ollama_url

    server = Origin(ollama_url(), timeouts=backends.Timeouts(connect=1.0, ask=2.0))
    try:
        served = [f"ollama:{name}" for name in names(server)]
    finally:
        server.close()
    rows = {f"embedded:{each.name}": _remark(each) for each in CATALOGUE}
    rows |= dict.fromkeys(served, "")
    chosen = _name(backends.model())
    rows.setdefault(chosen, "as REACTEXT_MODEL says")
    width = max(map(len, rows))
    for name, remark in rows.items():
        click.echo(f"{'*' if name == chosen else ' '} {visible(name):<{width}}  {remark}".rstrip())
    if not served:
        click.echo(f"no Ollama server with a model answers at {server.url}", err=True)


def _remark(weights: Weights) -> str:
    place = "here" if is_here(weights) else "not here"
    return f"{weights.size / 1e6:5.0f} MB  {place:<8}  {weights.licence}  {weights.remark}"


def _name(model: object) -> str:
    from reactext import backends

    match model:
        case backends.EmbeddedModel():
            return f"embedded:{model.name}"
        case backends.OllamaModel():
            return f"ollama:{model.name}"
    return os.environ["REACTEXT_MODEL"].strip()
