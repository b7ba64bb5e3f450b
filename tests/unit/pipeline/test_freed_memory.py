"""What a thread gives back is used again by the next one, and stays with the process."""

from __future__ import annotations

import platform

import pytest

from tests.programs import run_python

_PROGRAM = """
import os, threading
import numpy as np
os.cpu_count = lambda: 2
from dali_lab.executor.memory import keep_freed_memory

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) >> 10

keep_freed_memory()
before = resident()
for _ in range(4):
    thread = threading.Thread(target=lambda: np.empty(48 << 20, np.uint8).fill(1))
    thread.start()
    thread.join()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's heap is arranged")
def test_threads_share_what_is_freed() -> None:
    assert 40 <= int(run_python("-c", _PROGRAM).stdout) <= 60
