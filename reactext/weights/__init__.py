"""A name of the catalogue becomes a file on this machine: looked up, or loaded once and checked.

Nothing stands under the final name that was not whole and of the pinned hash. A load that was cut
is continued by the next, whichever source either came from: all hold the same bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from reactext.errors import SetupError, WeightsUnavailable
from reactext.weights import lock
from reactext.weights.catalogue import CATALOGUE, DEFAULT, Weights, Wheels, find
from reactext.weights.loading import Notice, Progress, cannot_store, load
from reactext.weights.verifying import is_pinned

__all__ = [
    "CATALOGUE",
    "DEFAULT",
    "Notice",
    "Progress",
    "Weights",
    "Wheels",
    "cache_directory",
    "find",
    "is_here",
    "known_or_here",
    "locate",
    "path_of",
]


def locate(
    name_or_path: str,
    *,
    progress: Progress | None = None,
    notice: Notice | None = None,
    catalogue: Sequence[Weights] = CATALOGUE,
) -> Path:
    """Return the file of this name, loading it first if it is not here; a path is used as it is.

    ``notice`` is told what is about to be loaded, and how large it is; by default on stderr.
    Raises `SetupError` for an unknown name, and `WeightsUnavailable` when no source has the file
    or it cannot be written.
    """
    weights = known_or_here(name_or_path, catalogue)
    if isinstance(weights, Path):
        return weights
    path = path_of(weights)
    notice = notice or _tell
    try:
        if not is_pinned(path, weights):
            path.parent.mkdir(parents=True, exist_ok=True)
            with lock.held(
                path.with_suffix(".lock"),
                waiting=lambda: notice(f"another process is loading {weights.name}; waiting"),
            ):
                if not is_pinned(path, weights):
                    load(weights, path, progress or _silent, notice)
    except ConnectionError:  # the caller's own output, closed under progress or notice
        raise
    except OSError as error:
        raise WeightsUnavailable(cannot_store(error, path)) from error
    return path


def known_or_here(name_or_path: str, catalogue: Sequence[Weights] = CATALOGUE) -> Weights | Path:
    """Return what is of this name, without loading anything; raises `SetupError` for neither."""
    given = Path(os.path.expanduser(name_or_path))
    return given if given.is_file() else find(name_or_path, catalogue)


def cache_directory() -> Path:
    """Return the directory of the weights: in ``REACTEXT_CACHE``, or the user's own cache."""
    if given := os.environ.get("REACTEXT_CACHE"):
        base = Path(os.path.expanduser(given))
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = _home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache")
    return base / "reactext" / "models"


def path_of(weights: Weights) -> Path:
    """Return where the file is, or would be."""
    return cache_directory() / weights.file


def is_here(weights: Weights) -> bool:
    """Say whether a file of the right name and size is here; its hash is not computed."""
    path = path_of(weights)
    return path.is_file() and path.stat().st_size == weights.size


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise SetupError("this user has no home directory; set REACTEXT_CACHE") from error


def _silent(here: int, whole: int) -> None:
    """Show no progress."""


def _tell(line: str) -> None:
    if sys.stderr is not None:  # a program without a console has none
        print(f"reactext: {line}", file=sys.stderr, flush=True)
