"""Limits of containers: the smallest one of a group and those around it, in both versions of control groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dali_lab.kernels.cpu.machine import uses
from dali_lab.model import control_groups
from dali_lab.model.buffers import memory_of_machine
from dali_lab.model.system import usable_cores

NONE = float("inf")

if not uses("system"):
    pytest.skip("the portable ways know no limits", allow_module_level=True)


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where control groups are mounted; the file "own" beside it tells the groups of this process."""
    folder = tmp_path / "mounted"
    monkeypatch.setattr(control_groups, "_MOUNTED", folder)
    monkeypatch.setattr(control_groups, "_OWN", tmp_path / "own")
    forget()
    yield folder
    forget()


def forget() -> None:
    """Let the limits be read anew."""
    control_groups.cpu_limit.cache_clear()
    control_groups.memory_limit.cache_clear()


def make(mounted: Path, own: str, files: dict[str, str]) -> None:
    (mounted.parent / "own").write_text(own)
    for name, content in files.items():
        path = mounted / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")


def test_without_groups_there_is_no_limit(mounted: Path) -> None:
    assert control_groups.cpu_limit() == control_groups.memory_limit() == NONE


@pytest.mark.parametrize(
    ("own", "files", "cpu", "memory"),
    [
        ("0::/\n", {"cpu.max": "150000 100000", "memory.max": "max"}, 1.5, NONE),
        ("0::/\n", {"cpu.max": "max 100000", "memory.max": "4096"}, NONE, 4096),
        (
            "0::/pods/one\n",
            {
                "cpu.max": "max 100000",
                "pods/cpu.max": "100000 100000",
                "pods/one/cpu.max": "300000 100000",
                "pods/memory.max": "max",
                "pods/one/memory.max": "8192",
            },
            1,
            8192,
        ),
        (
            "4:memory:/docker/outside\n3:cpu,cpuacct:/docker/outside\n0::/\n",
            {
                "cpu/cpu.cfs_quota_us": "50000",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "12288",
            },
            0.5,
            12288,
        ),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, NONE, NONE),
        ("0::/\n", {"cpu.max": "", "memory.max": "much"}, NONE, NONE),
        ("0::/\n", {"cpu.max": "100000 0"}, NONE, NONE),
    ],
    ids=["quota", "memory", "nested", "version 1", "version 1 without", "damaged", "no period"],
)
def test_the_smallest_limit_counts(mounted: Path, own: str, files: dict[str, str], cpu: float, memory: float) -> None:
    make(mounted, own, files)
    assert control_groups.cpu_limit() == cpu
    assert control_groups.memory_limit() == memory


def test_a_quota_limits_threads_and_memory_buffers(mounted: Path) -> None:
    make(mounted, "0::/\n", {"cpu.max": "20000 100000", "memory.max": "65536"})
    assert usable_cores() == 1
    assert memory_of_machine() == 65536
