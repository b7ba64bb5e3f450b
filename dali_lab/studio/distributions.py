"""The distribution of a node's numbers over many samples: sizes, means, draws, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import numpy as np
import numpy.typing as npt

from dali_lab.model.errors import DaliLabError
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.studio.errors import DocumentError
from dali_lab.studio.preview.summaries import json_float
from dali_lab.studio.protocol.datasets import Chart, DistributionDone, DistributionProgress, DistributionRequest
from dali_lab.studio.protocol.values import within
from dali_lab.studio.work import Work

BINS = 40
MOST_SAMPLES = 100_000
_FEW = 24
"""Whole numbers are counted one by one up to this many values."""

_NUMBERS = 8
"""Outputs with as many numbers a sample, or fewer, are shown number by number; of larger ones mean and deviation."""

_AXES = {"H": "height", "W": "width", "D": "depth", "F": "frames", "C": "channels"}
"""Names of the letters of layouts."""


def distribution(work: Work, request: DistributionRequest) -> DistributionDone:
    """Run a graph up to one of its outputs, and chart the numbers there."""
    run, wanted = request.run, within(request.samples, 1, MOST_SAMPLES)
    graph = work.checked.runnable
    tap = work.checked.instances.edge(request.node, request.output)
    if tap.node not in graph.nodes:
        raise DocumentError(f"'{request.node}' cannot be computed yet.", "not_found")
    found: dict[str, list[float]] = {}
    done = failed = 0
    graph = graph.replaced(outputs=(tap,))
    with work.roots.limiting(), closing(Pipeline.from_graph(graph, seed=work.seed)) as pipeline:
        pipeline.build()
        size = int(pipeline.batch_size)
        while done < wanted:
            try:
                (output,) = pipeline.run()
            except StopIteration:
                break
            except DaliLabError:
                failed += size
                if failed >= wanted and not done:
                    raise
            else:
                arrays = [np.asarray(output.at(at)) for at in range(min(len(output), wanted - done))]
                note(found, arrays, output.layout())
            done += size
            work.progress(DistributionProgress(run, min(done, wanted), wanted))
    return DistributionDone(run, "done", min(done, wanted), min(failed, wanted), charts(found))


def note(found: dict[str, list[float]], arrays: Sequence[npt.NDArray[np.generic]], layout: str) -> None:
    """Add the numbers of samples to those found so far, by the name of what they tell."""

    def add(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for array in arrays:
        if array.size <= _NUMBERS and "H" not in layout:
            flat = array.reshape(-1).astype(np.float64)
            for at, value in enumerate(flat.tolist()):
                add("value" if flat.size == 1 else f"value {at + 1}", value)
            continue
        for axis, extent in enumerate(array.shape):
            letter = layout[axis] if axis < len(layout) else ""
            if letter != "C":
                add(_AXES.get(letter, ("length" if array.ndim == 1 else f"length of axis {axis + 1}")), extent)
        if "H" in layout and "W" in layout:
            add("width / height", array.shape[layout.index("W")] / max(1, array.shape[layout.index("H")]))
        if array.size and layout:
            numbers = array.astype(np.float64)
            add("mean", float(numbers.mean()))
            add("deviation", float(numbers.std()))


def charts(found: Mapping[str, Sequence[float]]) -> list[Chart]:
    """A chart for each kind of number."""
    made = []
    for name, listed in found.items():
        numbers = np.array(listed, np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            continue
        low, high = float(numbers.min()), float(numbers.max())
        values, each = np.unique(numbers, return_counts=True)
        few = len(values) <= _FEW and bool((values == np.round(values)).all())
        if few:
            counts, words = each, [f"{value:.0f}" for value in values.tolist()]
        else:
            counts, words = np.histogram(numbers, BINS, (low, high if high > low else low + 1))[0], None
        unit = "px" if name in ("width", "height", "depth") else ""
        mean, deviation = json_float(float(numbers.mean())), json_float(float(numbers.std()))
        made.append(Chart(name, unit, counts.tolist(), json_float(low), json_float(high), mean, deviation, words))
    return made
