"""Checks the dataset that a document reads, for a client."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import closing

from dali_lab.checking import KINDS, Check, Finding
from dali_lab.checking.check import Progress
from dali_lab.executor.plan import make_operator
from dali_lab.executor.sources.opening import open_source
from dali_lab.graph.graph import Graph
from dali_lab.graph.seeds import graph_seeds
from dali_lab.io.exclude_list import exclude_list
from dali_lab.model.errors import DaliLabError
from dali_lab.operators.readers.list_reader import ListSource
from dali_lab.studio.protocol.checks import CheckDone, CheckFinding, CheckKind, CheckProgress, CheckRequest
from dali_lab.studio.work import Work

SHOWN = 100
"""Findings of a kind that are sent."""
Place = tuple[int, int]


def check_dataset(work: Work, request: CheckRequest) -> CheckDone:
    """Check the dataset of a document."""

    def watch(progress: Progress) -> None:
        rate, left = round(progress.rate, 1), round(min(progress.left, 1e9), 1)
        work.progress(CheckProgress(request.run, progress.done, progress.total, rate, left))

    graph = work.checked.runnable
    batch_size = max(1, int(graph.pipeline.get("batch_size") or 8))
    with work.roots.limiting(writes=True), closing(Check(graph, batch_size=batch_size)) as check:
        report = check.run(watch)
        kinds = _kinds(report.findings, _Places(graph, work.seed, batch_size))
        excluded = _plain(os.fsdecode(exclude_list(check.excluded(report.errors))))
    return CheckDone(request.run, "done", report.samples, round(report.seconds, 3), kinds, excluded)


def _kinds(findings: list[Finding], places: _Places) -> list[CheckKind]:
    result = []
    for kind, entry in KINDS.items():
        of_kind = [finding for finding in findings if finding.kind == kind]
        if of_kind:
            shown = [_sent(finding, places) for finding in of_kind[:SHOWN]]
            result.append(CheckKind(kind, entry.severity, entry.title, len(of_kind), shown))
    return result


def _sent(finding: Finding, places: _Places) -> CheckFinding:
    iteration, index = places.of(finding) or (None, None)
    return CheckFinding(
        finding.kind,
        finding.severity,
        finding.reader,
        _plain(finding.message),
        None if finding.sample is None else _plain(finding.sample),
        finding.node,
        iteration,
        index,
    )


def _plain(text: str) -> str:
    """A text that can be sent: names of files may hold bytes that are no text."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Places:
    """Finds samples in the batches of previews, which come in the order of the reader's arguments."""

    def __init__(self, graph: Graph, seed: int, batch_size: int) -> None:
        self._graph = graph
        self._seeds = graph_seeds(graph, seed)
        self._batch_size = batch_size
        self._found: dict[str, dict[int, Place]] = {}

    def of(self, finding: Finding) -> Place | None:
        """Iteration of the preview and index in its batch; `None` if the first epoch has no such sample."""
        if finding.place is None:
            return None
        if finding.reader not in self._found:
            found = self._found[finding.reader] = {}
            with contextlib.suppress(DaliLabError):
                for number, place in self._places(finding.reader):
                    found.setdefault(number, place)
        return self._found[finding.reader].get(finding.place)

    def _places(self, reader: str) -> Iterator[tuple[int, Place]]:
        node = self._graph.nodes[reader]
        seed = self._seeds.get(reader, -1)
        with closing(make_operator(node)) as operator, closing(open_source(operator, seed)) as source:
            assert isinstance(source, ListSource)
            seen = 0
            while seen < source.meta()["epoch_size"]:
                places = source.next_places(self._batch_size)
                iteration = seen // self._batch_size
                yield from ((number, (iteration, index)) for index, number in enumerate(places.tolist()))
                seen += self._batch_size
