"""Goes through the samples of a graph's readers in line, with the executor that trains."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.checking.facts import Facts, Numbers, facts_of
from dali_lab.checking.findings import Finding
from dali_lab.device.transfer import download
from dali_lab.executor.bad_samples import BadSample
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.io.files import MISSING
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.model.errors import DaliLabError, GraphError, SampleError
from dali_lab.model.system import usable_cores
from dali_lab.operators.readers.list_reader import ListReader, ListSource, list_sources
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator, has_operator

PART = 1024
"""Samples of a part, about: a part is done as a whole or not at all."""
_ORDER = (
    "random_shuffle", "initial_fill", "shuffle_after_epoch", "shuffle_after_epoch_seed", "num_shards", "shard_id",
    "stick_to_shard", "pad_last_batch", "lazy_init",
)  # fmt: skip
_TOLERANT: dict[str, Any] = {"on_error": "skip", "max_error_rate": 1.0}
_UNUSED_SETTINGS = ("output_dtype", "output_ndim", "output_layout", "enable_checkpointing", "checkpoint")
_FAILURES = (DaliLabError, ValueError, TypeError, ArithmeticError, LookupError, OSError)
"""Errors that are findings: operators of other packages raise any of them about a bad sample."""
_LABELS = ("label", "labels")


@dataclass
class Part:
    """The result for some samples that follow each other.

    Attributes
    ----------
    number
        Number of the part, from 0.
    findings
        Samples that cannot be read or that the pipeline refuses.
    facts
        Facts about the good samples of each reader.
    """

    number: int
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)


@dataclass(frozen=True)
class _Tap:
    """The outputs of a reader that facts come from: the samples, and labels if there are any."""

    reader: str
    data: int
    labels: int | None
    encoded: bool


class Walk:
    """Goes through all samples of a graph, in parts that do not depend on each other.

    Parameters
    ----------
    graph
        A graph with readers of lists of samples.
    batch_size, threads
        Instead of those in the graph; as many threads as cores by default.

    Attributes
    ----------
    sizes
        Samples of each reader.
    total
        Samples of the largest reader: those of the others come again meanwhile.
    parts
        Number of parts.
    batch_size
        Samples in a batch.

    Raises
    ------
    GraphError
        If no reader has a list of samples.
    DaliLabError
        If the graph is wrong, or a reader does not find its data.
    """

    def __init__(self, graph: Graph, *, batch_size: int | None = None, threads: int | None = None) -> None:
        self._graph, self._taps = prepared(graph)
        self.batch_size = batch_size or _whole(graph.pipeline.get("batch_size")) or 1
        self._threads = threads or usable_cores()
        self._pipeline: Pipeline | None = None
        self._single: Pipeline | None = None
        self._at = self._single_at = 0
        self.sources = self._open()
        self.sizes = {name: source.meta()["epoch_size"] for name, source in self.sources.items()}
        self.total = max(self.sizes.values())
        self.part_size = self.batch_size * max(1, PART // self.batch_size)
        self.parts = -(-self.total // self.part_size)
        self._readers = _readers_of_nodes(self._graph, set(self.sizes))

    # -- pipelines ----------------------------------------------------------------------------------------------

    def _make(self, batch_size: int, **settings: Any) -> Pipeline:
        settings = {"batch_size": batch_size, "num_threads": self._threads, "cache": "off", **_TOLERANT, **settings}
        pipeline = Pipeline.from_graph(self._graph, **settings)
        pipeline.build()
        return pipeline

    def _open(self) -> dict[str, ListSource]:
        self._pipeline = self._make(self.batch_size)
        return list_sources(self._pipeline._built().sources)

    def close(self) -> None:
        """End all work."""
        for pipeline in (self._pipeline, self._single):
            if pipeline is not None:
                pipeline.close()

    def names(self, reader: str, places: Numbers) -> tuple[str, ...]:
        """Names of samples of a reader, by their places in its list."""
        return self.sources[reader].names(places)

    # -- walking ------------------------------------------------------------------------------------------------

    def walk(self, first: int = 0, tell: Callable[[int], None] | None = None, end: int | None = None) -> Iterator[Part]:
        """The parts from `first` up to, not including, `end`; can be begun once.

        Parameters
        ----------
        tell
            Called after each batch with the number of samples behind it.
        """
        assert self._pipeline is not None
        if first and first < self.parts:
            _skip(self._pipeline, first * self.part_size)
        for number in range(first, self.parts if end is None else min(end, self.parts)):
            part = Part(number)
            pieces: dict[str, list[Facts]] = {name: [] for name in self.sizes}
            start = number * self.part_size
            stop = min(start + self.part_size, self.total)
            for begin in range(start, stop, self.batch_size):
                self._run_batch(begin, min(begin + self.batch_size, stop), part, pieces)
                if tell is not None:
                    tell(min(begin + self.batch_size, stop))
            part.facts = {name: Facts.joined(each) for name, each in pieces.items()}
            yield part

    def _run_batch(self, start: int, stop: int, part: Part, pieces: Mapping[str, list[Facts]]) -> None:
        assert self._pipeline is not None
        runner = self._pipeline._built()
        before = runner.bad_samples.total
        try:
            batches = _run(self._pipeline)
        except _FAILURES as error:
            self._one_by_one(start, stop, part, pieces, error)
            return
        count = runner.bad_samples.total - before
        records = list(runner.bad_samples.records)[-count:] if count else []
        for record in records:
            if start + record.sample < stop:
                part.findings.append(self._finding(record, start + record.sample))
        left_out = set(runner.left_out)
        rows = np.array([row for row in range(self.batch_size) if row not in left_out], np.int64)
        self._note(batches, start + rows, stop, part, pieces)

    def _one_by_one(
        self, start: int, stop: int, part: Part, pieces: Mapping[str, list[Facts]], error: BaseException
    ) -> None:
        """Run the samples of a batch that failed as a whole each by itself."""
        if self._single is None:
            self._single = self._make(1, exec_pipelined=False, exec_async=False, prefetch_queue_depth=1)
            self._single_at = 0
        _skip(self._single, start - self._single_at)
        found = len(part.findings)
        for step in range(start, stop):
            try:
                batches = _run(self._single)
            except _FAILURES as wrong:
                part.findings.append(self._finding(_record(wrong), step))
                continue
            runner = self._single._built()
            if runner.left_out:
                part.findings.append(self._finding(runner.bad_samples.records[-1], step))
            else:
                self._note(batches, np.array([step]), stop, part, pieces)
        self._single_at = stop
        if len(part.findings) == found:
            reader = next(iter(self.sizes))
            message = f"the samples at {start:,} to {stop - 1:,} together: {_record(error).message}"
            part.findings.append(Finding("refused", reader, message, node=_record(error).node))

    def _note(
        self, batches: list[Batch], steps: Numbers, stop: int, part: Part, pieces: Mapping[str, list[Facts]]
    ) -> None:
        """Take facts from the outputs of readers; `steps` are the places of the rows if the reader has as many."""
        for tap in self._taps:
            rows = np.flatnonzero(steps < min(stop, self.sizes[tap.reader]))
            if not len(rows):
                continue
            data = _on_host(batches[tap.data]).take(rows)
            labels = _on_host(batches[tap.labels]).take(rows) if tap.labels is not None else None
            encoded = tap.encoded and data.dtype is UINT8 and data.ndim == 1
            facts, cut = facts_of(data, steps[rows], labels, encoded=encoded)
            pieces[tap.reader].append(facts)
            for index, message in cut.items():
                part.findings.append(self._named(Finding("damaged", tap.reader, message, int(steps[rows[index]]))))

    def samples(self, reader: str, places: Iterable[int]) -> Iterator[tuple[int, npt.NDArray[np.generic]]]:
        """Samples of a reader by their places, in rising order; without those that cannot be read."""
        tap = next(tap for tap in self._taps if tap.reader == reader)
        edge = self._graph.outputs[tap.data]
        alone = self._graph.replaced(nodes={reader: self._graph.nodes[reader]}, outputs=(edge,))
        pipeline = Pipeline.from_graph(
            alone,
            batch_size=1,
            num_threads=1,
            exec_pipelined=False,
            exec_async=False,
            prefetch_queue_depth=1,
            cache="off",
            **_TOLERANT,
        )
        try:
            pipeline.build()
            at = 0
            for place in places:
                _skip(pipeline, place - at)
                at = place + 1
                with contextlib.suppress(*_FAILURES):
                    yield place, _on_host(_run(pipeline)[0]).array(0)
        finally:
            pipeline.close()

    # -- findings -----------------------------------------------------------------------------------------------

    def _finding(self, record: BadSample, step: int) -> Finding:
        node = self._graph.nodes.get(record.node)
        operator = find_operator(node.op) if node is not None and has_operator(node.op) else None
        readers = self._readers.get(record.node) or list(self.sizes)
        reader = next((name for name in readers if self._came_from(name, step, record.file)), readers[0])
        if operator is not None and operator.source:
            missing = MISSING in record.message
            kind = "missing_file" if missing else "unreadable"
        else:
            kind = "damaged" if operator is not None and operator.decodes else "refused"
        place = step % self.sizes[reader]
        return self._named(Finding(kind, reader, record.message, place, None, record.node or None))

    def _came_from(self, reader: str, step: int, file: str | None) -> bool:
        source = self.sources[reader]
        return file is not None and file in source.files(np.array([step % self.sizes[reader]]))

    def _named(self, finding: Finding) -> Finding:
        assert finding.place is not None
        (name,) = self.names(finding.reader, np.array([finding.place]))
        return Finding(finding.kind, finding.reader, finding.message, finding.place, name, finding.node)


def prepared(graph: Graph) -> tuple[Graph, list[_Tap]]:
    """The graph with its readers reading in line, and with their samples as further outputs.

    Raises
    ------
    GraphError
        If no reader has a list of samples.
    """
    nodes: dict[str, Node] = {}
    taps, edges = [], list(graph.outputs)
    needed = graph.ancestors(edge.node for edge in graph.outputs)
    for name, node in graph.nodes.items():
        operator = find_operator(node.op) if has_operator(node.op) else None
        if "on_error" in node.arguments:
            node = node.replaced(arguments={key: value for key, value in node.arguments.items() if key != "on_error"})
        if operator is None or not issubclass(operator, ListReader) or name not in needed:
            nodes[name] = node
            continue
        nodes[name] = node.replaced(
            arguments={key: value for key, value in node.arguments.items() if key not in _ORDER}
        )
        outputs = operator.present_outputs(node.arguments)[: operator.count_outputs(node.arguments, 0)]
        main = _main_output(graph, name)
        labels = next((i for i, out in enumerate(outputs) if out.name.lower() in _LABELS and i != main), None)
        encoded = main < len(outputs) and outputs[main].kind in ("encoded", "any")
        taps.append(_Tap(name, len(edges), None if labels is None else len(edges) + 1, encoded))
        edges += [Edge(name, main), *([] if labels is None else [Edge(name, labels)])]
    if not taps:
        fed = [name for name, node in graph.nodes.items() if has_operator(node.op) and find_operator(node.op).source]
        sources = f"{', '.join(fed)} has none" if fed else "there is none"
        raise GraphError(f"nothing to check: a check goes through the list of samples of a reader, and {sources}")
    settings = {key: value for key, value in graph.pipeline.items() if key not in _UNUSED_SETTINGS}
    return graph.replaced(nodes=nodes, outputs=tuple(edges), pipeline=settings), taps


def _main_output(graph: Graph, reader: str) -> int:
    """The output of a reader that is decoded, else the first one."""
    for name in graph.order():
        node = graph.nodes[name]
        if node.inputs and node.inputs[0].node == reader and has_operator(node.op):
            inputs = find_operator(node.op).inputs
            if inputs and inputs[0].kind == "encoded":
                return node.inputs[0].output
    return 0


def _skip(pipeline: Pipeline, count: int) -> None:
    """Let the readers of a pipeline pass over samples."""
    if count:
        for source in list_sources(pipeline._built().sources).values():
            source.skip(count)


def _run(pipeline: Pipeline) -> list[Batch]:
    """The next batch; sources that end begin again."""
    try:
        outputs = pipeline.run()
    except StopIteration:
        pipeline.reset()
        outputs = pipeline.run()
    return [output._batch for output in outputs]


def _on_host(batch: Batch) -> Batch:
    return batch if batch.device is None else download(batch)


def _record(error: BaseException) -> BadSample:
    """An error of a batch as the record of its bad sample."""
    if not isinstance(error, DaliLabError):
        return BadSample("", "", None, f"{type(error).__name__}: {error}", 0, 0, 0)
    sample = error.sample if isinstance(error, SampleError) and error.sample is not None else 0
    return BadSample(error.node or "", error.operator or "", error.source, error.message, sample, 0, 0)


def _readers_of_nodes(graph: Graph, readers: Iterable[str]) -> dict[str, list[str]]:
    """For each node the readers that it depends on."""
    wanted = set(readers)
    return {name: sorted((graph.ancestors([name]) | {name}) & wanted) for name in graph.nodes}


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
