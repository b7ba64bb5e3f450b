"""Chooses where a graph is cached by what its unchanging nodes cost, measured on a few samples."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dali_lab.executor.caching.folder import CHOICE
from dali_lab.executor.caching.numerics import numerics
from dali_lab.executor.engine import Engine
from dali_lab.executor.plan import Step, make_plan
from dali_lab.executor.pool import InlinePool
from dali_lab.graph.graph import Edge, Graph
from dali_lab.graph.passes.once import Costs, meaning_of, most_saving
from dali_lab.operators.readers.list_reader import list_sources
from dali_lab.schema.operator import Operator
from dali_lab.schema.source import Source

_TRIED = 8
"""Samples that are computed to measure the nodes."""


class Choosing:
    """Measures the nodes of a graph, once, with sources that the run goes on with.

    Parameters
    ----------
    open_sources
        Opens the sources of some steps.
    seeds
        Seed of each node.
    rate
        Tells how many bytes a second are read from a cache of so many bytes in all.
    room
        Bytes that may be kept.
    root
        The cache folder, if it is one: what is chosen is written there, and holds for all that use the folder.

    Attributes
    ----------
    operators, sources
        Of the readers, to go on with.
    """

    def __init__(
        self,
        open_sources: Callable[[Sequence[Step]], dict[str, Source]],
        seeds: Mapping[str, int],
        rate: Callable[[float], float],
        room: float,
        root: Path | None = None,
    ) -> None:
        self._open, self._seeds, self._rate, self._room = open_sources, seeds, rate, room
        self._root = root
        self.operators: dict[str, Operator] = {}
        self.sources: dict[str, Source] = {}

    def choose(self, graph: Graph, names: Sequence[str]) -> list[str] | None:
        """The nodes among these whose results are to be kept; `None` where it cannot be measured."""
        from dali_lab.kernels.cpu import background

        path = self._root / f"{_mark(graph, names)}{CHOICE}" if self._root is not None else None
        found = _remembered(path, names)
        if found is not None:
            return found
        costs = self.measure(graph, names)
        if costs is None:
            return None
        found = most_saving(graph, names, costs)
        if path is not None and not background.busy():  # while kernels are compiled, slower ways are measured
            _remember(path, [names.index(name) for name in found])
            found = _remembered(path, names) or found
        return found

    def measure(self, graph: Graph, names: Sequence[str]) -> Costs | None:
        """Compute some samples at these nodes; `None` where that fails or the readers have no list."""
        edges = [
            Edge(name, output)
            for name in names
            for output in range(1 + max((e.output for e in graph.edges() if e.node == name), default=0))
        ]
        plan = make_plan(graph.replaced(outputs=tuple(edges)), edges)
        if any(
            step.operator.value("lazy_init") for step in plan.sources if "lazy_init" in step.operator.argument_table
        ):
            return None
        self.sources = self._open(plan.sources)
        self.operators = {step.node.id: step.operator for step in plan.sources}
        lists = list_sources(self.sources)
        if len(lists) < len(plan.sources):
            return None
        samples = max(source.meta()["epoch_size"] for source in lists.values())
        pool = InlinePool()
        engine = Engine(plan, 1, self._seeds, memory=True, pool=pool)
        try:
            for count in (1, _TRIED):  # the first one loads kernels
                engine.seconds.clear()
                places = np.linspace(0, samples - 1, count, dtype=np.int64)
                draws = {name: source.chosen(places, count) for name, source in lists.items()}
                run = engine.submit(0, count, draws)
                pool.run()
                run.wait()
                if run.failures:
                    return None
        finally:
            pool.close()
        seconds = {name: spent / _TRIED for name, spent in engine.seconds.items()}
        nbytes = {edge: total / _TRIED for edge, (total, _) in (engine.memory or {}).items()}
        largest = max((size for edge, size in nbytes.items() if edge in edges), default=0.0)
        return Costs(seconds, nbytes, samples, self._rate(largest * samples), self._room)


def _remembered(path: Path | None, names: Sequence[str]) -> list[str] | None:
    """The nodes that were chosen before; `None` where none were."""
    if path is not None:
        with contextlib.suppress(OSError, ValueError, TypeError, IndexError):
            return [names[int(place)] for place in json.loads(path.read_bytes())] or None
    return None


def _remember(path: Path, places: Sequence[int]) -> None:
    """Write down what was chosen, unless another process has done so meanwhile."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=path.parent, prefix=path.name) as folder:
        whole = Path(folder) / "choice"
        whole.write_text(json.dumps(places))
        os.link(whole, path)


def _mark(graph: Graph, names: Sequence[str]) -> str:
    return hashlib.sha256(f"{meaning_of(graph, names)}\n{numerics()}".encode()).hexdigest()[:32]
