"""What a caller gives is checked against the types of the signature, before anything is done.

    @checked
    def wait(seconds: Seconds, *, attempts: Count = 1) -> None: ...

    wait("5")  # SetupError: seconds='5' must be a number above 0

A signature is the only place where an option's type and bounds stand. Values are never changed.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from reactext.errors import SetupError

Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Within:
    """The bounds of a number; it is finite unless infinity is said to mean something."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    infinite: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a number lies within."""
        if value in (math.inf, -math.inf):
            return self.infinite and value > 0
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
        )

    def said(self) -> str:
        """Say it behind the words for the type."""
        if self.least is not None and self.most is not None:
            return f" from {self.least} to {self.most}"
        unlimited = " (math.inf is no limit)" if self.infinite else ""
        least = f"of at least {self.least}" if self.above is None else f"above {self.above}"
        return f" {least}{unlimited}"


@dataclass(frozen=True, slots=True)
class Such:
    """A test, and the words for what passes it."""

    words: str
    test: Callable[[Any], bool] = lambda _: True

    def holds(self, value: Any) -> bool:
        """Whether a value passes."""
        return self.test(value)


Count = Annotated[int, Within(least=1)]
Natural = Annotated[int, Within(least=0)]
Seconds = Annotated[float, Within(above=0, most=1e9)]
Wait = Annotated[float, Within(least=0)]
Limit = Annotated[float, Within(above=0, infinite=True)]
Characters = Annotated[int, Within(least=100)]
Text = Annotated[str, Such("a text that is not empty", lambda text: bool(text.strip()))]


def checked(made: Made) -> Made:
    """Let a function, or the constructor of a class, raise SetupError for what does not fit.

    The message names the parameter, shows the value and says what it must be. A keyword that is
    not known is told with the nearest that is.
    """
    if isinstance(made, type):
        made.__init__ = _checking(made.__init__, made.__name__)  # type: ignore[misc]
        return made
    return _checking(made, made.__name__)  # type: ignore[return-value]


def _checking(function: Callable[..., Any], owner: str) -> Callable[..., Any]:
    written = inspect.signature(function).parameters.values()
    by_place = [each.name for each in written if each.kind is not each.KEYWORD_ONLY]
    by_name = [each.name for each in written if each.kind is not each.POSITIONAL_ONLY]
    names = frozenset(by_name)
    takes_any_name = any(each.kind is each.VAR_KEYWORD for each in written)

    @functools.cache  # not before the first call, when all that annotations name is there
    def hints() -> dict[str, Any]:
        return get_type_hints(function, include_extras=True)

    @functools.cache
    def tests() -> dict[str, Callable[[Any], bool]]:
        return {name: _test_of(hint) for name, hint in hints().items()}

    @functools.wraps(function)
    def check(*args: Any, **kwargs: Any) -> Any:
        if not takes_any_name:
            for name in kwargs.keys() - names:
                raise SetupError(unknown(owner, "option", name, by_name))
        known = tests()
        for name, value in chain(zip(by_place, args, strict=False), kwargs.items()):
            if name in known and not known[name](value):
                raise SetupError(fault(name, value, hints()[name]))
        return function(*args, **kwargs)

    return check


def unknown(owner: str, kind: str, name: str, known: Iterable[str]) -> str:
    """Say that there is no such option (field, template, …), and which is like it."""
    names = [each for each in known if each != "self"]
    alike = get_close_matches(name, names, n=2, cutoff=0.6)
    guess = f"did you mean {' or '.join(alike)}?" if alike else f"there are {', '.join(names)}"
    return f"{owner} has no {kind} {name!r}; {guess if names else 'it takes none'}"


def fault(name: str, value: Any, hint: Any) -> str:
    """Say what is wrong with a value, in its innermost part that is wrong; "" if nothing is."""
    if fits(value, hint):
        return ""
    for part, inner, inner_hint in _parts(name, value, hint):
        if problem := fault(part, inner, inner_hint):
            return problem
    return f"{name}={shown(value)} must be {words(hint)}"


def _parts(name: str, value: Any, hint: Any) -> list[tuple[str, Any, Any]]:
    """The items of a container, where the container itself is of a kind that fits."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _parts(name, value, parts[0])
    if origin in (Union, types.UnionType):
        return next(filter(None, (_parts(name, value, each) for each in parts)), [])
    if not (isinstance(origin, type) and parts and _is(value, origin)):
        return []
    if isinstance(value, Mapping):
        keys = [(f"the key of {name}", key, parts[0]) for key in value if len(parts) == 2]
        return keys + [(f"{name}[{shown(key)}]", each, parts[-1]) for key, each in value.items()]
    if isinstance(value, Sequence):
        return [(f"{name}[{number}]", inner, parts[0]) for number, inner in enumerate(value)]
    return []


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, and within the bounds that its annotation sets."""
    return _test_of(hint)(value)


@functools.cache  # some of what is checked is made in every step
def _test_of(hint: Any) -> Callable[[Any], bool]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner, rules = _test_of(parts[0]), parts[1:]
        return lambda value: inner(value) and all(each.holds(value) for each in rules)
    if origin in (Union, types.UnionType):
        tests = [_test_of(each) for each in parts]
        return lambda value: any(test(value) for test in tests)
    if origin is Literal:
        return lambda value: any(type(value) is type(each) and value == each for each in parts)
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint is Any or not isinstance(origin or hint, type):
        return lambda _: True
    return functools.partial(_is_filled, kind=origin or hint, parts=parts)


def _is_filled(value: Any, *, kind: Any, parts: tuple[Any, ...]) -> bool:
    """Whether a value is of a class, and what it contains of those in its brackets."""
    if not _is(value, kind):
        return False
    if not parts or kind is Callable:
        return True
    if isinstance(value, Mapping) and len(parts) == 2:
        return all(fits(key, parts[0]) and fits(each, parts[1]) for key, each in value.items())
    return not isinstance(value, Sequence) or all(fits(each, parts[0]) for each in value)


def _is(value: Any, kind: type) -> bool:
    """Whether a value is of a class; a bool is no number, and a text no list."""
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool) and value == value
    if kind in (Iterable, Sequence) and isinstance(value, str | bytes):
        return False
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return True
    return isinstance(value, kind)


def words(hint: Any) -> str:
    """Say what a value must be."""
    *others, last = _alternatives(hint)
    return f"{', '.join(others)} or {last}" if others else last


_PLAIN = {
    bool: ["True", "False"],
    int: ["a whole number"],
    float: ["a number"],
    str: ["a text"],
    type(None): ["None"],
}


def _alternatives(hint: Any) -> list[str]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rule = parts[1]
        return [rule.words if isinstance(rule, Such) else words(parts[0]) + rule.said()]
    if origin in (Union, types.UnionType):
        return [each for part in parts for each in _alternatives(part)]
    if origin is Literal:
        return [f'"{each}"' if isinstance(each, str) else repr(each) for each in parts]
    kind = origin or hint
    if kind in _PLAIN:
        return _PLAIN[kind]
    return [_name_of(kind)]


def _name_of(kind: Any) -> str:
    if kind is Callable:
        return "a function"
    if kind in (dict, Mapping):
        return "a mapping"
    if kind in (list, tuple, Iterable, Sequence):
        return "a list"
    name = {"PathLike": "path"}.get(getattr(kind, "__name__", ""), getattr(kind, "__name__", ""))
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def shown(value: Any) -> str:
    """Return a value as Python writes it, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # a repr is the caller's code
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 100 else f"{text[:99]}…"
