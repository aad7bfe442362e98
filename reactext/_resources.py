"""Finds grammars and prompts: inside the package when built, beside it in a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


def directory(name: str) -> Traversable:
    """Return the directory ``grammars`` or ``prompts``, however the package was installed.

    A wheel holds it inside the package; a checkout, or a zip of one, beside it.
    """
    package: Any = files("reactext")
    built: Traversable = package.joinpath(name)
    beside: Traversable = package.parent.joinpath(name)
    return built if built.is_dir() else beside


def read(name: str, path: str) -> str:
    """Return the text of a file, ``path`` being relative with forward slashes.

    Raises FileNotFoundError, whose message names the file.
    """
    found = directory(name)
    for part in path.split("/"):
        if part in ("", ".", ".."):
            raise FileNotFoundError(f"{name}/{path} is not a path inside {name}/")
        found = found.joinpath(part)
    if not found.is_file():
        raise FileNotFoundError(f"there is no {name}/{path}")
    return found.read_text(encoding="utf-8").replace("\r\n", "\n")


def listing(name: str, suffix: str) -> list[str]:
    """Return the paths of all files with this ending, sorted, relative to the directory."""
    return sorted(_walk(directory(name), "", suffix))


def _walk(here: Traversable, prefix: str, suffix: str) -> list[str]:
    paths: list[str] = []
    for entry in here.iterdir():
        if entry.is_dir():
            paths += _walk(entry, f"{prefix}{entry.name}/", suffix)
        elif entry.name.endswith(suffix):
            paths.append(prefix + entry.name)
    return paths
