"""Services of the operating system, and their portable ways."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dali_lab.model import system
from tests.programs import run_python

PORTABLE = """
import os
from dali_lab.model import system
assert not system.DROPS_PAGES
memory = system.map_memory(1 << 16)
memory[:2] = b"ab"
system.drop_pages(memory, 0, 4096)
assert memory[:2] == b"ab"
handle = system.nameless_file(10)
assert os.fstat(handle).st_size == 10 and os.fstat(handle).st_nlink == 0
"""


def test_portable_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALI_LAB_PLAIN", "system")
    run_python("-c", PORTABLE)


def test_running_processes() -> None:
    assert system.is_running(os.getpid())
    assert system.is_running(10**30)
    start = system.start_of(os.getpid())
    assert system.is_running(os.getpid(), start)
    if start is not None:
        assert not system.is_running(os.getpid(), f"{start}1")
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert not system.is_running(process.pid)


@pytest.mark.parametrize(
    ("handle", "error", "code", "expected"),
    [(0, 87, 0, False), (0, 5, 0, True), (7, 0, 259, True), (7, 0, 1, False)],
    ids=["no such process", "of another user", "running", "ended"],
)
def test_windows_is_asked_without_a_signal(handle: int, error: int, code: int, expected: bool) -> None:
    closed: list[Any] = []

    def exit_code(_: object, target: Any) -> int:
        target._obj.value = code
        return 1

    class Open:
        restype: Any = None

        def __call__(self, access: int, inherit: bool, process: int) -> int:
            assert (access, inherit, process) == (0x1000, False, 42)
            return handle

    kernel32 = SimpleNamespace(
        OpenProcess=Open(), GetLastError=lambda: error, GetExitCodeProcess=exit_code, CloseHandle=closed.append
    )
    assert system._is_running_on_windows(42, kernel32) is expected
    assert len(closed) == bool(handle)
