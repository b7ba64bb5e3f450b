"""The JAX iterator gives the batches of its pipelines as arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import dali_lab
from dali_lab import fn, pipeline_def
from dali_lab.plugin.jax import DALIGenericIterator, LastBatchPolicy, data_iterator
from dali_lab.plugin.jax.clu import peekable_data_iterator
from dali_lab.plugin.jax.fn import jax_function


def test_data_iterator() -> None:
    @data_iterator(output_map=["x", "y"], auto_reset=True)
    def iterator(offset: int) -> Any:
        def source(index: int) -> Any:
            if index == 3:
                raise StopIteration
            return np.full((2, 3), index + offset, np.float32)

        x = fn.external_source(source=source, layout="W")
        return x, fn.flip(fn.expand_dims(x, axes=[0, 2], new_axis_names="HC"))

    made = iterator(5, batch_size=2)
    for _ in range(2):
        seen = [batch["x"] for batch in made]
        assert [float(array[0, 0]) for array in seen] == [5, 6, 7]
        assert isinstance(seen[0], jax.Array) and seen[0].shape == (2, 3)


def test_outputs_without_a_name_are_left_out() -> None:
    @data_iterator(output_map=["x"], size=2)
    def iterator() -> Any:
        x = fn.external_source(source=lambda: np.ones((2, 3), np.float32))
        return x, x + 1

    assert [*next(iterator(batch_size=2))] == ["x"]


def test_parameters_are_declared_once_and_shown() -> None:
    shared = ["size", "reader_name", "auto_reset", "last_batch_padded", "last_batch_policy", "prepare_first_batch"]
    made = [*inspect.signature(DALIGenericIterator).parameters]
    assert made == ["pipelines", "output_map", *shared, "sharding", "pmap_compatible"]
    decorating = [*inspect.signature(data_iterator).parameters]
    assert decorating == ["pipeline_fn", "output_map", *shared, "sharding", "devices", "pmap_compatible"]


@pytest.fixture
def files(tmp_path: Path) -> Callable[[int], str]:
    """Makes a folder of files with one number each."""

    def make(count: int) -> str:
        (tmp_path / "0").mkdir(exist_ok=True)
        for number in range(count):
            (tmp_path / "0" / f"{number:03d}.jpg").write_bytes(bytes([number]))
        return str(tmp_path)

    return make


@pytest.fixture
def sharding() -> NamedSharding:
    """The first axis over four devices."""
    assert jax.device_count() == 4
    return NamedSharding(Mesh(np.array(jax.devices()), ("batch",)), PartitionSpec("batch"))


@pytest.mark.parametrize("decorate", [data_iterator, peekable_data_iterator])
def test_a_sharding_spreads_a_batch_over_devices(decorate: Any, sharding: NamedSharding, files: Any) -> None:
    @decorate(output_map=["x"], sharding=sharding, reader_name="reader", auto_reset=True)
    def shards(shard_id: int, num_shards: int) -> Any:
        data, _ = fn.readers.file(
            file_root=files(16), shard_id=shard_id, num_shards=num_shards, name="reader", stick_to_shard=True
        )
        return data

    iterator = shards(batch_size=8)
    batch = next(iterator)["x"]
    assert batch.shape == (8, 1) and batch.sharding == sharding
    for index, part in enumerate(batch.addressable_shards):
        # Shard s of 4 has the files 4 s to 4 s + 3.
        np.testing.assert_array_equal(np.asarray(part.data)[:, 0], [4 * index, 4 * index + 1])
        assert part.device == jax.devices()[index]
    doubled = jax.jit(lambda x: x * 2, out_shardings=sharding)(batch)
    np.testing.assert_array_equal(doubled, np.asarray(batch) * 2)
    assert [np.asarray(row["x"])[:2, 0].tolist() for row in iterator] == [[2, 3]]


def test_pmap_takes_batches_of_devices() -> None:
    @data_iterator(output_map=["x"], devices=jax.devices(), size=24)
    def shards(shard_id: int) -> Any:
        return fn.external_source(source=[np.full((2, 3), shard_id, np.float32)] * 3)

    batch = next(shards(batch_size=8))["x"]
    assert batch.shape == (4, 2, 3)
    np.testing.assert_array_equal(jax.pmap(lambda x: x.sum())(batch), [0, 6, 12, 18])


@pytest.mark.parametrize("taken", [0, 1, 4])
def test_a_state_goes_on_exactly(taken: int, sharding: NamedSharding, files: Any) -> None:
    @pipeline_def(num_threads=1, device_id=None, enable_checkpointing=True, seed=3)
    def shard(shard_id: int) -> Any:
        data, _ = fn.readers.file(
            file_root=files(40), shard_id=shard_id, num_shards=4, name="reader", random_shuffle=True, initial_fill=5
        )
        return data, fn.random.uniform(range=(0, 1), shape=[2])

    def made() -> DALIGenericIterator:
        pipelines = [shard(shard_id=index, batch_size=2) for index in range(4)]
        return DALIGenericIterator(pipelines, ["x", "y"], reader_name="reader", auto_reset=True, sharding=sharding)

    iterator = made()
    for _ in range(taken):
        next(iterator)
    state = iterator.state_dict()
    expected = [{name: np.asarray(array) for name, array in batch.items()} for batch in iterator]
    other = made()
    next(other)
    other.load_state_dict(state)
    found = list(other)
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one["x"], two["x"])
        np.testing.assert_array_equal(one["y"], two["y"])


def test_functions_see_sharded_arrays(sharding: NamedSharding) -> None:
    seen = []

    @jax_function(sharding=sharding)
    def doubled(array: jax.Array) -> jax.Array:
        seen.append(array.sharding)
        return array * 2

    @pipeline_def(batch_size=8, num_threads=1, device_id=None)
    def defined() -> Any:
        return doubled(fn.external_source(source=[np.arange(8.0)] * 3))

    np.testing.assert_array_equal(defined().run()[0].as_array(), np.arange(8.0) * 2)
    assert seen[0] == sharding


def numbers(index: int) -> Any:
    if index == 3:
        raise StopIteration
    return np.full((2, 3), index, np.float32)


def test_several_pipelines_are_stacked() -> None:
    def made() -> dali_lab.Pipeline:
        pipeline = dali_lab.Pipeline(batch_size=2, num_threads=1, device_id=None)
        with pipeline:
            pipeline.set_outputs(fn.external_source(source=numbers))
        return pipeline

    assert next(DALIGenericIterator([made(), made()], ["x"], size=12))["x"].shape == (2, 2, 3)
    assert next(DALIGenericIterator(made(), ["x"]))["x"].shape == (2, 3)
    assert next(DALIGenericIterator(made(), ["x"], pmap_compatible=True))["x"].shape == (1, 2, 3)


def test_devices_share_the_batch() -> None:
    @data_iterator(output_map=["x"], devices=jax.devices()[:1])
    def iterator(shard_id: int, num_shards: int) -> Any:
        assert (shard_id, num_shards) == (0, 1)
        return fn.external_source(source=numbers)

    assert next(iterator(batch_size=2))["x"].shape == (1, 2, 3)
    with pytest.raises(ValueError, match="sharding"):
        data_iterator(output_map=["x"], devices=jax.devices(), sharding=object())


def test_what_the_iterator_refuses() -> None:
    pipeline = dali_lab.Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipeline:
        pipeline.set_outputs(fn.external_source(source=numbers))
    with pytest.raises(AssertionError, match="PARTIAL"):
        DALIGenericIterator(pipeline, ["x"], last_batch_policy=LastBatchPolicy.PARTIAL)
    with pytest.raises(ValueError, match="distinct"):
        DALIGenericIterator(pipeline, ["x", "x"])


def test_functions_may_be_compiled() -> None:
    pipeline = dali_lab.Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipeline:
        x = fn.external_source(source=lambda: [np.arange(3, dtype=np.float32)] * 2, layout="W")
        pipeline.set_outputs(jax_function(jax.jit(lambda batch: batch * 2))(x))
    assert pipeline.run()[0].at(1).tolist() == [0, 2, 4]


def test_functions_keep_layouts_and_refuse_ragged_batches() -> None:
    @jax_function(num_outputs=2)
    def both(batch: Any) -> Any:
        return batch[:, ::-1] + 1, batch.sum(1)

    lengths = iter([3, 3, 3, 4])
    pipeline = dali_lab.Pipeline(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
    with pipeline:
        x = fn.external_source(
            source=lambda: [np.arange(next(lengths), dtype=np.float32) for _ in range(2)], layout="W"
        )
        pipeline.set_outputs(*both(x))
    flipped, total = pipeline.run()
    assert flipped.layout() == "W" and flipped.at(0).tolist() == [3, 2, 1]
    assert total.layout() == "" and total.as_array().tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="different shapes"):
        pipeline.run()


def test_peekable_iterators() -> None:
    from dali_lab.plugin.jax.clu import peekable_data_iterator

    @peekable_data_iterator(output_map=["x"], size=6, last_batch_padded=True)
    def iterator() -> Any:
        return fn.external_source(source=numbers)

    made = iterator(batch_size=2)
    assert made.element_spec["x"].shape == (2, 3)
    for value in range(3):
        shown = made.peek_async().result() if value else made.peek()
        assert float(shown["x"][0, 0]) == value
        with pytest.raises(RuntimeError, match="peek"):
            made.checkpoints()
        assert next(made) is shown
    with pytest.raises(StopIteration):
        made.peek()


def test_a_loaded_state_drops_the_batch_that_was_shown() -> None:
    from dali_lab.plugin.jax.clu import peekable_data_iterator

    @peekable_data_iterator(output_map=["x"], size=6, last_batch_padded=True)
    def iterator() -> Any:
        return fn.external_source(source=numbers)

    made = iterator(batch_size=2, enable_checkpointing=True)
    state = made.state_dict()
    next(made)
    assert float(made.peek()["x"][0, 0]) == 1
    made.load_state_dict(state)
    assert float(next(made)["x"][0, 0]) == 0
