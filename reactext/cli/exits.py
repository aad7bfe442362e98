"""How a command ends: the exit codes, and what of an error people are shown."""

from __future__ import annotations

import enum
import os
import sys
from typing import IO, Any

import click

from reactext.errors import ReactextError, SetupError, TurnError
from reactext.trace.visible import visible


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

    def __init__(self, error: ReactextError) -> None:
        remedy = f"\nwrite, for instance: {error.remedy}" if isinstance(error, TurnError) else ""
        super().__init__(f"{error}{remedy}")
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
            _write_nowhere()
            ctx.exit(Exit.PIPE_CLOSED)
        except ReactextError as error:
            raise Fault(error) from error
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(Exit.INTERRUPTED)
        return result


def _code(error: ReactextError) -> Exit:
    if isinstance(error, TurnError):
        return Exit.UNREADABLE
    return Exit.USAGE if isinstance(error, SetupError) else Exit.FAILED


def _write_nowhere() -> None:
    """Let the interpreter flush what is left without another complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
