"""How the tests are shared out among workers, and when kernels are compiled."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

# The suite tries the same examples each time; DALI_LAB_EXAMPLES=random looks for others.
settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same" if os.environ.get("DALI_LAB_EXAMPLES") != "random" else "default")

# Which of two ways is taken must not depend on what the cache holds; those that look into that say otherwise.
os.environ.setdefault("DALI_LAB_COMPILE", "at-once")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup``, one worker has all tests in browsers: two servers and browsers at once are too many.

    pytest-xdist 3.8 writes marks of groups into ids that pytest 9.2 does not read any more, so the path decides here.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Scheduling(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "browser" if nodeid.startswith("tests/browser/") else super()._split_scope(nodeid)

    return Scheduling(config, log)
