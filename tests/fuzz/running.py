"""Runs targets in processes of their own: a signal or a hang names the file that it came of, and the rest goes on."""

from __future__ import annotations

import collections
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 60.0
"""CPU time for a file after which the process counts as hanging: kernels may be compiled for it."""
_SILENT = 300.0
"""Time without a new file after which it does, whatever it waits for; a start may take as long."""


def run(
    name: str, count: int, first: int = 0, tell: Callable[[str], None] = lambda text: None, limit: float = float("inf")
) -> collections.Counter[str]:
    """Read damaged files of a target.

    Parameters
    ----------
    name
        The target.
    count, first
        How many files, and the number of the first one; a number always makes the same file.
    tell
        Called with a line for each failure.
    limit
        Seconds after which no more are read.

    Returns
    -------
    collections.Counter
        How many were ``read``, ``refused``, refused by an error of a library that got a name (``wrapped``), and the
        failures: ``undeclared``, ``signal``, ``hang``; ``MiB`` is the most memory of a process.
    """
    found: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + limit
    at = first
    while at < first + count and time.monotonic() < end:
        at = _process(name, at, min(20_000, first + count - at), found, tell, end)
    return found


def _cpu(process: int) -> float:
    """Seconds of CPU time that a process has taken; 0 where it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _process(
    name: str, first: int, count: int, found: collections.Counter[str], tell: Callable[[str], None], end: float
) -> int:
    """Run one process; the number of the first file that is not done."""
    command = [sys.executable, "-m", "tests.fuzz.child", name, str(first), str(count)]
    environment = {**os.environ, "DALI_LAB_COMPILE": "at-once"}
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        watch = selectors.DefaultSelector()
        watch.register(process.stdout, selectors.EVENT_READ)
        watch.register(process.stderr, selectors.EVENT_READ)
        latest, rest, errors, complete, hung = first - 1, b"", b"", False, False
        heard, spent = time.monotonic(), 0.0
        while watch.get_map():
            ready = watch.select(5.0)
            if time.monotonic() > end:
                break
            if not ready:
                hung = time.monotonic() - heard > _SILENT or (latest >= first and _cpu(process.pid) - spent > SECONDS)
                if hung:
                    break
                continue
            heard, spent = time.monotonic(), _cpu(process.pid)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    watch.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    errors = (errors + data)[-4000:]
                else:
                    *lines, rest = (rest + data).split(b"\n")
                    for line in lines:
                        if line.isdigit():
                            latest = int(line)
                        elif line.startswith(b"="):
                            figures = json.loads(line[2:])
                            found["MiB"] = max(found["MiB"], figures.pop("MiB"))
                            found.update(figures)
                            complete = True
                        else:
                            found["undeclared" if line.startswith(b"!") else "wrapped"] += 1
                            tell(f"{name}: {line.decode(errors='replace')}")
        if not complete:
            process.kill()
        status = process.wait()
    if complete:
        return first + count
    if hung and latest >= first:
        found["hang"] += 1
        tell(f"{name}: hang in {latest}")
    elif time.monotonic() > end:
        found["read or refused"] += max(0, latest - first)
        return latest + 1
    elif latest < first:
        raise RuntimeError(f"{name} did not begin: {errors.decode(errors='replace')}")
    else:
        found["signal"] += 1
        word = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        tell(f"{name}: {word} in {latest}: {errors[-300:].decode(errors='replace')!r}")
    found["read or refused"] += max(0, latest - first)
    return latest + 1
