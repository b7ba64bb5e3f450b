"""Distributes tests among workers, and decides when kernels are compiled."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest
from hypothesis import settings

# The suite tries the same examples each time; DALI_LAB_EXAMPLES=random looks for others.
settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same" if os.environ.get("DALI_LAB_EXAMPLES") != "random" else "default")

# Which of two ways is taken must not depend on what the cache holds; those that look into that say otherwise.
os.environ.setdefault("DALI_LAB_COMPILE", "at-once")

_BY_OPERATOR = ("tests/conformance/test_operators.py", "tests/gpu/test_emulated.py")
"""Files whose tests begin their parameters with an operator's name and a hyphen."""


def pytest_collection_finish() -> None:
    """Have the garbage collector leave out the thousands of tests: the compiler makes it run very often."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup``, tests that compile the same kernels or share fixtures run in one worker.

    All tests in browsers are one group: two servers and browsers at once are too many. Else a group is a file, or an
    operator where a file has many tests of each.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/browser/"):
                return "browser"
            file = nodeid.partition("::")[0]
            return nodeid.partition("-")[0].partition("[")[2] or file if file in _BY_OPERATOR else file

        def _reschedule(self, node: WorkerController) -> None:
            """Send groups until three tests wait: a worker begins its last one only when told that no more comes."""
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) <= 2:
                super()._reschedule(node)

        def remove_node(self, node: WorkerController) -> str | None:
            """Go on after the test in which a worker ended, which pytest-xdist 3.8 would run again and again."""
            for unit in self.assigned_work[node].values():
                for test, done in unit.items():
                    if not done:
                        unit[test] = True
                        super().remove_node(node)
                        return test
            return super().remove_node(node)

    # The order of collection begins with the longest group, that of browsers.
    config.option.loadscopereorder = False
    return Scheduling(config, log)
