"""Every entry of the gallery loads, runs, changes its picture, and comes back equal from each format."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab import Pipeline
from dali_lab.formats import json_file, python_code
from dali_lab.gallery import Entry, load_gallery
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge
from dali_lab.schema.registry import find_operator

GALLERY = load_gallery()
ENTRIES = [pytest.param(entry, id=entry.name) for entry in GALLERY]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(5)
    for label in ("coarse", "fine"):
        (folder / label).mkdir()
        for index in range(3):
            small = random.integers(0, 256, (12, 15, 3), dtype=np.uint8)
            picture = cv2.resize(small, (280, 220), interpolation=cv2.INTER_CUBIC)
            assert cv2.imwrite(str(folder / label / f"{index}.jpg"), picture)
    return folder


def test_the_gallery_is_whole() -> None:
    assert not GALLERY.broken
    assert len(GALLERY) >= 75
    assert sum("recipe" in entry.tags for entry in GALLERY) >= 15


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_runs_and_changes_its_picture(entry: Entry, pictures: Path) -> None:
    graph = entry.over(pictures)
    if entry.before is not None:
        graph = graph.replaced(outputs=(*graph.outputs, entry.before))
    pipeline = Pipeline.from_graph(graph, batch_size=4, seed=11)
    try:
        outputs = [[np.array(sample) for sample in output] for output in pipeline.run()]
    finally:
        pipeline.close()
    after = outputs[0]
    assert len(after) == 4
    assert all(np.isfinite(sample).all() and np.ptp(sample) > 0 for sample in after)
    if entry.before is not None:
        before = outputs[-1]
        assert any(not np.array_equal(one, other) for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_comes_back_equal(entry: Entry) -> None:
    assert json_file.loads(json_file.dumps(entry.graph)) == entry.graph
    assert difference(entry.graph, python_code.loads(python_code.dumps(entry.graph))) == []


def test_arguments_worth_playing_with_are_there() -> None:
    for entry in GALLERY:
        for argument in entry.arguments:
            operator = find_operator(entry.graph[argument.node].op)
            assert argument.name in {declared.name for declared in operator.arguments}


def test_search() -> None:
    assert "rotate" in {entry.name for entry in GALLERY.search("Rotation random")}
    assert isinstance(GALLERY["rotate"].before, Edge)
