"""Tools of which only the signature matters: ``get_weather(city, days?)``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from reactext.errors import SetupError
from reactext.tools import Tool, Toolbox, tool

_SIGNATURE = re.compile(r"([^()]*[^()\s])\(([^()]*)\)")


def toolbox_of(signatures: Iterable[str]) -> Toolbox:
    """Make a toolbox of lines such as ``get_weather(city, days?)``; its tools do nothing.

    A parameter with ``?`` is optional. Raises SetupError.
    """
    return Toolbox([_tool(each) for each in signatures])


def _tool(line: str) -> Tool:
    found = _SIGNATURE.fullmatch(line.strip())
    if found is None:
        raise SetupError(f"{line!r} is no signature; write it as get_weather(city, days?)")
    names = [each.strip() for each in found[2].split(",")] if found[2].strip() else []

    def function(**_: object) -> str:
        return ""

    function.__doc__ = f"{found[1]}."
    try:
        parameters = [_parameter(each) for each in names]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    except ValueError as error:
        raise SetupError(f"{line!r} is no signature: {error}") from error
    return tool(function, name=found[1].strip())


def _parameter(written: str) -> inspect.Parameter:
    return inspect.Parameter(
        written.removesuffix("?"),
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None if written.endswith("?") else inspect.Parameter.empty,
    )
