"""Reads a docstring: what the model is told of a tool, and of each of its parameters."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

_HEADING = re.compile(
    r"^(Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Examples?|Notes?):?\s*$", re.I
)
_ARGUMENTS = {"args", "arguments", "parameters", "params"}
_GOOGLE = re.compile(r"^(\s+)(\w+)(?:\s*\([^)]*\))?\s*:\s+(.+)$")
_NUMPY = re.compile(r"^(\w+)\s*(?::\s*\S.*)?$")
_SPHINX = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")
_FIELD = re.compile(r"^:\w+[^:]*:")


def docstring_of(function: Callable[..., Any]) -> str:
    """Return what is written about a function, and not about the kind of object that it is."""
    if isinstance(function, functools.partial):
        return docstring_of(function.func)
    text = getattr(function, "__doc__", None)
    if text == type(function).__doc__ and not inspect.isroutine(function):
        text = type(function).__call__.__doc__ or text
    return str(text or "")


def read_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the description, and the remark on each parameter by its name.

    Parameters are read in the Google, NumPy and Sphinx forms; what a section says of results,
    errors and examples stays for people.
    """
    reader = _Reader()
    for line in inspect.cleandoc(docstring).splitlines():
        reader.read(line)
    return "\n".join(reader.description).strip(), reader.remarks


class _Reader:
    """Where in a docstring we are."""

    def __init__(self) -> None:
        self.description: list[str] = []
        self.remarks: dict[str, str] = {}
        self._section = ""
        self._parameter = ""
        self._indent = ""

    def read(self, line: str) -> None:
        heading = _HEADING.match(line)
        sphinx = _SPHINX.match(line)
        if heading:
            self._section, self._parameter, self._indent = heading[1].lower(), "", ""
        elif sphinx:
            self._section = "field"
            self._begin(sphinx[1], sphinx[2])
        elif _FIELD.match(line):
            self._section, self._parameter = "field", ""
        elif not self._section:
            self.description.append(line)
        elif line.strip() and not set(line.strip()) <= {"-", "="}:
            self._read_in_section(line)

    def _read_in_section(self, line: str) -> None:
        google, numpy = _GOOGLE.match(line), _NUMPY.match(line)
        in_arguments = self._section in _ARGUMENTS
        if in_arguments and google and self._indent in ("", google[1]):
            self._indent = google[1]
            self._begin(google[2], google[3])
        elif in_arguments and numpy and not self._indent:
            self._begin(numpy[1], "")
        elif line[0].isspace():
            self._go_on(line.strip())
        elif self._indent:  # the section is over, and the text goes on
            self._section, self._parameter = "", ""
            self.description.append(line)

    def _begin(self, parameter: str, remark: str) -> None:
        self._parameter = parameter
        self.remarks[parameter] = remark.strip()

    def _go_on(self, text: str) -> None:
        if self._parameter:
            self.remarks[self._parameter] = f"{self.remarks[self._parameter]} {text}".strip()
