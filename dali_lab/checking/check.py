"""Checks the dataset that a graph reads."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import NamedTuple

import numpy as np

from dali_lab.checking.facts import Facts
from dali_lab.checking.findings import Finding, ordered
from dali_lab.checking.journal import Journal, mark
from dali_lab.checking.judging import judged
from dali_lab.checking.report import ReaderSummary, Report
from dali_lab.checking.walk import Part, Walk
from dali_lab.graph.graph import Graph, require_graph


class Progress(NamedTuple):
    """Progress of a check: samples checked and in all, samples a second, and seconds left."""

    done: int
    total: int
    rate: float
    left: float


Walking = Callable[[int, Callable[[int], None]], Iterable[Part]]
"""Gives the parts from a number on, in order, and tells of the samples that are behind it."""


class Check:
    """A check of the dataset that a graph reads.

    Parameters
    ----------
    graph
        A graph with readers. Random operators draw once for each sample; readers give theirs in line, of all shards.
    batch_size, threads
        Instead of those in the graph; as many threads as cores by default.
    journal
        A file that keeps what is done: a check that was ended goes on behind the last part in it.
    title
        Name of the graph in the report.

    Attributes
    ----------
    walk
        Goes through the samples.
    done
        Parts that are done.

    Raises
    ------
    DaliLabError
        If the graph cannot run, or has no reader.
    OSError
        If the journal cannot be written.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        batch_size: int | None = None,
        threads: int | None = None,
        journal: str | None = None,
        title: str = "",
    ) -> None:
        self.graph = graph
        self.title = title
        self.walk = Walk(graph, batch_size=batch_size, threads=threads)
        self._journal = Journal(journal, self._mark()) if journal is not None else None
        self.done: list[Part] = list(self._journal.parts) if self._journal is not None else []
        self._seconds = 0.0
        self._samples = 0

    def _mark(self) -> str:
        names = [self.walk.names(reader, np.arange(size)) for reader, size in self.walk.sizes.items()]
        nodes = [(node, sorted(self.graph.nodes[node].arguments.items(), key=str)) for node in self.graph.order()]
        edges = [(node, [str(edge) for edge in self.graph.nodes[node].edges()]) for node in self.graph.order()]
        return mark(self.walk.part_size, nodes, edges, self.graph.outputs, names)

    def run(self, tell: Callable[[Progress], None] | None = None, walk: Walking | None = None) -> Report:
        """Go through the rest of the samples, and report about all.

        Parameters
        ----------
        tell
            Called after each batch; what it raises ends the check, which can be taken up again by its journal.
        walk
            Goes through the parts in place of :meth:`Walk.walk`, on other machines.
        """
        first = len(self.done)
        before = min(first * self.walk.part_size, self.walk.total)
        began = time.monotonic()

        def progress(done: int) -> None:
            rate = (done - before) / max(1e-9, time.monotonic() - began)
            if tell is not None:
                tell(Progress(done, self.walk.total, rate, (self.walk.total - done) / max(1e-9, rate)))

        for part in (walk or self.walk.walk)(first, progress):
            self.done.append(part)
            if self._journal is not None:
                self._journal.add(part)
        self._seconds = time.monotonic() - began
        self._samples = self.walk.total - before
        return self.report()

    def report(self) -> Report:
        """The report about the parts that are done."""
        findings = [finding for part in self.done for finding in part.findings]
        readers = {}
        for reader, size in self.walk.sizes.items():
            facts = Facts.joined([part.facts[reader] for part in self.done if reader in part.facts])
            findings += judged(reader, facts, functools.partial(self.walk.names, reader))
            findings += self._beside(reader)
            readers[reader] = ReaderSummary.of(size, facts)
        findings = ordered(list(dict.fromkeys(findings)))
        return Report(self.title, self.walk.total, self._samples, self._seconds, readers, findings)

    def _beside(self, reader: str) -> Iterable[Finding]:
        for found in self.walk.sources[reader].unmatched():
            yield Finding(found.kind, reader, found.message)
        for name, message in self.walk.sources[reader].unreadable():
            yield Finding("unreadable", reader, message, None, name)

    def excluded(self, findings: Iterable[Finding]) -> list[str]:
        """Names of the samples of findings, and of those that other readers give together with them."""
        names: list[str] = []
        for finding in findings:
            if finding.place is None:
                names += [] if finding.sample is None else [finding.sample]
                continue
            size = self.walk.sizes[finding.reader]
            together = [reader for reader, other in self.walk.sizes.items() if other == size]
            names += [self.walk.names(reader, np.array([finding.place]))[0] for reader in together]
        return list(dict.fromkeys(names))

    def close(self, *, finished: bool = False) -> None:
        """End all work; the journal is removed once the check is finished."""
        self.walk.close()
        if self._journal is not None:
            self._journal.close(remove=finished)


def check(graph: Graph, **options: int | None) -> Report:
    """Check the dataset that a graph reads.

    Parameters
    ----------
    **options
        `batch_size` and `threads`, as for :class:`Check`.
    """
    require_graph(graph)
    with closing(Check(graph, **options)) as checking:  # type: ignore[arg-type]
        return checking.run()
