"""Probes for a client: training with and without augmentations, told epoch by epoch."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from dali_lab.graph.graph import Edge, Graph
from dali_lab.model.extras import installed
from dali_lab.studio.dataset.samples import Samples
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.probing.variants import Sample, over, random_steps, reader_of, split, without
from dali_lab.studio.protocol.probes import ProbeCurve, ProbeDone, ProbeProgress, ProbeRequest
from dali_lab.studio.protocol.values import within
from dali_lab.studio.work import Work

if TYPE_CHECKING:
    from dali_lab.studio.probing.training import Batch, Pictures

_MOST = {"samples": 20_000, "seeds": 10, "epochs": 100}


def run_probe(work: Work, request: ProbeRequest) -> ProbeDone:
    """Train with and without augmentations, and send the curves epoch by epoch."""
    with work.roots.limiting():
        return _Probe(work, request).run()


class _Probe:
    """One probe: the samples, the graphs, and the curves so far."""

    def __init__(self, work: Work, request: ProbeRequest) -> None:
        graph = work.checked.runnable
        if not installed("torch"):
            raise DocumentError("A probe trains with PyTorch: pip install 'dali-lab[torch]'.", "unsuitable")
        if request.node not in graph.nodes:
            raise DocumentError(f"'{request.node}' cannot be computed yet.", "not_found")
        self._output = Edge(request.node, request.output)
        graph = graph.replaced(outputs=(self._output,))
        self._reader = reader_of(graph, self._output)
        steps = random_steps(graph, self._output)
        chosen = steps if request.nodes is None else [name for name in steps if name in request.nodes]
        if not chosen:
            raise DocumentError(
                "There is no step to probe: choose one that depends on chance, such as a flip with a random coin.",
                "unsuitable",
            )
        self._with = graph
        self._without = without(graph, chosen)
        self._plain = without(graph, steps)
        self._request, self._work = request, work
        self._chosen = chosen
        self._side = within(request.side, 8, 256)
        self._epochs = within(request.epochs, 1, _MOST["epochs"])
        self._seeds = within(request.seeds, 1, _MOST["seeds"])
        with closing(Samples(self._reader, work.roots)) as found:
            labels = found.labels
            if labels is None:
                raise DocumentError(f"'{self._reader.id}' gives no labels.", "unsuitable")
            root = self._reader.arguments.get("file_root")
            names = [file[len(root) :].lstrip("/\\") if isinstance(root, str) and file.startswith(root) else file
                     for file in found.files]  # fmt: skip
            everything = [Sample(file, int(label)) for file, label in zip(names, labels, strict=True)]
        self._training, self._measured = split(everything, within(request.samples, 4, _MOST["samples"]), work.seed)
        known = sorted({sample.label for sample in self._training})
        number = {label: at for at, label in enumerate(known)}
        self._training = [Sample(sample.file, number[sample.label]) for sample in self._training]
        self._measured = [Sample(sample.file, number[sample.label]) for sample in self._measured]
        self._classes = len(known)
        self._begun = time.monotonic()
        self._done = 0
        self._broken: set[str] = set()
        self.curves: list[ProbeCurve] = []

    def run(self) -> ProbeDone:
        """Train all networks, in pairs of one seed."""

        self._report()
        with closing(self._pictures(self._plain, self._measured, 0)) as plain:
            measured = plain.whole()
            self._broken |= plain.broken
        fixed: Pictures | None = None
        try:
            for number in range(self._seeds):
                for augmented in (False, True):
                    pictures = fixed if not augmented else None
                    if pictures is None:
                        graph = self._with if augmented else self._without
                        pictures = self._pictures(graph, self._training, number)
                        fixed = fixed if augmented else pictures
                    try:
                        self._train(pictures, measured, number, augmented)
                    finally:
                        if augmented:
                            pictures.close()
        finally:
            if fixed is not None:
                fixed.close()
        last = {(curve.seed, curve.augmented): curve.accuracies[-1] for curve in self.curves}
        apart = np.array([last[number, True] - last[number, False] for number in range(self._seeds)])
        spread = float(apart.std(ddof=1)) if len(apart) > 1 else None
        return ProbeDone(
            self._request.run,
            "done",
            self.curves,
            round(float(apart.mean()), 6),
            None if spread is None else round(spread, 6),
            len(self._training),
            len(self._measured),
            self._classes,
            self._chosen,
            round(time.monotonic() - self._begun, 1),
            sorted(self._broken) or None,
        )

    def _pictures(self, graph: Graph, samples: list[Sample], number: int) -> Pictures:
        from dali_lab.studio.probing.training import BATCH, Pictures

        found = over(graph, graph.outputs[0], self._reader, samples, shuffled=False, batch=BATCH)
        return Pictures(found, self._side, len(samples), self._work.seed + number, self._work.token.check)

    def _train(self, pictures: Pictures, measured: Batch, number: int, augmented: bool) -> None:
        from dali_lab.studio.probing.training import train

        curve = ProbeCurve(augmented, number, [])
        self.curves.append(curve)
        for accuracy in train(pictures, measured, self._classes, number, self._epochs, self._work.token.check):
            curve.accuracies.append(round(accuracy, 6))
            self._done += 1
            self._report()
        self._broken |= pictures.broken

    def _report(self) -> None:
        total = 2 * self._seeds * self._epochs
        passed = time.monotonic() - self._begun
        left = passed / self._done * (total - self._done) if self._done else None
        left = None if left is None else round(left, 1)
        curves = [ProbeCurve(curve.augmented, curve.seed, list(curve.accuracies)) for curve in self.curves]
        self._work.tell(ProbeProgress(self._request.run, self._done, total, left, curves))
