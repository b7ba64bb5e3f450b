"""Incremental evaluation: computes every node of a graph for one batch with the real executor, if it has changed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

from dali_lab.executor.plan import make_operator
from dali_lab.executor.pool import ThreadPool
from dali_lab.graph.graph import Graph, Node, bare
from dali_lab.graph.seeds import graph_seeds
from dali_lab.graph.settings import whole_number
from dali_lab.io.roots import Roots
from dali_lab.model.buffers import Budget, memory_of_machine
from dali_lab.model.errors import GraphError
from dali_lab.model.system import usable_cores
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator
from dali_lab.schema.source import Draw
from dali_lab.studio.preview.branches import Branches
from dali_lab.studio.preview.cache import Cache
from dali_lab.studio.preview.compilations import compiling
from dali_lab.studio.preview.computation import BatchComputation, PreviewResources, Progress
from dali_lab.studio.preview.results import Evaluation, Failure, NodeResult, Token
from dali_lab.studio.preview.sources import Pins, Sources, digest, file_state, paths_state, sample_files_state, values

MOST_SAMPLES = 1 << 16
"""Samples in a batch that is previewed."""
_MEMORY = Budget(min(4 << 30, memory_of_machine() // 2))
"""Memory of the batches of all previews."""
_KEPT_OF_A_NODE = 16
"""Results kept of one node: while a slider is dragged, older ones are dropped soon and their memory is reused."""


class Evaluator:
    """Evaluates graphs one after the other and remembers results.

    Parameters
    ----------
    memory
        Bytes of results to remember.
    threads
        Worker threads; by default one for each core.
    roots
        What graphs may read; `None` for everything. Operators write no files then.
    """

    def __init__(self, memory: int = 768 << 20, threads: int | None = None, roots: Roots | None = None) -> None:
        self._roots = roots
        self.threads = threads or usable_cores()
        self.cache: Cache[NodeResult] = Cache(memory, _KEPT_OF_A_NODE)
        with self._limiting():
            self.resources = PreviewResources(self.threads, ThreadPool(self.threads, "dali-lab-preview"))
        self._sources = Sources()
        self._branches = Branches()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def _limiting(self) -> Iterator[None]:
        with _MEMORY.limiting(), contextlib.nullcontext() if self._roots is None else self._roots.limiting():
            yield

    def close(self) -> None:
        """End the threads and forget everything."""
        self.resources.pool.close()
        with self._lock:
            self._sources.close()
        self.cache.clear()

    def evaluate(
        self,
        graph: Graph,
        seed: int,
        *,
        iteration: int = 0,
        samples: int = 8,
        nodes: Iterable[str] | None = None,
        pins: Pins | None = None,
        token: Token | None = None,
        progress: Progress | None = None,
        finished: Callable[[Evaluation], None] | None = None,
    ) -> Evaluation:
        """Compute the first samples of a batch at every node.

        Parameters
        ----------
        graph
            A graph without problems; its nodes may lead nowhere.
        seed
            The pipeline's seed.
        iteration
            Which batch, from 0.
        samples
            How many samples of it.
        nodes
            The nodes wanted, with all they need; by default all.
        pins
            Samples that make up the batch, in place of those that come in turn; `iteration` does not matter then.
        token
            Stops it.
        progress
            Called as ``progress(done, total, node)`` from worker threads, and again and again during a long step.
        finished
            Called with the results so far before more are computed.

        Raises
        ------
        Cancelled
            If the token was cancelled.
        """
        with self._lock, self._limiting():
            run = _Run(
                self, graph, seed, 0 if pins else iteration, samples, nodes, token or Token(), progress, finished, pins
            )
            return run.work()


class _Run:
    """One running evaluation: which nodes are cached, wait for others, or have to be computed."""

    def __init__(
        self,
        owner: Evaluator,
        graph: Graph,
        seed: int,
        iteration: int,
        samples: int,
        nodes: Iterable[str] | None,
        token: Token,
        progress: Progress | None,
        finished: Callable[[Evaluation], None] | None,
        pins: Pins | None = None,
    ) -> None:
        self.owner = owner
        self.pins = pins
        self.finished = finished
        self.graph = graph
        self.iteration = iteration
        self.token = token
        self.batch_size = whole_number("batch_size", graph.pipeline.get("batch_size")) or 8
        if self.batch_size > MOST_SAMPLES:
            raise GraphError(f"previews take batches of up to {MOST_SAMPLES} samples; batch_size is {self.batch_size}")
        wanted = None if nodes is None else graph.ancestors(nodes)
        self.order = [name for name in graph.order() if wanted is None or name in wanted]
        self.kinds = {name: find_operator(graph.nodes[name].op) for name in self.order}
        whole = any(kind.whole_batch for kind in self.kinds.values())
        self.size = self.batch_size if whole else max(1, min(samples, self.batch_size))
        self.seed = seed
        self.seeds = graph_seeds(graph, seed)
        self.evaluation = Evaluation(samples=min(max(1, samples), self.batch_size), total=self.batch_size)
        self.before = iteration * self.batch_size
        self.in_branches: dict[str, int] = {}
        self.computation = BatchComputation(
            graph, self.seeds, iteration, self.evaluation, owner.resources, token, progress
        )

    def work(self) -> Evaluation:
        try:
            self._count_branches()
            self._sources()
            self._others()
        finally:
            self.computation.close()
        return self.evaluation

    def _count_branches(self) -> None:
        """For random nodes in a branch of a conditional: how many samples took it in the batches before this one."""
        drawing = [name for name in self.order if name in self.seeds and not self.kinds[name].source]
        if self.iteration == 0 or not drawing:
            return

        def results(name: str, iteration: int) -> NodeResult | None:
            whole = _Run(self.owner, self.graph, self.seed, iteration, self.batch_size, [name], self.token, None, None)
            return whole.work().results.get(name)

        self.in_branches = self.owner._branches.samples_before(
            self.graph, self.seeds, self.batch_size, self.iteration, drawing, results
        )

    def _drawn_before(self, name: str) -> int:
        """Samples that a node has drawn numbers for in the batches before this one."""
        return self.in_branches.get(name, self.before)

    def _sources(self) -> None:
        """Draw from sources first: the files that they read decide which results are cached."""
        results = self.evaluation.results
        draws: dict[str, Draw] = {}
        unknown: dict[str, str] = {}
        for name in self.order:
            if not self.kinds[name].source:
                continue
            node = self.graph.nodes[name]
            base = digest(node.op, node.device, name, values(node), paths_state(node), self.seeds.get(name))
            key = digest(base, self.iteration, self.batch_size, self.pins)
            known = self._known(key)
            counted = self.owner._sources.samples_before(base, self.iteration, self.batch_size)
            if known is not None and counted is not None:
                results[name] = known
                self.before = counted
                continue
            try:
                operator, draws[name] = self._draw(base, node)
            except Exception as error:  # any error of a reader is reported at its node
                results[name] = NodeResult(key, failures=[Failure(_ended(error, self.iteration))])
                continue
            self.computation.operators[name] = operator
            self.computation.borrowed.add(name)
            self.before = self.owner._sources.samples_before(base, self.iteration, self.batch_size) or 0
            unknown[name] = key
        if not unknown:
            return
        counts = [draw.count for draw in draws.values()]
        self.size = min([self.size, *counts])
        self.evaluation.total = min([self.batch_size, *counts])
        self.computation.steps = len(unknown) * self.size
        self._compute(unknown, draws)
        for name in unknown:
            result = results[name]
            result.key = digest(result.key, result.files)

    def _draw(self, base: str, node: Node) -> tuple[Operator, Draw]:
        sources = self.owner._sources
        pinned = self.pins and sources.pinned(base, node, self.seeds, self.pins, self.batch_size)
        return pinned or sources.draw(base, node, self.seeds, self.iteration, self.batch_size, self.token)

    def _others(self) -> None:
        results, waiting = self.evaluation.results, self.evaluation.waiting
        unknown: dict[str, str] = {}
        for name in self.order:
            if self.kinds[name].source:
                continue
            node = self.graph.nodes[name]
            keys = []
            for edge in map(bare, node.edges()):
                source = edge.node
                if source in waiting:
                    waiting.setdefault(name, waiting[source])
                elif source not in unknown and not self.evaluation.gave(edge):
                    waiting.setdefault(name, source)
                keys.append(
                    (
                        unknown[source] if source in unknown else results[source].key if source in results else "",
                        edge.output,
                    )
                )
            if name in waiting:
                continue
            kind = self.kinds[name]
            drawn = (self._drawn_before(name), self.seeds.get(name)) if name in self.seeds else None
            key = digest(
                node.op,
                node.device,
                values(node),
                keys,
                sorted(node.connections),
                drawn,
                self.size if kind.whole_batch else None,
            )
            known = self._known(key)
            if known is not None:
                results[name] = known
                continue
            try:
                self.computation.operators[name] = make_operator(node)
            except Exception as error:  # contradicting arguments are reported at their node
                results[name] = NodeResult(key, failures=[Failure(error)])
                continue
            unknown[name] = key
        self.computation.steps += len(unknown) * self.size
        for wave in self._waves(unknown):
            if self.finished is not None:
                self.finished(self.evaluation)
            for name in wave:
                cause = self._lacking(name, wave)
                if cause is not None:
                    waiting[name] = waiting.get(cause, cause)
            self._compute({name: unknown[name] for name in wave if name not in waiting}, {})
            self._find_waiting(wave)

    def _waves(self, names: Iterable[str]) -> list[list[str]]:
        """Nodes to be computed together: all at once, but for those whose kernels may have to be compiled first.

        So the pictures of earlier nodes need not wait for the compiler.
        """
        waves: list[list[str]] = []
        open_wave = False
        for name in names:
            used = self.owner.resources.operator_times.knows([self.graph.nodes[name].op])
            if used and open_wave:
                waves[-1].append(name)
            else:
                waves.append([name])
            open_wave = used
        return waves

    def _lacking(self, name: str, together: list[str]) -> str | None:
        """A node that this one needs and that has no results."""
        for edge in map(bare, self.graph.nodes[name].edges()):
            waits = edge.node in self.evaluation.waiting
            if waits or (edge.node not in together and not self.evaluation.gave(edge)):
                return edge.node
        return None

    def _find_waiting(self, names: Iterable[str]) -> None:
        """Nodes without results because a node they need has none: they wait for it."""
        results, waiting = self.evaluation.results, self.evaluation.waiting
        for name in names:
            result = results.get(name)
            if result is not None and not result.failures and all(batch is None for batch in result.outputs):
                needed = map(bare, self.graph.nodes[name].edges())
                cause = next((edge.node for edge in needed if not self.evaluation.gave(edge)), None)
                if cause is not None:
                    del results[name]
                    waiting[name] = waiting.get(cause, cause)

    def _known(self, key: str) -> NodeResult | None:
        found = self.owner.cache.get(key)
        if found is None or found.count < self.size or (found.unmeasured and not compiling()):
            return None
        if found.files and any(file_state(path) != (path, changed, size) for path, changed, size in found.files):
            return None
        return found

    def _compute(self, keys: Mapping[str, str], draws: Mapping[str, Draw]) -> None:
        """Run these nodes on the batch, whose inputs are all known, and cache their results."""
        drawn = {name: self._drawn_before(name) for name in self.order}
        for name, result in self.computation.compute(keys, self.size, drawn, draws).items():
            if self.kinds[name].source:
                result.files = sample_files_state(
                    self.graph.nodes[name], result.outputs, [failure.error for failure in result.failures]
                )
            self.evaluation.results[name] = result
            self.evaluation.computed.add(name)
            self.owner.cache.put(result.key, result, result.size(), name)


def _ended(error: BaseException, iteration: int) -> BaseException:
    if isinstance(error, StopIteration):
        plural = "" if iteration == 1 else "es"
        return GraphError(f"The source ends after {iteration} batch{plural}.")
    return error
