"""Runs of a document on a Ray cluster: a process of its own, its progress, and its end.

The address is that of the app, never one that a client sends.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO

import msgspec

from dali_lab.formats import dumps
from dali_lab.graph.graph import Graph
from dali_lab.interop.ray.driver import Connected, EpochEnded, Failed, Message, Progress, RunOnCluster
from dali_lab.io.roots import Roots
from dali_lab.model.errors import DaliLabError
from dali_lab.model.extras import installed
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.previews import RunDone

_EVERY = 0.1
"""Seconds between events, and between looks at the token."""
_PATIENCE = 10.0
"""Seconds that a run that was cancelled may take to end."""
_REMARK = ":info_message:"
"""Sign of the lines by which Ray tells what it tries."""


def cluster_address() -> str | None:
    """The cluster that runs go to: empty for this machine, `None` where Ray is not installed."""
    if not installed("ray"):
        return None
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        return str(ray.get_runtime_context().gcs_address)
    return os.environ.get("RAY_ADDRESS", "")


def run(graph: Graph, seed: int, roots: Roots, token: Token, tell: Callable[[int, int, float], None]) -> RunDone:
    """Run an epoch of a graph on the cluster.

    Parameters
    ----------
    tell
        Called with the batches that have come, those of the epoch, and the rate.

    Raises
    ------
    DaliLabError
        If the graph cannot be sent to other processes, or the run failed.
    Cancelled
        If the token was used: nothing of the run is left on the cluster.
    """
    address = cluster_address()
    if address is None:
        raise DocumentError("Ray is not installed here: pip install 'dali-lab[ray]'", "unsupported")
    text = os.fsdecode(dumps(graph, "json"))
    where = Connected(0, 0, 0)
    now = Progress(0, 0, 0.0)
    told = 0.0
    for message in _messages(RunOnCluster(text, seed, address, roots.parts()), token):
        if isinstance(message, Failed):
            error = DaliLabError(message.message, node=message.node, argument=message.argument, origin=message.origin)
            error.source = message.source
            raise error
        if isinstance(message, Connected):
            where = message
        elif isinstance(message, Progress):
            now = message
        if time.monotonic() - told >= _EVERY and not isinstance(message, EpochEnded):
            told = time.monotonic()
            tell(now.batches, where.batches, _rate(now))
    machines = "1 machine" if where.nodes == 1 else f"{where.nodes} machines"
    cpus = "1 CPU" if where.cpus == 1 else f"{where.cpus} CPUs"
    summary = f"{now.samples:,} samples in {now.seconds:.1f} s on Ray, {machines} with {cpus}."
    return RunDone(
        now.batches, now.samples, round(now.seconds, 4), _rate(now), {}, run=0, status="done", summary=summary
    )


def _rate(now: Progress) -> float:
    return round(now.samples / now.seconds, 1) if now.seconds > 0 else 0.0


def _messages(request: RunOnCluster, token: Token) -> Iterator[Message]:
    """Events of the process that runs it, up to its end."""
    said = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dali_lab.interop.ray.driver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said,
        # It finds modules where this process does, and none in the working folder, which others may write to.
        env={
            **os.environ,
            "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
            "PYTHONPATH": os.pathsep.join(place for place in sys.path if place),
        },
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            process.stdin.flush()
        for line in _lines(process.stdout, token):
            message = msgspec.json.decode(line, type=Message)
            yield message
            if isinstance(message, (EpochEnded, Failed)):
                return
        status = process.wait()
        raise DaliLabError(
            f"the process that ran it ended with status {status}; is the cluster still there (`ray status`)? Its last"
            f" line was: {_last_line(said)}"
        )
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()  # which ends it, and its work on the cluster
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        said.close()


def _lines(output: IO[bytes], token: Token) -> Iterator[bytes]:
    """The lines of a process, as long as nobody cancels."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(ValueError):  # closed meanwhile
            for line in output:
                lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, name="dali-lab-cluster", daemon=True).start()
    while True:
        token.check()
        try:
            line = lines.get(timeout=_EVERY)
        except queue.Empty:
            continue
        if not line:
            return
        yield line


def _last_line(said: IO[bytes]) -> str:
    """The last line of a process that is no remark of Ray's about what it tries."""
    said.seek(0)
    lines = [
        line for line in said.read().decode("utf-8", "replace").splitlines() if line.strip() and _REMARK not in line
    ]
    return lines[-1] if lines else "it said nothing"
