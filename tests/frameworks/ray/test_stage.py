"""Graphs as stages of other datasets, and graphs that are cut: the numbers of ``Pipeline.run`` in any order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import ray
import ray.data

from dali_lab import Pipeline, fn, types
from dali_lab.interop.ray import datasource
from dali_lab.interop.ray.choice import Cost
from dali_lab.model.errors import ArgumentError, DaliLabError
from dali_lab.plugin.ray import dataset, iterator, stage

pytestmark = pytest.mark.usefixtures("local_ray")


def augmented(encoded: object) -> object:
    pictures = fn.decoders.image(encoded, name="decoded")
    pictures = fn.random_resized_crop(pictures, size=(24, 24), name="cropped")
    return fn.normalize(pictures + fn.random.uniform(range=(0, 9), name="light"), name="normal")


def noisy(encoded: object) -> object:
    small = fn.random_resized_crop(fn.decoders.image(encoded), size=(24, 24), name="cropped")
    flipped = fn.flip(small, horizontal=fn.random.coin_flip())
    return fn.noise.gaussian(flipped, stddev=fn.random.uniform(range=(0, 9)))


def wanted(pictures: list[str], graph: Callable[[object], object] = augmented) -> np.ndarray:
    """The samples of ``Pipeline.run``."""
    pipeline = Pipeline(batch_size=8, num_threads=1, seed=3)
    with pipeline:
        pipeline.set_outputs(graph(fn.external_source(name="encoded")))
    encoded = [np.fromfile(path, np.uint8) for path in pictures]
    batches = [pipeline.run(encoded=encoded[first : first + 8])[0].as_array() for first in range(0, 48, 8)]
    return np.concatenate(batches)


def rows(pictures: list[str], order: list[int]) -> ray.data.Dataset:
    """Encoded pictures with their places, in some order."""
    return ray.data.from_items([{"encoded": Path(pictures[i]).read_bytes(), "place": i} for i in order])


@pytest.mark.parametrize("tasks", [False, True])
def test_rows_in_any_order_draw_by_their_places(pictures: list[str], tasks: bool) -> None:
    order = np.random.default_rng(1).permutation(48).tolist()
    made = stage(augmented, position="place", columns=["picture"], seed=3, batch_size=8, epoch=0)
    data = rows(pictures, order)
    found = (
        data.map_batches(made.function, batch_size=7)
        if tasks
        else data.map_batches(made, batch_size=7, compute=ray.data.ActorPoolStrategy(size=1))
    ).take_all()
    expected = wanted(pictures)
    assert sorted(row["place"] for row in found) == list(range(48))
    for row in found:
        np.testing.assert_array_equal(row["picture"], expected[row["place"]])
        assert "encoded" not in row


def test_without_places_the_content_decides(pictures: list[str]) -> None:
    def run(order: list[int], size: int) -> dict[int, np.ndarray]:
        made = stage(augmented, columns=["picture"], seed=3)
        found = rows(pictures, order).map_batches(made.function, batch_size=size).take_all()
        return {row["place"]: row["picture"] for row in found}

    one, other = run(list(range(12)), 5), run(list(range(11, -1, -1)), 12)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[place], other[place]) for place in one)
    assert len({picture.tobytes() for picture in one.values()}) == 12


def test_a_cut_changes_no_number_and_sends_whole_numbers(make: Callable[..., Pipeline]) -> None:
    whole = iterator(dataset(make(), preserve_order=True), tensors="numpy")
    parts = dataset(make(), until="cropped", preserve_order=True)
    for one, other in zip(iterator(parts, tensors="numpy"), whole, strict=True):
        for name in ("flipped", "labels", "small"):
            assert len(one[name]) == len(other[name])
            for left, right in zip(one[name], other[name], strict=True):
                np.testing.assert_array_equal(left, right)


def test_the_rest_of_a_stage_draws_by_places_also_behind_functions_over_rows(pictures: list[str]) -> None:
    order = np.random.default_rng(2).permutation(48).tolist()
    made = stage(noisy, columns=["picture"], position="place", seed=3, batch_size=8, epoch=0, until="cropped")
    data = rows(pictures, order).map_batches(made.function, batch_size=7).filter(lambda row: row["place"] % 5 > 0)
    expected = wanted(pictures, noisy)
    places = []
    for batch in iterator(data, rest=made.rest, tensors="numpy"):
        assert set(batch) == {"place", "picture"}
        places += batch["place"].tolist()
        np.testing.assert_array_equal(batch["picture"], expected[batch["place"]])
    assert sorted(places) == [place for place in range(48) if place % 5]


def test_errors_of_a_stage_are_those_of_a_local_run(pictures: list[str]) -> None:
    data = rows(pictures, [0]).map_batches(stage(augmented, position="plce").function)
    with pytest.raises(DaliLabError, match=r"no column 'plce', did you mean 'place'\?$"):
        list(iterator(data))
    data = rows(pictures, [0]).map_batches(stage(augmented).function, batch_format="pandas")
    with pytest.raises(DaliLabError, match=r"takes columns of NumPy arrays, not a pandas.DataFrame.*batch_format"):
        list(iterator(data))


def test_random_nodes_behind_a_cut_draw_the_same(pictures: list[str]) -> None:
    def pipeline() -> Pipeline:
        made = Pipeline(batch_size=8, num_threads=1, seed=9)
        with made:
            encoded, labels = fn.readers.file(files=pictures, pad_last_batch=True)
            small = fn.resize(fn.decoders.image(encoded), size=(16, 16), name="small")
            noisy = fn.noise.gaussian(small, stddev=fn.random.uniform(range=(0, 9)), name="noisy")
            made.set_outputs(fn.cast(noisy, dtype=types.FLOAT, name="picture"), labels)
        return made

    whole = iterator(dataset(pipeline(), preserve_order=True), tensors="numpy")
    cut = dataset(pipeline(), until="small", preserve_order=True)
    first = next(iter(cut.iter_batches(batch_size=8)))
    assert first["cut_small_0"].dtype == np.uint8
    for one, other in zip(iterator(cut, tensors="numpy"), whole, strict=True):
        np.testing.assert_array_equal(one["picture"], other["picture"])
        np.testing.assert_array_equal(one["labels"], other["labels"])


def test_wrong_names_are_told() -> None:
    with pytest.raises(ArgumentError, match="no node 'croped', did you mean 'cropped'"):
        stage(augmented, until="croped")
    with pytest.raises(ArgumentError, match="nothing is behind 'normal'"):
        stage(augmented, until="normal")
    with pytest.raises(ArgumentError, match="no fed input 'encodd'"):
        stage(augmented, inputs={"encodd": "bytes"})


def test_a_chosen_cut_sends_whole_numbers(pictures: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    costs = [Cost(None, 4 * 3072, 0), Cost("small", 3072, 0.1)]  # the time of each node differs from run to run
    monkeypatch.setattr(datasource, "costs_of", lambda recipe: costs)
    pipeline = Pipeline(batch_size=8, num_threads=1, seed=9)
    with pipeline:
        encoded, labels = fn.readers.file(files=pictures, pad_last_batch=True)
        small = fn.random_resized_crop(fn.decoders.image(encoded), size=(32, 32), name="small")
        pipeline.set_outputs(fn.cast(small, dtype=types.FLOAT, name="picture"), labels)
    whole = iterator(dataset(pipeline, preserve_order=True), tensors="numpy")
    cut = dataset(pipeline, until="auto", preserve_order=True)
    assert next(iter(cut.iter_batches(batch_size=8)))["cut_small_0"].dtype == np.uint8
    for one, other in zip(iterator(cut, tensors="numpy"), whole, strict=True):
        np.testing.assert_array_equal(one["picture"], other["picture"])
    with pytest.raises(ArgumentError, match="must name a node"):
        stage(augmented, until="auto")
