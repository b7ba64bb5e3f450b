"""Python programs in processes of their own, which end with all that they started when they take too long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

LIMIT = 300.0
"""Seconds that a program may take on a busy machine; less than pytest's limit for a test, so that errors are shown."""


def run_python(
    *arguments: str | Path, status: int | None = 0, cwd: Path | None = None, limit: float = LIMIT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments and wait for its end.

    Parameters
    ----------
    status
        The exit status that it must have; `None` leaves that to the caller.
    environment
        Variables besides those of this process.

    Raises
    ------
    AssertionError
        With the end of standard error, if the status is another one or if it has not ended after `limit` seconds.
    """
    command = [sys.executable, *map(str, arguments)]
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            output, errors = process.communicate()
            raise AssertionError(f"no end after {limit:g} s:\n{output[-2000:]}\n{errors[-2000:]}") from None
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    assert status is None or done.returncode == status, f"exit status {done.returncode}:\n{errors[-4000:]}"
    return done


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a process and its group."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
