"""How a command ends: the exit codes, and what of an error people are shown."""

from __future__ import annotations

import enum
import os
import sys
import traceback
from typing import IO, Any

import click

from reactext.cli.streams import write_nowhere
from reactext.errors import ReactextError, SetupError, TurnError
from reactext.visible import visible

DEBUG = "REACTEXT_DEBUG"
"""The variable of the environment that asks for tracebacks."""


class Exit(enum.IntEnum):
    """The exit codes; those above 128 are what a shell gives a process that a signal ended."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    FORCED = 3
    UNREADABLE = 4
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class Fault(click.ClickException):
    """An error of ours, shown as one message and no traceback."""

    def __init__(self, error: Exception) -> None:
        super().__init__(_told(error))
        self.exit_code = _code(error)  # type: ignore[misc]  # click declares it on the class

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the message to stderr."""
        # a server's words are in it, and could hold what moves a terminal's cursor
        click.echo(f"reactext: {visible(self.message)}", file=file, err=True)


class Guarded(click.Group):
    """A group whose commands may raise what they like: each fault becomes its exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe can still be handled
        except BrokenPipeError:
            write_nowhere(sys.stdout, sys.stderr)
            ctx.exit(Exit.PIPE_CLOSED)
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(Exit.INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception as error:  # ours, or whatever a model or a tool of the user's raises
            if not isinstance(error, SetupError | TurnError) and os.environ.get(DEBUG):
                raise
            if isinstance(error, OSError):  # perhaps of stdout, which may still hold something
                write_nowhere(sys.stdout)
            raise Fault(error) from error
        return result


def _told(error: Exception) -> str:
    if isinstance(error, TurnError):
        return f"{error}\nwrite, for instance: {error.remedy}"
    if isinstance(error, ReactextError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno}); "
        f"{DEBUG}=1 shows how it came to that"
    )


def _code(error: Exception) -> Exit:
    if isinstance(error, TurnError):
        return Exit.UNREADABLE
    return Exit.USAGE if isinstance(error, SetupError) else Exit.FAILED
