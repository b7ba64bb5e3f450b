"""Ctrl-C on the command line: nothing is said, and work that cannot be stopped is not waited for."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
_handler: Callable[..., None] | None = None


def end_quietly(seconds: float | None) -> None:
    """From now on, have Ctrl-C end this process quietly, unless the parent process has Ctrl-C ignored.

    Parameters
    ----------
    seconds
        Time for work under way to end by a `KeyboardInterrupt`; being asked again ends it at once,
        as does `None`.
    """
    global _handler

    def end(*_: object) -> None:
        try:
            os.write(2, b"\n")
        finally:
            os._exit(INTERRUPTED)

    def interrupt(*_: object) -> None:
        import threading

        signal.signal(signal.SIGINT, end)
        last = threading.Timer(seconds or 0, end)
        last.daemon = True
        last.start()
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _handler):
        _handler = end if seconds is None else interrupt
        signal.signal(signal.SIGINT, _handler)


def leave_to_programs() -> None:
    """From now on, let Ctrl-C raise `KeyboardInterrupt` as in any Python program."""
    global _handler
    if _handler is not None:
        _handler = None
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(status: int) -> None:
    """End an interrupted process without what Python does at its end, which waits for threads."""
    if _handler is not None:
        try:
            sys.stdout.flush()
        finally:
            os._exit(status)
