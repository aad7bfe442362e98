"""A function becomes a tool: what the model is told of it, and how it is to be run.

Its arguments are bound and validated in `arguments`, its calls are run in `runner`.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, Unpack, overload

from reactext.canonical import call_text, value_text
from reactext.errors import SetupError
from reactext.given import Characters, Count, Limit, Natural, Such, Wait, checked, shown, unknown
from reactext.signatures.docstrings import docstring_of, read_docstring
from reactext.signatures.parameters import Parameter, RunContext, read_signature
from reactext.signatures.samples import sample
from reactext.signatures.schema import type_text

__all__ = [
    "Parameter",
    "Retry",
    "RunContext",
    "Tool",
    "ToolOptions",
    "Toolbox",
    "example_call",
    "signature_text",
    "tool",
]

Isolation = Literal["thread", "process"]


@checked
class Retry(Exception):  # noqa: N818 (a request, not a fault)
    """Raised by a tool to be called once more with the same arguments, after ``delay`` seconds."""

    def __init__(self, message: str = "", *, delay: Wait = 0.0) -> None:
        super().__init__(message)
        self.delay = delay


class ToolOptions(TypedDict, total=False):
    """The options of `tool`; each is the field of `Tool` with the same name."""

    name: str
    description: str
    example: str | None
    example_result: str | None
    timeout: float | None
    sequential: bool
    idempotent: bool
    repeatable: bool
    retries: int
    max_concurrency: int | None
    max_observation_chars: int | None
    return_direct: bool
    isolation: Isolation


@checked
@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A function with the name, the description and the parameters that the model is shown.

    It is still called like the function. Two tools are equal only if they are the same one.

    - ``example``: one right call, as the model should write it; made from the types if not given
    - ``example_result``: what that call gives; with it, an only tool is its own worked example
    - ``timeout``: seconds for one call; None is the engine's limit, ``math.inf`` is no limit
    - ``sequential``: never runs beside another call of its turn
    - ``idempotent``: calling again with the same arguments changes nothing and gives the same;
      such a call may be started early, tried again, and answered from memory
    - ``repeatable``: calling again with the same arguments may give something new (a clock)
    - ``retries``: so many further attempts after an exception, if idempotent or after `Retry`
    - ``max_concurrency``: so many calls at once, over all runs of the engine
    - ``max_observation_chars``: what the model sees of a result; None is the engine's limit
    - ``return_direct``: the result is the answer of the run
    - ``isolation``: "process" runs each call in a process of its own, which can be killed
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., Any]
    example: str | None = None
    example_result: str | None = None
    timeout: Limit | None = None
    sequential: bool = False
    idempotent: bool = False
    repeatable: bool = False
    retries: Natural = 0
    max_concurrency: Count | None = None
    max_observation_chars: Characters | None = None
    return_direct: bool = False
    isolation: Isolation = "thread"
    positional_only: tuple[str, ...] = ()
    context_parameter: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_options(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself: no validation, no limits."""
        return self.function(*args, **kwargs)

    @property
    def summary(self) -> str:
        """The first paragraph of the description, on one line."""
        return " ".join(self.description.split("\n\n", 1)[0].split())


@overload
def tool(function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function, sync or async: ``@tool``, ``@tool(timeout=5)`` or ``tool(f)``.

    The model is shown the function's name, its parameters with their types and defaults, and its
    docstring. A parameter annotated `RunContext` is filled by the engine. The options are the
    fields of `Tool`. Raises SetupError where a model could not call the function.
    """
    if function is None:
        return lambda each: _made(each, options)
    return _made(function, options)


def _made(function: Callable[..., Any], options: ToolOptions) -> Tool:
    if isinstance(function, Tool):
        raise SetupError(f"{function.name!r} already is a tool; give its options where it is made")
    if not callable(function):
        name = f"; a name is given as name={function!r}" if isinstance(function, str) else ""
        raise SetupError(f"a tool is made of a function, not of {shown(function)}{name}")
    given = dict(options)
    name = given.pop("name", None) or _name_of(function)
    if not isinstance(name, str):
        raise SetupError(f"name={shown(name)} must be a text")
    if not name or name == "<lambda>":
        raise SetupError(
            f"{shown(function)} has no name that a model could write; use tool(…, name=…)"
        )
    description, remarks = read_docstring(docstring_of(function))
    signature = read_signature(function, name, remarks)
    known = ToolOptions.__annotations__.keys()
    for each in given.keys() - known:
        raise SetupError(unknown(f"tool {name!r}", "option", each, known))
    return Tool(
        name=name,
        description=given.pop("description", description),  # type: ignore[arg-type]
        parameters=signature.parameters,
        function=function,
        positional_only=signature.positional_only,
        context_parameter=signature.context_parameter,
        **given,  # type: ignore[arg-type]  # their names were checked, their values are below
    )


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", "")


def _check_name(name: str) -> None:
    bad = re.search(r"[()\[\]{}\"'`|｜,=\x00-\x1f\x7f\u2028\u2029]|^\s|\s$|^$", name)
    if bad:
        raise SetupError(
            f"a tool cannot be named {name!r}: a model writes name(argument=value), so a name has "
            "no brackets, quotes, bars, commas, equals signs or line breaks, and no space at its "
            "ends"
        )


def _check_options(made: Tool) -> None:
    def refuse(option: str, remedy: str) -> None:
        value = getattr(made, option)
        raise SetupError(f"{option} of tool {made.name!r} is {value!r}; {remedy}")

    if made.isolation == "process":
        _check_importable(made)
    if made.example is not None and not _is_call(made.example, made.name):
        refuse("example", f"give one call on one line, like {example_call(made, own=False)}")


def _check_importable(made: Tool) -> None:
    place = getattr(made.function, "__qualname__", "<instance>")
    if "<" in place:
        raise SetupError(
            f"tool {made.name!r} has isolation='process', but its function ({place}) cannot be "
            "imported by another process; define it at the top level of a module"
        )


def _is_call(text: str, name: str) -> bool:
    return text.startswith(f"{name}(") and text.endswith(")") and "\n" not in text


def signature_text(tool: Tool) -> str:
    """Write how a tool is called, as the model is shown it: ``f(city: str, days: int = 1)``."""
    return f"{tool.name}({', '.join(_parameter_text(each) for each in tool.parameters)})"


def _parameter_text(parameter: Parameter) -> str:
    words = parameter.type_text or (type_text(parameter.schema) if parameter.schema else "")
    typed = f"{parameter.name}: {words}" if words else parameter.name
    if parameter.required:
        return typed
    default = default_text(parameter)
    return f"{typed} = {default}" if words else f"{typed}={default}"


def default_text(parameter: Parameter) -> str:
    """Write a default as the model would, or an ellipsis where it is too long or no JSON."""
    try:
        plain = parameter.default
        if parameter.adapter is not None and plain is not None:
            plain = parameter.adapter.dump_python(plain, mode="json", warnings=False)
        text = value_text(plain)
    except Exception:  # a default can be any object, and its serializer the caller's code
        return "…"
    return text if len(text) <= 40 else "…"


def example_call(tool: Tool, *, own: bool = True) -> str:
    """Write one right call of a tool: its own ``example``, else one made from the types."""
    if own and tool.example is not None:
        return tool.example
    return call_text(
        tool.name,
        kwargs={
            each.name: sample(each.schema, each.name) for each in tool.parameters if each.required
        },
    )


Tools = Annotated[
    Iterable[Tool | Callable[..., Any]],
    Such("a list of tools, such as [get_weather]", lambda given: not isinstance(given, Mapping)),
]


@checked
class Toolbox:
    """Tools by name; their order is that of the prompt."""

    def __init__(self, tools: Tools = ()) -> None:
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

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._tools)})"

    def get(self, name: str) -> Tool | None:
        """Return the tool of exactly this name, or None."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    def nearest(self, name: str, count: int = 3) -> tuple[str, ...]:
        """Return up to ``count`` names that are much like this one, the most alike first."""
        return nearest(name, self._tools, count)


def nearest(name: str, names: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Return up to ``count`` of the names that are much like this one, the most alike first."""
    by_key: dict[str, list[str]] = {}
    for each in names:
        by_key.setdefault(folded(each), []).append(each)
    close = difflib.get_close_matches(folded(name), by_key, n=count, cutoff=0.6)
    return tuple(each for key in close for each in by_key[key])[:count]


def folded(name: str) -> str:
    """Return a name without what models get wrong: case, spaces, ``_`` and ``-``."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


def unknown_tool_text(name: str, toolbox: Toolbox) -> str:
    """Say to the model that there is no such tool, which are like it, and which there are."""
    if not len(toolbox):
        return f"there is no tool {name!r}; there are no tools at all: answer with what is known"
    alike = toolbox.nearest(name)
    guess = f"; did you mean {' or '.join(alike)}?" if alike else "."
    return f"there is no tool {name!r}{guess} The tools are: {', '.join(toolbox.names)}"
