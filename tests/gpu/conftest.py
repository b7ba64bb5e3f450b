"""Recovers from a kernel that broke the GPU's context: the process ends, and another one goes on with the next test.

An invalid address, say, makes every later call in the process fail. Part of ``pytest -m gpu``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LOST = re.compile(
    r"cudaError(IllegalAddress|MisalignedAddress|LaunchFailure|IllegalInstruction|HardwareStackError|Assert|InvalidPc"
    r"|InvalidAddressSpace|EccUncorrectable)|CUDA_ERROR_(ILLEGAL|MISALIGNED|LAUNCH_FAILED|ASSERT|INVALID_PC)"
)


def note_if_lost(item: pytest.Item, report: pytest.TestReport) -> bool:
    """Whether a test ended with the GPU's context lost; then what it said is kept in ``DALI_LAB_GPU_NOTES``."""
    if not report.failed or item.get_closest_marker("gpu") is None or not LOST.search(report.longreprtext):
        return False
    notes = os.environ.get("DALI_LAB_GPU_NOTES")
    if notes:
        with Path(notes).open("a") as file:
            file.write(f"== {item.nodeid}\n{report.longreprtext}\n")
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    """End a worker of pytest-xdist that has lost the GPU; another one takes its place."""
    outcome = yield
    if note_if_lost(item, outcome.get_result()) and "PYTEST_XDIST_WORKER" in os.environ:
        os._exit(1)
