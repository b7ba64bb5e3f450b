"""Runs operators as soon as they are called, on existing batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dali_lab.device.interface import Device
from dali_lab.executor.engine import Engine
from dali_lab.executor.plan import make_plan
from dali_lab.executor.pool import InlinePool, ThreadPool
from dali_lab.graph.graph import Edge, Graph
from dali_lab.model.batch import Batch
from dali_lab.schema.operator import Operator
from dali_lab.schema.source import Draw


class ImmediateGraph:
    """A small graph, often of one operator, that runs on request; its draws are kept between runs.

    Parameters
    ----------
    graph
        A graph whose outputs are computed.
    given
        The nodes that stand for the batches of each run.
    seeds
        Seed of each node that draws random numbers.
    device
        Where nodes placed on the GPU run; `None` runs them on the CPU.
    pool, threads
        Threads to run on, and their number; without them it runs on the calling thread.
    chunk
        Samples in a chunk; by default chosen by the engine.
    operators
        Operators to reuse, by node.
    """

    def __init__(
        self,
        graph: Graph,
        given: Sequence[str],
        seeds: Mapping[str, int],
        *,
        device: Device | None = None,
        pool: ThreadPool | None = None,
        threads: int = 1,
        chunk: int | None = None,
        operators: Mapping[str, Operator] | None = None,
    ) -> None:
        self.pool = pool
        self._given = [Edge(name) for name in given]
        self._plan = make_plan(graph, known=self._given, operators=operators, device=device)
        self._inline = InlinePool()
        self._engine = Engine(self._plan, threads, seeds, chunk=chunk, pool=pool or self._inline)

    def run(
        self, size: int, batches: Sequence[Batch], *, iteration: int = 0, draws: Mapping[str, Draw] | None = None
    ) -> list[Batch]:
        """The outputs for the batches of the given nodes; `size` samples are drawn where no input fixes the number.

        Raises
        ------
        DaliLabError
            The failure of the first sample that failed.
        """
        run = self._engine.start(
            self._engine.prepare(iteration, size, draws, dict(zip(self._given, batches, strict=True)))
        )
        self._inline.run()
        run.wait()
        return run.outputs()

    def close(self) -> None:
        """Release the operators' resources."""
        self._plan.close()
