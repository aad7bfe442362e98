"""Reads the files that `Trace` writes, and shows them: as an account, as a table, as a page."""

from __future__ import annotations

from reactext.trace.account import account, step_table
from reactext.trace.page import page
from reactext.trace.reading import read_trace
from reactext.trace.values import Asked, Called, TracedRun, TracedStep

__all__ = [
    "Asked",
    "Called",
    "TracedRun",
    "TracedStep",
    "account",
    "page",
    "read_trace",
    "step_table",
]
