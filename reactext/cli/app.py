"""The commands together."""

from __future__ import annotations

import click

import reactext
from reactext.cli.asking import ask, render
from reactext.cli.examining import doctor
from reactext.cli.exits import Guarded
from reactext.cli.fetching import pull
from reactext.cli.listing import models
from reactext.cli.parsing import parse
from reactext.cli.tracing import trace

app = click.version_option(reactext.__version__)(
    Guarded(
        "reactext",
        commands=[ask, render, parse, trace, pull, models, doctor],
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Turns any model that can continue a text into an agent.",
        epilog="Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 no whole answer in the limits, "
        "4 unreadable, 130 interrupted.",
    )
)
