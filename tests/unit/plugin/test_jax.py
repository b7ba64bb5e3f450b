"""The JAX iterator gives the batches of its pipelines as arrays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import dali_lab  # noqa: E402
from dali_lab import fn  # noqa: E402
from dali_lab.plugin.jax import DALIGenericIterator, LastBatchPolicy, data_iterator  # noqa: E402
from dali_lab.plugin.jax.fn import jax_function  # noqa: E402


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


def test_parameters_are_declared_once_and_shown() -> None:
    shared = ["size", "reader_name", "auto_reset", "last_batch_padded", "last_batch_policy", "prepare_first_batch"]
    made = [*inspect.signature(DALIGenericIterator).parameters]
    assert made == ["pipelines", "output_map", *shared, "sharding", "pmap_compatible"]
    decorating = [*inspect.signature(data_iterator).parameters]
    assert decorating == ["pipeline_fn", "output_map", *shared, "sharding", "devices", "pmap_compatible"]


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
    with pytest.raises(ValueError, match="differ"):
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
    pytest.importorskip("clu.data.dataset_iterator")
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
