"""A program that runs an epoch of a graph on a cluster: ``python -m dali_lab.interop.ray.driver``.

It is a process of its own, so that ending it ends the run and all that runs for it on the cluster, and so that Ray does
not change the process of the app. A request comes as a line on the standard input; when that is closed, the run ends.
Messages go as lines of JSON to the standard output.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

import msgspec

from dali_lab.io.roots import roots_of
from dali_lab.model.errors import DaliLabError

WITHOUT_READER = 100
"""Batches to run where no reader tells how long an epoch is."""

_PATIENCE = 5.0
"""Seconds that an orderly end may take."""


class RunOnCluster(msgspec.Struct):
    """A request: a graph file's text, the pipeline's seed, the cluster's address, and what may be reached."""

    graph: str
    seed: int
    address: str
    roots: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class Connected(msgspec.Struct, tag=True):
    """The cluster is there; the run has this many batches."""

    nodes: int
    cpus: int
    batches: int


class Progress(msgspec.Struct, tag=True):
    """Batches and samples that have come, and the seconds since the run began."""

    batches: int
    samples: int
    seconds: float


class EpochEnded(msgspec.Struct, tag=True):
    """The whole epoch has come."""


class Failed(msgspec.Struct, tag=True):
    """The run ended with an error."""

    message: str
    node: str | None = None
    argument: str | None = None
    source: str | None = None
    origin: str | None = None


Message = Connected | Progress | EpochEnded | Failed


def run(request: RunOnCluster, tell: Callable[[Message], None]) -> None:
    """Run an epoch, or some batches where no reader knows how long one is."""
    import ray

    from dali_lab.formats import loads, trusting
    from dali_lab.interop.ray.plan import first_reader, reads
    from dali_lab.pipeline.pipeline import Pipeline
    from dali_lab.plugin.ray import connect, dataset, iterator

    graph = trusting(loads(request.graph))
    connect(request.address or None)
    with roots_of(*request.roots).limiting(writes=True):
        pipeline = Pipeline.from_graph(graph, seed=request.seed)
        batches = None if reads(graph) else WITHOUT_READER
        batches_of = iterator(dataset(pipeline, batches=batches, reader_name=first_reader(graph)), tensors="numpy")
    nodes = sum(bool(node["Alive"]) for node in ray.nodes())
    tell(Connected(nodes, int(ray.cluster_resources().get("CPU", 0)), len(batches_of)))
    samples = 0
    began = time.perf_counter()
    for count, batch in enumerate(batches_of, 1):
        samples += len(next(iter(batch.values())))
        tell(Progress(count, samples, time.perf_counter() - began))
    tell(EpochEnded())


def main() -> None:
    """Answer the request on the standard input."""
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries and operators print is no message

    def tell(message: Message) -> None:
        messages.write(msgspec.json.encode(message) + b"\n")
        messages.flush()

    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=RunOnCluster)
    threading.Thread(target=_end_with, args=(sys.stdin.buffer,), daemon=True).start()
    try:
        run(request, tell)
    except DaliLabError as error:
        tell(Failed(error.message, error.node, error.argument, error.source, error.origin))
    except Exception as error:  # the app tells the person
        tell(Failed(str(error).strip().split("\n")[0] or type(error).__name__))


def _end_with(requests: IO[bytes]) -> None:
    """End this process when nobody is left who could ask for anything."""
    requests.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    main()
