"""The choice of a cut between cluster and trainer, by bytes and time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dali_lab import Pipeline, fn, types
from dali_lab.graph.graph import Edge, Graph
from dali_lab.interop.ray.choice import Cost, best, costs, costs_of
from dali_lab.interop.ray.recipe import recipe_of

KILO = 1000.0


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Pictures, decoded, made small and normalized; with their labels."""
    numbers = np.random.default_rng(0)
    paths = []
    for index in range(4):
        picture = numbers.integers(0, 255, (120, 160, 3), dtype=np.uint8)
        paths.append(str(tmp_path / f"{index}.png"))
        Image.fromarray(picture).save(paths[-1])
    pipeline = Pipeline(batch_size=4, num_threads=1)
    with pipeline:
        encoded, labels = fn.readers.file(files=paths, name="reader")
        small = fn.resize(fn.decoders.image(encoded, name="decoded"), size=(60, 60), name="small")
        pipeline.set_outputs(fn.cast(small, dtype=types.FLOAT, name="floats"), labels)
    return pipeline.graph


def test_costs_count_what_crosses_and_what_is_left(graph: Graph) -> None:
    sizes = {
        Edge("reader", 0): 20 * KILO,
        Edge("reader", 1): 4.0,
        Edge("decoded", 0): 50 * KILO,
        Edge("small", 0): 10 * KILO,
        Edge("floats", 0): 40 * KILO,
    }
    seconds = {"reader": 1.0, "decoded": 6.0, "small": 2.0, "floats": 1.0}
    found = {cost.until: cost for cost in costs(graph, sizes, seconds)}
    assert found[None] == Cost(None, 40 * KILO + 4, 0.0)
    assert found["small"] == Cost("small", 10 * KILO + 4, 0.1)
    assert found["decoded"] == Cost("decoded", 50 * KILO + 4, pytest.approx(0.3))
    assert found["reader"] == Cost("reader", 20 * KILO + 4, pytest.approx(0.9))
    assert "floats" not in found


@pytest.mark.parametrize(
    ("small", "expected"),
    [
        pytest.param(Cost("small", 10 * KILO, 0.1), "small", id="fewer bytes and little to do"),
        pytest.param(Cost("small", 10 * KILO, 0.4), None, id="too much is left to the trainer"),
        pytest.param(Cost("small", 39 * KILO, 0.1), None, id="hardly fewer bytes"),
    ],
)
def test_the_best_cut_spares_bytes_and_leaves_little(small: Cost, expected: str | None) -> None:
    whole = Cost(None, 40 * KILO, 0.0)
    assert best([whole, Cost("decoded", 5 * KILO, 0.9), small]) == expected


def test_costs_are_measured_by_running_rows(graph: Graph) -> None:
    found = {cost.until: cost for cost in costs_of(recipe_of(Pipeline.from_graph(graph, batch_size=4)))}
    assert found["small"].bytes == 60 * 60 * 3 + 4
    assert found[None].bytes == 4 * 60 * 60 * 3 + 4
    assert found["decoded"].bytes == 120 * 160 * 3 + 4
    assert found["reader"].rest > found["decoded"].rest > found["small"].rest > 0
