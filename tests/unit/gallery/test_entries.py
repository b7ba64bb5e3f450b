"""Every entry of the gallery loads, runs, under three seeds where it is random, changes its picture, and travels on."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from dali_lab import Pipeline
from dali_lab.errors import FormatError
from dali_lab.formats import FORMATS, dumps, loads
from dali_lab.formats.others import LIBRARIES
from dali_lab.gallery import Entry
from dali_lab.gallery.fragments import can_follow, chain, fragment
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Edge
from dali_lab.graph.verification import verify
from dali_lab.schema.registry import find_operator
from dali_lab.studio.gallery.drawing import Subject
from dali_lab.studio.gallery.tiles import Tiles
from tests.unit.gallery.conftest import READY, built_in

Array = npt.NDArray[Any]
SEEDS = (1, 11, 111)
SAME = {"decode"}
"""Entries whose picture is meant to stay as it was."""

each = pytest.mark.parametrize("entry", READY, indirect=True)


def test_the_gallery_is_whole() -> None:
    gallery = built_in()
    assert not gallery.broken
    assert len(gallery) >= 100
    assert sum("recipe" in entry.tags for entry in gallery) >= 20
    assert not [entry.name for entry in gallery if entry.waiting]
    assert {entry.name for entry in gallery} == set(READY)


def run(entry: Entry, pictures: Path, seed: int) -> list[list[Array]]:
    """One batch: the outputs, then the picture as it was."""
    graph = entry.over(pictures)
    assert entry.before is not None
    pipeline = Pipeline.from_graph(
        graph.replaced(outputs=(*Subject.of(entry).after, entry.before)), batch_size=4, seed=seed
    )
    try:
        return [[np.array(sample) for sample in output] for output in pipeline.run()]
    finally:
        pipeline.close()


def plane(sample: Array) -> Array:
    """A sample as a grey picture of 32 × 32, its values from 0 to 1: what is left where geometry differs."""
    if sample.ndim == 1 and sample.dtype == np.uint8:
        decoded = cv2.imdecode(sample, cv2.IMREAD_COLOR)
        if decoded is not None:
            sample = np.asarray(decoded)[..., ::-1]
    values = sample.astype(np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim == 4:
        values = values[len(values) // 2]
    if values.ndim == 3:
        values = values.mean(axis=0 if values.shape[0] in (1, 3) and values.shape[2] > 4 else 2)
    small = cv2.resize(values, (32, 32), interpolation=cv2.INTER_AREA)
    low, high = small.min(), small.max()
    assert high > low
    return np.asarray((small - low) / (high - low))


def differs(before: Array, after: Array) -> bool:
    """Whether the content is another one: value for value, or where the geometry is another one, as small pictures."""
    if before.shape == after.shape and before.dtype == after.dtype:
        return not np.array_equal(before, after)
    return float(np.abs(plane(before) - plane(after)).max()) > 0.02


@each
def test_an_entry_runs_and_changes_its_picture(entry: Entry, pictures: Path) -> None:
    random = Subject.of(entry).random
    drawn = [run(entry, pictures, seed) for seed in (SEEDS if random else SEEDS[:1])]
    for outputs in drawn:
        *after, before = outputs
        for sample in after[0]:
            assert np.isfinite(sample).all()
            assert np.ptp(sample) > 0
        if entry.name not in SAME:
            pairs = list(zip(before, after[0], strict=True))
            resized = "size" in entry.tags and any(one.shape[:2] != other.shape[:2] for one, other in pairs)
            assert resized or any(differs(one, other) for one, other in pairs)
    again = run(entry, pictures, SEEDS[0])
    equal = [np.array_equal(one, two) for one, two in zip(drawn[0][0], again[0], strict=True)]
    assert all(equal)
    if random:
        changed = [
            one.shape != two.shape or not np.array_equal(one, two)
            for outputs in drawn[1:]
            for one, two in zip(drawn[0][0], outputs[0], strict=True)
        ]
        assert any(changed)


def test_decoding_gives_what_another_decoder_gives(pictures: Path) -> None:
    decoded, encoded = run(built_in()["decode"], pictures, 1)
    for picture, data in zip(decoded, encoded, strict=True):
        other = cv2.imdecode(data, cv2.IMREAD_COLOR)
        assert other is not None
        assert np.abs(picture.astype(int) - other[..., ::-1]).mean() < 2


@each
def test_an_entry_travels_in_every_format(entry: Entry) -> None:
    for form in FORMATS.values():
        # Graphviz is a process for each; graphs of all kinds are drawn in test_dot.py.
        if form.name in ("png", "pdf") and (entry.name != READY[0] or shutil.which("dot") is None):
            continue
        if form.name in LIBRARIES:
            check_library(entry, form.name)
            continue
        data = dumps(entry.graph, form.name)
        assert data
        if form.reads:
            back = loads(data)
            assert difference(entry.graph, back) == []
            assert back == entry.graph
        elif form.name in ("nvidia-python", "pytorch", "ray"):
            ast.parse(data.decode("utf-8"))


def check_library(entry: Entry, library: str) -> None:
    """A program, or a refusal that names the nodes for which the library has nothing."""
    try:
        ast.parse(dumps(entry.graph, library).decode("utf-8"))
    except FormatError as error:
        named = [name for name in entry.graph.nodes if name in error.message]
        if not named:
            raise


def test_controls_are_arguments_with_values_inside_their_ranges() -> None:
    for entry in map(built_in().__getitem__, READY):
        for argument in entry.arguments:
            node = entry.graph[argument.node]
            declared = {arg.name: arg for arg in find_operator(node.op).arguments}
            assert argument.name in declared
            assert argument.name not in node.connections
            value = node.arguments.get(argument.name)
            if argument.minimum is None or argument.maximum is None or value is None:
                continue
            numbers = value if isinstance(value, (list, tuple)) else [value]
            assert all(argument.minimum <= number <= argument.maximum for number in numbers), (entry.name, argument)


def test_the_pictures_of_the_wall_are_those_of_the_graphs(tmp_path: Path) -> None:
    tiles = Tiles(tmp_path)
    lacking = [name for name in READY if tiles.ready(built_in()[name]) is None]
    assert not lacking, "draw them with 'dali-lab gallery pictures'"


def test_readers_leave_their_seed_to_the_pipeline() -> None:
    for entry in built_in():
        for node in entry.graph.nodes.values():
            assert not (node.op.startswith("readers.") and "seed" in node.arguments), entry.name


def test_augmentations_follow_each_other() -> None:
    first, second = built_in()["rotate"], built_in()["hsv"]
    assert can_follow(first) and can_follow(second)
    assert not can_follow(built_in()["recipe-dino"])
    graph = chain(first, [second, first])
    verify(graph)
    assert len(graph.nodes) == len(first.graph.nodes) + len(fragment(second)) + len(fragment(first))
    assert graph.nodes["hsv"].inputs == (Edge("rotate"),)
    assert graph.nodes["rotate_2"].inputs == (Edge("hsv"),)
    assert graph.outputs == (Edge("rotate_2"),)


def test_search() -> None:
    assert "rotate" in {entry.name for entry in built_in().search("Rotation random")}
    assert isinstance(built_in()["rotate"].before, Edge)
