"""The streams of the process: those that were closed, and stdout, which is for the answer alone."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


def prepare() -> bool:
    """Stand something in for closed streams; False if there is no stdout to write to.

    What a model writes need not be text that a terminal can show: it is replaced there.
    """
    has_output = sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        with contextlib.suppress(AttributeError, io.UnsupportedOperation):
            getattr(sys, name).reconfigure(errors="replace")
    return has_output


@contextmanager
def kept_apart() -> Iterator[TextIO]:
    """Give stdout; whatever tools and models print in the block goes to stderr instead.

    That holds for the programs that they start, too.
    """
    shown = sys.stdout
    try:
        here, told = shown.fileno(), sys.stderr.fileno()
    except (OSError, ValueError):  # no files of the system's: somebody's own streams
        with contextlib.redirect_stdout(sys.stderr):
            yield shown
        return
    shown.flush()
    kept = os.dup(here)
    os.dup2(told, here)
    own = open(kept, "w", encoding=shown.encoding, errors="replace")  # noqa: SIM115
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield own
    finally:
        os.dup2(kept, here)
        own.close()


def write_nowhere(*streams: TextIO) -> None:
    """Let the interpreter flush what is left without another complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())
