"""How many processor cores there are for a model to compute on.

The threads of llama.cpp wait for each other after every layer, spinning: one thread more than
there are free cores does not cost its share but nearly everything. (Two threads beside another
busy process on two cores: 0.5 to 1.5 tokens a second, where one thread gives 13.)
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

_SAMPLES = 10
_SPACING = 0.005


def free_cores(root: Path = Path("/"), pause: Callable[[float], None] = time.sleep) -> int | None:
    """Return the number of cores that nobody else computes on now, at least 1.

    None leaves the choice to llama.cpp: where all cores are free, or the system does not tell.
    ``root`` is where the system's own files are.
    """
    all_cores = os.cpu_count() or 1
    allowed = min(all_cores, _affinity(all_cores), _quota(root) or all_cores)
    others = _others(root, pause)
    if not others and allowed == all_cores:
        return None
    return max(1, min(allowed, all_cores - others))


def _affinity(all_cores: int) -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else all_cores


def _quota(root: Path) -> int | None:
    """The whole cores that a container is allowed."""
    try:
        quota, period = (root / "sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None


def _others(root: Path, pause: Callable[[float], None]) -> int:
    """How many threads beside this one run or want to run, as a rule."""
    running: list[int] = []
    for _ in range(_SAMPLES):
        try:
            counts = (root / "proc/loadavg").read_text().split()[3]
            running.append(int(counts.partition("/")[0]))
        except (OSError, ValueError, IndexError):
            return 0
        pause(_SPACING)
    return max(0, int(statistics.median(running)) - 1)
