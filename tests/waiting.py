"""Waiting for a state, however long a busy machine takes to come to it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.programs import LIMIT


def wait_until(wanted: Callable[[], object], what: str) -> None:
    """Wait until `wanted` is true; fail after `LIMIT` seconds, where `what` says what is wrong then."""
    until = time.monotonic() + LIMIT
    while not wanted():
        assert time.monotonic() < until, what
        time.sleep(0.01)
