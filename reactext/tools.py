"""A function becomes a tool: what the model is told of it, and how its arguments are bound."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reactext.cancellation import Cancellation
from reactext.errors import SetupError


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a tool may know of the run it serves; filled in by the engine, hidden from the model."""

    run_id: str = ""
    step: int = 0
    cancellation: Cancellation = field(default_factory=Cancellation)
    deps: Any = None

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled; a long tool should look now and then, and return."""
        return self.cancellation.cancelled


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as the model sees it; ``schema`` is its JSON schema, with no ``$ref``."""

    name: str
    schema: dict[str, Any]
    required: bool = True
    default: Any = None
    type_text: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with the name, the description and the parameters that the model is shown."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., Any]
    example: str | None = None


def tool(function: Callable[..., Any], *, name: str | None = None) -> Tool:
    """Make a tool of a function."""
    parameters = tuple(
        Parameter(
            name=each.name,
            schema={},
            required=each.default is inspect.Parameter.empty,
            default=None if each.default is inspect.Parameter.empty else each.default,
        )
        for each in inspect.signature(function).parameters.values()
    )
    return Tool(name or function.__name__, inspect.getdoc(function) or "", parameters, function)


class Toolbox:
    """Tools by name; their order is that of the prompt."""

    def __init__(self, tools: Iterable[Any] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            made = each if isinstance(each, Tool) else tool(each)
            if made.name in self._tools:
                raise SetupError(f"two tools are named {made.name!r}; rename one of them")
            self._tools[made.name] = made

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        """Return the tool of exactly this name, or None."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)
