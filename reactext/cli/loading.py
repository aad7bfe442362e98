"""Tools and models of the user's own, named on the command line as FILE.py or module:name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from reactext.errors import SetupError
from reactext.tools import Tool, Toolbox


def tools_from(places: Sequence[str]) -> list[Any]:
    """Return the tools of all places, in order.

    A place is ``FILE.py`` or ``module``, for every tool at its top level, or one of these with
    ``:name``, for one tool, a function, or a list of them.
    """
    return [each for place in places for each in _tools_at(place)]


def object_at(place: str) -> Any:
    """Return what stands at ``module:name`` or ``FILE.py:name``."""
    module, name = _module_at(place)
    if not name:
        raise SetupError(f"{place!r} names a module; add what is meant, as in {place}:name")
    return _attribute(module, name, place)


def _tools_at(place: str) -> Iterable[Any]:
    module, name = _module_at(place)
    if name:
        value = _attribute(module, name, place)
        return value if isinstance(value, list | tuple | Toolbox) else [value]
    found = dict.fromkeys(value for value in vars(module).values() if isinstance(value, Tool))
    if not found:
        raise SetupError(
            f"there is no tool in {place!r}; write @tool above a function, or name it: {place}:name"
        )
    return found


def _attribute(module: ModuleType, name: str, place: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise SetupError(f"{place!r}: there is no {part!r} in it")
        value = getattr(value, part)
    return value


def _module_at(place: str) -> tuple[ModuleType, str]:
    where, name = (place, "") if place.endswith(".py") else _split(place)
    path = Path(where)
    if where.endswith(".py") and not path.is_file():
        raise SetupError(f"there is no file {where!r}")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints is no part of our output
            return (_run_file(path) if where.endswith(".py") else _import(where)), name
    except (Exception, SystemExit) as error:  # whatever the user's module raises is told
        raise SetupError(
            f"{where!r} cannot be loaded: {type(error).__name__}: {error}{_place(error)}"
        ) from error


def _place(error: BaseException) -> str:
    """Say where it was raised, or where the user's file called what raised it."""
    ours = str(Path(__file__).resolve().parent.parent)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [each for each in frames if not each.filename.startswith((ours, "<frozen"))]
    return f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""


def _split(place: str) -> tuple[str, str]:
    where, colon, name = place.rpartition(":")
    return (where, name) if colon else (place, "")


def _import(name: str) -> ModuleType:
    _find_beside(Path.cwd())
    return importlib.import_module(name)


def _run_file(path: Path) -> ModuleType:
    _find_beside(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _find_beside(directory: Path) -> None:
    """Let modules that lie there be imported, as they are when Python runs a file."""
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
