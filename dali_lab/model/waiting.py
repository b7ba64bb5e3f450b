"""Waits that Ctrl-C ends whenever it comes.

A signal that arrives in the moment before a thread begins to wait does not wake it; so it looks up now and then.
"""

from __future__ import annotations

from collections.abc import Callable

_SECONDS = 0.5


def wait_for(wait: Callable[[float], object]) -> None:
    """Call `wait`, which takes the seconds after which it gives up, until its result is true."""
    while not wait(_SECONDS):
        pass
