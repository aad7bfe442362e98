"""Reads a docstring: what the model is told of a tool, and of each of its parameters."""

from __future__ import annotations

import inspect
import re

_HEADING = re.compile(
    r"^(Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Examples?|Notes?):?\s*$", re.I
)
_ARGUMENTS = {"args", "arguments", "parameters", "params"}
_GOOGLE = re.compile(r"^(\w+)(?:\s*\([^)]*\))?\s*:\s+(.+)$")
_NUMPY = re.compile(r"^(\w+)\s*(?::\s*\S.*)?$")
_SPHINX = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")
_FIELD = re.compile(r"^:\w+[^:]*:")


def read_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the description, and the remark on each parameter by its name.

    Parameters are read in the Google, NumPy and Sphinx forms; what a section says of results,
    errors and examples stays for people.
    """
    description: list[str] = []
    remarks: dict[str, str] = {}
    section, last = "", ""
    for line in inspect.cleandoc(docstring).splitlines():
        heading = _HEADING.match(line)
        if heading:
            section, last = heading[1].lower(), ""
        elif _FIELD.match(line):
            section, last = "field", _remark(_SPHINX.match(line), remarks)
        elif not section:
            description.append(line)
        elif line.strip() and not set(line.strip()) <= {"-", "="}:
            last = _argument(line, section, last, remarks)
    return "\n".join(description).strip(), remarks


def _argument(line: str, section: str, last: str, remarks: dict[str, str]) -> str:
    """Take in one line of a section; returns the parameter that it speaks of."""
    text = line.strip()
    if section in _ARGUMENTS:
        google = _GOOGLE.match(text)
        if google and line[0].isspace():
            return _remark(google, remarks)
        numpy = _NUMPY.match(line)
        if numpy:
            remarks[numpy[1]] = ""
            return numpy[1]
    if last and line[0].isspace():
        remarks[last] = f"{remarks[last]} {text}".strip()
    return last


def _remark(match: re.Match[str] | None, remarks: dict[str, str]) -> str:
    if match is None:
        return ""
    remarks[match[1]] = match[2].strip()
    return match[1]
