"""How many cores a model computes on, told from the system's own files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reactext.backends._cores import free_cores

CORES = os.cpu_count() or 1


def system(root: Path, *, running: int | None = 1, quota: str | None = None) -> Path:
    for name in ("proc", "sys/fs/cgroup"):
        (root / name).mkdir(parents=True)
    if running is not None:
        (root / "proc/loadavg").write_text(f"0.10 0.20 0.30 {running}/999 12345\n")
    if quota is not None:
        (root / "sys/fs/cgroup/cpu.max").write_text(quota + "\n")
    return root


@pytest.mark.parametrize(
    ("running", "quota", "cores"),
    [
        (1, None, None),
        (None, None, None),
        (1, "max 100000", None),
        (1, "100000 100000", None if CORES == 1 else 1),
        (1, "50000 100000", None if CORES == 1 else 1),
        (1 + CORES, None, 1),
        (1000, None, 1),
        (2, None, max(1, CORES - 1)),
        (2, "broken", max(1, CORES - 1)),
    ],
)
def test_cores_that_nobody_else_computes_on(
    tmp_path: Path, running: int | None, quota: str | None, cores: int | None
) -> None:
    root = system(tmp_path, running=running, quota=quota)
    assert free_cores(root, pause=lambda _: None) == cores


def test_a_short_rush_does_not_count(tmp_path: Path) -> None:
    root = system(tmp_path, running=1000)
    assert free_cores(root, pause=lambda _: system_calm(root)) is None


def system_calm(root: Path) -> None:
    (root / "proc/loadavg").write_text("0.10 0.20 0.30 1/999 12345\n")


def test_odd_files_leave_the_choice_to_others(tmp_path: Path) -> None:
    root = system(tmp_path)
    (root / "proc/loadavg").write_text("what?\n")
    assert free_cores(root, pause=lambda _: None) is None
