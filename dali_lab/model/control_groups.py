"""Limits that Linux's control groups set on this process, such as those of a container: processors and memory.

Of a group and those around it the smallest limit counts. Both versions of control groups are read; elsewhere than on
Linux there are no limits.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from dali_lab.kernels.cpu.machine import uses

_OWN = Path("/proc/self/cgroup")
_MOUNTED = Path("/sys/fs/cgroup")
_NO_LIMIT = float("inf")


@functools.cache
def cpu_limit() -> float:
    """Processors' time for each second, or infinity."""
    return min(_limits("cpu", _new_cpu_limit, _old_cpu_limit), default=_NO_LIMIT)


@functools.cache
def memory_limit() -> float:
    """Bytes of memory, or infinity."""
    return min(_limits("memory", _new_memory_limit, _old_memory_limit), default=_NO_LIMIT)


def _limits(controller: str, new: Callable[[Path], float], old: Callable[[Path], float]) -> Iterator[float]:
    for folder, is_new in _groups(controller) if uses("system") else ():
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            yield (new if is_new else old)(folder)


def _groups(controller: str) -> Iterator[tuple[Path, bool]]:
    """The folders of this process's groups for a controller, and whether each is one of version 2."""
    try:
        lines = _OWN.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = _MOUNTED / controller if controllers else _MOUNTED
        inside = PurePosixPath(path.lstrip("/"))
        # In a container, the path may be the one outside, where only the root is there.
        for group in (inside, *inside.parents):
            yield root / group, not controllers


def _new_cpu_limit(folder: Path) -> float:
    quota, period = (folder / "cpu.max").read_text().split()
    return _NO_LIMIT if quota == "max" else int(quota) / int(period)


def _old_cpu_limit(folder: Path) -> float:
    quota = int((folder / "cpu.cfs_quota_us").read_text())
    return quota / int((folder / "cpu.cfs_period_us").read_text()) if quota > 0 else _NO_LIMIT


def _new_memory_limit(folder: Path) -> float:
    found = (folder / "memory.max").read_text().strip()
    return _NO_LIMIT if found == "max" else int(found)


def _old_memory_limit(folder: Path) -> float:
    return int((folder / "memory.limit_in_bytes").read_text())
