"""Is this file the pinned one? Hashed once; then a mark beside it says so."""

from __future__ import annotations

import hashlib
from pathlib import Path

from reactext.weights.catalogue import Weights


def sha256(path: Path) -> str:
    """Return the hash of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_pinned(path: Path, weights: Weights) -> bool:
    """Say whether the file is there and of the pinned hash.

    Half a gigabyte takes a second to hash, so a mark keeps the outcome; it holds the size and the
    time of the file, and counts no longer when either changes.
    """
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    mark = _mark_beside(path)
    if mark.is_file() and mark.read_bytes() == _mark(path, weights):
        return True
    if sha256(path) != weights.sha256:
        return False
    remember(path, weights)
    return True


def remember(path: Path, weights: Weights) -> None:
    """Write down that the file is the pinned one."""
    try:
        _mark_beside(path).write_bytes(_mark(path, weights))
    except OSError:
        return  # a directory that cannot be written to: the file is hashed again the next time


def _mark_beside(path: Path) -> Path:
    return path.with_suffix(".verified")


def _mark(path: Path, weights: Weights) -> bytes:
    found = path.stat()
    return f"{weights.sha256} {found.st_size} {found.st_mtime_ns}\n".encode()
