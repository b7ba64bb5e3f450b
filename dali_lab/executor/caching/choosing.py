"""Chooses where a graph is cached by what its unchanging nodes cost, measured on a few samples."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

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

_TRIED, _TIMES = 4, 3
"""Samples that are computed to measure the nodes, and how often: the first time kernels are loaded."""


class Choosing:
    """Measures the nodes of a graph, once, with sources that the run goes on with.

    Parameters
    ----------
    open_sources
        Opens the sources of some steps.
    seeds
        Seed of each node.
    per_byte
        Tells how many seconds it takes to keep a byte and to read it again, in a cache of so many bytes in all.
    room
        Bytes that may be kept.
    load, save
        Read and write a small file of the cache, in which the choice stands for all that share it.

    Attributes
    ----------
    operators, sources
        Of the readers, to go on with.
    """

    def __init__(
        self,
        open_sources: Callable[[Sequence[Step]], dict[str, Source]],
        seeds: Mapping[str, int],
        per_byte: Callable[[float], float],
        room: float,
        load: Callable[[str], bytes | None] = lambda name: None,
        save: Callable[[str, bytes], None] = lambda name, content: None,
    ) -> None:
        self._open, self._seeds, self._per_byte, self._room = open_sources, seeds, per_byte, room
        self._load, self._save = load, save
        self.operators: dict[str, Operator] = {}
        self.sources: dict[str, Source] = {}

    def choose(self, graph: Graph, names: Sequence[str]) -> list[str] | None:
        """The nodes among these whose results are to be kept; `None` where it cannot be measured."""
        from dali_lab.kernels.cpu import background

        name = f"{_mark(graph, names)}{CHOICE}"
        found = self._remembered(name, names)
        if found is not None:
            return found
        costs = self.measure(graph, names)
        if costs is None:
            return None
        found = most_saving(graph, names, costs)
        if not background.busy():  # while kernels are compiled, slower ways are measured
            with contextlib.suppress(OSError):
                self._save(name, json.dumps([names.index(each) for each in found]).encode())
            found = self._remembered(name, names) or found  # another process may have been first
        return found

    def _remembered(self, name: str, names: Sequence[str]) -> list[str] | None:
        """The nodes that were chosen before; `None` where none were."""
        with contextlib.suppress(OSError, ValueError, TypeError, IndexError):
            content = self._load(name)
            if content is not None:
                return [names[int(place)] for place in json.loads(content)] or None
        return None

    def measure(self, graph: Graph, names: Sequence[str]) -> Costs | None:
        """Compute some samples at these nodes; `None` where that fails or the readers have no list."""
        edges = [
            Edge(name, output)
            for name in names
            for output in range(1 + max((edge.output for edge in graph.edges() if edge.node == name), default=0))
        ]
        plan = make_plan(graph.replaced(outputs=tuple(edges)), edges)
        if any(step.operator.values.get("lazy_init") for step in plan.sources):
            return None
        self.sources = self._open(plan.sources)
        self.operators = {step.node.id: step.operator for step in plan.sources}
        lists = list_sources(self.sources)
        if len(lists) < len(plan.sources):
            return None
        samples = max(source.meta()["epoch_size"] for source in lists.values())
        places = np.linspace(0, samples - 1, _TRIED, dtype=np.int64)
        draws = {name: source.chosen(places, _TRIED) for name, source in lists.items()}
        pool = InlinePool()
        spent: dict[str, float] = defaultdict(float)
        began = 0.0

        def note(node: str, samples: int) -> None:
            """Count the processor time since the last step: all run on this thread, beside whatever else is running."""
            nonlocal began
            now = time.thread_time()
            spent[node] += now - began
            began = now

        engine = Engine(plan, 1, self._seeds, memory=True, pool=pool, progress=note)
        runs: list[Mapping[str, float]] = []
        try:
            for number in range(_TIMES):
                spent.clear()
                began = time.thread_time()
                run = engine.start(engine.prepare(number, _TRIED, draws))
                pool.run()
                run.wait()
                run.outputs()
                runs.append(dict(spent))
        except Exception:  # whatever a node fails with, nothing can be measured
            return None
        finally:
            pool.close()
        seconds = {name: min(each[name] for each in runs) / _TRIED for name in runs[0]}
        nbytes = {edge: total / _TRIED for edge, (total, _) in (engine.memory or {}).items()}
        largest = max((nbytes.get(edge, 0.0) for edge in edges), default=0.0)
        return Costs(seconds, nbytes, samples, self._per_byte(largest * samples), self._room)


def _mark(graph: Graph, names: Sequence[str]) -> str:
    return hashlib.sha256(f"{meaning_of(graph, names)}\n{numerics()}".encode()).hexdigest()[:32]
