"""Runs nodes of a graph on one batch with the pipelines' engine, with or without a GPU, and measures them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dali_lab.device.transfer import download
from dali_lab.executor.batch_run import BatchRun
from dali_lab.executor.engine import Engine
from dali_lab.executor.placement import device_for_preview
from dali_lab.executor.plan import Plan, make_plan
from dali_lab.executor.pool import ThreadPool
from dali_lab.graph.graph import Edge, Graph
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DaliLabError
from dali_lab.schema.operator import Operator
from dali_lab.schema.source import Draw
from dali_lab.studio.preview.compilations import compilations
from dali_lab.studio.preview.operator_times import OperatorTimes
from dali_lab.studio.preview.results import Evaluation, Failure, NodeResult, Token

_POLL = 0.05
_SHORT = 1.0

Progress = Callable[[int, int, str], None]


@dataclass
class PreviewResources:
    """Thread pool and operator times shared by successive previews."""

    threads: int
    pool: ThreadPool
    operator_times: OperatorTimes = field(default_factory=OperatorTimes)


class BatchComputation:
    """Computes nodes of one batch whose inputs have been computed.

    Parameters
    ----------
    graph, seeds, iteration
        The graph, the seeds of its nodes, and the number of the batch.
    evaluation
        Results so far; failures are recorded here.
    token
        Stops it.
    progress
        Called as ``progress(done, total, node)`` from worker threads, and again and again during a long step.

    Attributes
    ----------
    operators
        Operators by node name, created by the caller.
    borrowed
        Nodes whose operators the caller does not own and this does not close.
    steps
        Number of samples to compute, summed over nodes, as far as known.
    """

    def __init__(
        self,
        graph: Graph,
        seeds: Mapping[str, int],
        iteration: int,
        evaluation: Evaluation,
        resources: PreviewResources,
        token: Token,
        progress: Progress | None,
    ) -> None:
        self._graph = graph
        self._seeds = seeds
        self._iteration = iteration
        self._evaluation = evaluation
        self._resources = resources
        self._token = token
        self._progress = progress
        self._device = device_for_preview(graph)
        self._steps_done = 0
        self._abandoned: BatchRun | None = None
        self.steps = 0
        self.operators: dict[str, Operator] = {}
        self.borrowed: set[str] = set()

    def close(self) -> None:
        """Close the operators, or have them closed when the last run of them ends."""
        if self._abandoned is None or self._abandoned.finished.is_set():
            self._close_operators()

    def _run_ended(self, run: BatchRun) -> None:
        if run is self._abandoned:
            self._close_operators()

    def _close_operators(self) -> None:
        for name, operator in self.operators.items():
            if name not in self.borrowed:
                operator.close()

    def compute(
        self, keys: Mapping[str, str], size: int, drawn: Mapping[str, int], draws: Mapping[str, Draw]
    ) -> dict[str, NodeResult]:
        """Compute the results of nodes for the first samples of the batch.

        Parameters
        ----------
        keys
            The nodes, with the keys of their results.
        size
            How many samples.
        drawn
            For each node of the graph, the samples that it has drawn numbers for before.
        draws
            The sources' decisions for this batch.

        Raises
        ------
        Cancelled
            If the token was cancelled.
        """
        names, plan, device_plan = self._plans(keys)
        if plan is None:
            return {}
        known, missing = self._evaluation.known(), self._evaluation.missing()
        self._token.check()
        following = dict(zip(names, [*names[1:], names[-1]], strict=True))

        at = names[0]

        def report() -> None:
            if self._progress is not None:
                self._progress(self._steps_done, self.steps, at)

        def count(node: str, steps: int) -> None:
            nonlocal at
            self._steps_done += steps
            at = following.get(node, node)
            report()

        def attempt(plan: Plan, chunk: int, *, told: bool = True) -> tuple[Engine, BatchRun]:
            engine = Engine(
                plan,
                self._resources.threads,
                self._seeds,
                chunk=chunk,
                keep_going=True,
                pool=self._resources.pool,
                progress=count if told else None,
            )
            engine.drawn.update(drawn)
            run = engine.start(engine.prepare(self._iteration, size, draws, known, self._run_ended, missing))
            self._token.watch(run)
            while not run.wait(_POLL):
                if self._token.reason is not None:
                    # Compilation of a kernel cannot be stopped; the next preview does not wait for it.
                    self._abandoned = run
                    self._token.check()
                report()
            self._token.check()
            return engine, run

        report()
        times = self._resources.operator_times
        ops = {self._graph.nodes[name].op for name in names}
        compiled, began = compilations(), time.monotonic()
        once = any(self.operators[name].in_order for name in names)
        chunk = 1 if once else times.chunk(ops, size, self._resources.threads)
        engine, run = attempt(device_plan or plan, chunk)
        if run.failures and device_plan is not None and not once:
            # On a GPU a batch fails as a whole.
            device_plan = None
            engine, run = attempt(plan, chunk)
        if chunk > 1 and run.failures:
            # One sample in a chunk, so that a failing sample fails alone.
            engine, run = attempt(plan, 1)
        short = not times.knows(ops) and time.monotonic() - began < _SHORT
        if (short or compilations() != compiled) and not once:
            # The first use of a kernel loads or compiles it; the time shown is that of later uses.
            compiled = compilations()
            engine, run = attempt(device_plan or plan, 1, told=False)
        run.values = {edge: download(batch) for edge, batch in run.values.items()}
        # On a GPU the time between events counts.
        run.seconds.update(engine.device.seconds() if engine.device is not None else {})
        # While kernels are still compiled in the background, slower code does their work: its time is no cost.
        unmeasured = compilations() != compiled
        for name in names:
            # A failed operator is likely to fail again, so its next run has one sample in a chunk from the start.
            predicts = not (run.failures or unmeasured)
            times.note(self._graph.nodes[name].op, run.seconds.get(name, 0.0) / size if predicts else None)
        results = {name: self._result(name, keys[name], size, run) for name in names}
        if unmeasured:
            for result in results.values():
                result.seconds, result.unmeasured = None, not once
        return results

    def _plans(self, keys: Mapping[str, str]) -> tuple[list[str], Plan | None, Plan | None]:
        """The nodes that can be planned, and the plans without and with a GPU.

        The other nodes fail, and those behind them wait.
        """
        names, known = list(keys), self._evaluation.known()
        while names:
            wanted = [Edge(name, index) for name in names for index in range(self._outputs(name))]
            try:
                return names, make_plan(self._graph, wanted, known, self.operators), self._device_plan(wanted, known)
            except DaliLabError as error:
                culprit = error.node if error.node in names else names[0]
                self._evaluation.results[culprit] = NodeResult(keys[culprit], failures=[Failure(error)])
                behind = self._graph.descendants(culprit)
                for name in names:
                    if name in behind:
                        self._evaluation.waiting[name] = culprit
                names = [name for name in names if name != culprit and name not in behind]
        return [], None, None

    def _outputs(self, name: str) -> int:
        operator = self.operators[name]
        return operator.output_count(operator.values)

    def _device_plan(self, wanted: list[Edge], known: Mapping[Edge, Batch]) -> Plan | None:
        """The plan with a GPU, if there is one and something runs on it; samples that failed before go to the CPU."""
        if self._device is None or any(self._evaluation.missing().values()):
            return None
        plan = make_plan(self._graph, wanted, known, self.operators, device=self._device)
        return plan if any(stage.gpu for stage in plan.stages) else None

    def _result(self, name: str, key: str, size: int, run: BatchRun) -> NodeResult:
        result = NodeResult(key, count=size, seconds=run.seconds.get(name))
        for index in range(self._outputs(name)):
            edge = Edge(name, index)
            batch = run.values.get(edge)
            result.outputs.append(batch)
            result.missing.append(frozenset(range(size)) if batch is None else frozenset(run.missing.get(edge, ())))
        for node, start, samples, error in run.failures:
            if node == name:
                whole = samples != 1 or (size > 1 and self.operators[name].whole_batch)
                result.failures.append(Failure(error, None if whole else start))
        result.failures.sort(key=lambda failure: -1 if failure.sample is None else failure.sample)
        return result
