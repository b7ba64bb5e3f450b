"""Pipelines as datasets and operations of TensorFlow."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from dali_lab import Pipeline, fn, pipeline_def, types
from dali_lab.interop.tensorflow import dataset as datasets
from dali_lab.interop.tensorflow.runs import sparse_parts
from dali_lab.plugin import tf as dali_tf
from dali_lab.plugin.tf import experimental
from dali_lab.tensors import TensorListCPU

SETTINGS: dict[str, Any] = {"num_threads": 2, "device_id": None}


@pipeline_def(seed=7, **SETTINGS)
def random_rows() -> Any:
    return fn.random.uniform(range=(0, 1), shape=[3]), fn.random.coin_flip(shape=[1], dtype=types.INT32)


def rows_of(batch_size: int) -> Pipeline:
    return random_rows(batch_size=batch_size)


def dataset_of(pipeline: Pipeline, **settings: Any) -> tf.data.Dataset:
    kind = experimental.DALIDatasetWithInputs if "input_datasets" in settings else dali_tf.DALIDataset
    return kind(pipeline, **{**SETTINGS, **settings})


def test_a_dataset_has_the_batches_of_the_pipeline_from_the_start_in_every_iterator() -> None:
    dataset = dataset_of(rows_of(4), batch_size=4, output_dtypes=(tf.float32, tf.int32), output_shapes=((4, 3), (4,)))
    assert isinstance(dataset, tf.data.Dataset)
    assert dataset.element_spec == (tf.TensorSpec((4, 3), tf.float32), tf.TensorSpec((4,), tf.int32))
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    for _ in range(2):
        pipeline = rows_of(4)
        for numbers, coins in dataset.take(5):
            expected = pipeline.run()
            np.testing.assert_array_equal(numbers, expected[0].as_array())
            np.testing.assert_array_equal(coins, expected[1].as_array()[:, 0])


def test_a_dropped_iterator_ends_its_run() -> None:
    dataset = dataset_of(rows_of(2), batch_size=2, output_dtypes=(tf.float32, tf.int32))
    before = len(datasets._runs)
    iterator = iter(dataset)
    next(iterator)
    assert len(datasets._runs) == before + 1
    del iterator
    gc.collect()
    assert len(datasets._runs) == before


@pytest.mark.parametrize(
    ("shape", "batch_size", "result"),
    [
        (None, 10, (10, 1, 2, 1)),
        ((None, None, 2), 10, (10, 1, 2)),
        ((10, 2), 10, (10, 2)),
        ((2,), 1, (2,)),
        ((None, 1, 2, 1), 1, (1, 1, 2, 1)),
        ((11, None, None, None), 10, "The shape provided for output `0` is not compatible with the shape returned"),
        ((10, 2, 1, 1), 10, "not compatible with the shape returned by DALI Pipeline"),
        ((5, 4), 10, "not compatible with the `batch_size` argument"),
        ((None, 3), 10, "not compatible with the shape returned by DALI Pipeline"),
    ],
)
def test_shapes_may_leave_out_dimensions_of_one(shape: Any, batch_size: int, result: Any) -> None:
    @pipeline_def(batch_size=batch_size, **SETTINGS)
    def constant() -> Any:
        return fn.constant(idata=[1, 1], shape=[1, 2, 1], dtype=types.UINT8)

    iterator = iter(dataset_of(constant(), batch_size=batch_size, output_dtypes=tf.uint8, output_shapes=shape))
    if isinstance(result, str):
        with pytest.raises(tf.errors.InvalidArgumentError, match=result):
            next(iterator)
    else:
        assert next(iterator)[0].shape == result


def test_types_are_those_declared() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"The type provided for output `0`(.|\n)*float32"):
        next(iter(dataset_of(rows_of(2), batch_size=2, output_dtypes=(tf.int32, tf.int32))))
    with pytest.raises(TypeError, match=r"single tf.DType value or a tuple"):
        dataset_of(rows_of(2), batch_size=2)
    with pytest.raises(ValueError, match="don't have the same sequence length"):
        dataset_of(rows_of(2), batch_size=2, output_dtypes=(tf.float32, tf.int32), output_shapes=(None,))
    with pytest.warns(DeprecationWarning, match="output_dtypes"):
        dataset_of(rows_of(2), batch_size=2, dtypes=[tf.float32, tf.int32])


def test_batches_of_samples_of_different_shapes_are_refused() -> None:
    @pipeline_def(batch_size=4, seed=3, **SETTINGS)
    def ragged() -> Any:
        extent = fn.random.uniform(range=(1, 50), shape=[1], dtype=types.INT32)
        return fn.random.uniform(range=(0, 1), shape=extent)

    with pytest.raises(tf.errors.OpError, match="Batch output at index '0' from DALI pipeline is not uniform"):
        next(iter(dataset_of(ragged(), batch_size=4, output_dtypes=tf.float32)))


def test_python_functions_are_refused_and_external_sources_need_the_dataset_with_inputs() -> None:
    @pipeline_def(batch_size=1, **SETTINGS)
    def python() -> Any:
        return fn.python_function(function=lambda: np.zeros(3, np.float32))

    for refused in (
        lambda: dataset_of(python(), output_dtypes=tf.float32),
        lambda: dali_tf.serialize_pipeline(python()),
        lambda: dali_tf.DALIIterator()(pipeline=python(), shapes=[(1, 3)], dtypes=[tf.float32]),
    ):
        with pytest.raises(RuntimeError, match="cannot be used with TensorFlow Dataset API and DALIIterator"):
            refused()
    with pytest.raises(ValueError, match=r"only in 'experimental.DALIDatasetWithInputs'"):
        dataset_of(fed(batch_size=1), output_dtypes=(tf.float32, tf.int64))


@pipeline_def(**SETTINGS)
def fed() -> Any:
    samples = fn.external_source(name="samples")
    batches = fn.external_source(name="batches", batch=True)
    return samples * 2.0, batches + 1


def test_inputs_are_samples_or_batches() -> None:
    samples = tf.data.Dataset.range(10).map(lambda n: tf.fill([4], tf.cast(n, tf.float32)))
    batches = tf.data.Dataset.range(9).batch(3)
    dataset = dataset_of(
        fed(batch_size=3),
        batch_size=3,
        output_dtypes=(tf.float32, tf.int64),
        input_datasets={"samples": samples, "batches": experimental.Input(batches, batch=None)},
    )
    found = [tuple(map(np.asarray, row)) for row in dataset]
    assert len(found) == 3  # the tenth sample alone is no batch
    for index, (doubled, raised) in enumerate(found):
        numbers = np.arange(3) + 3 * index
        np.testing.assert_array_equal(doubled, np.repeat(numbers[:, None] * 2.0, 4, axis=1))
        np.testing.assert_array_equal(raised, numbers + 1)
    assert len(list(dataset)) == 3


def test_samples_may_have_any_shape() -> None:
    @pipeline_def(batch_size=4, **SETTINGS)
    def measured() -> Any:
        data = fn.external_source(name="input", layout="HW")
        return fn.reductions.sum(data, axis_names="HW"), data.shape()

    def shapes() -> Iterator[np.ndarray[Any, Any]]:
        for count in range(1, 9):
            yield np.full((count, 9 - count), count, np.float32)

    samples = tf.data.Dataset.from_generator(shapes, output_signature=tf.TensorSpec([None, None], tf.float32))
    dataset = dataset_of(
        measured(),
        batch_size=4,
        output_dtypes=(tf.float32, tf.int64),
        output_shapes=((4,), (4, 2)),
        input_datasets={"input": samples},
    )
    sums, extents = (np.concatenate(parts) for parts in zip(*dataset, strict=True))
    np.testing.assert_array_equal(extents, [(n, 9 - n) for n in range(1, 9)])
    np.testing.assert_array_equal(sums, [n * n * (9 - n) for n in range(1, 9)])


def test_sources_of_python_run_along() -> None:
    @pipeline_def(batch_size=2, **SETTINGS)
    def counted() -> Any:
        return fn.external_source(source=[np.full((2, 1), n) for n in range(3)])

    dataset = dataset_of(counted(), batch_size=2, output_dtypes=tf.int64, input_datasets=None)
    assert [int(row[0][0, 0]) for row in dataset] == [0, 1, 2]
    assert [int(row[0][0, 0]) for row in dataset] == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({}, ValueError, "were not assigned any inputs"),
        ({"other": tf.data.Dataset.range(3)}, ValueError, "Did not find an External Source placeholder"),
        ([tf.data.Dataset.range(3)], TypeError, "must be a dictionary that maps input names"),
        ({1: tf.data.Dataset.range(3)}, TypeError, "Expected the keys"),
        ({"samples": [1, 2]}, TypeError, "Expected the values of the dictionary"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(given: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        dataset_of(fed(batch_size=3), batch_size=3, output_dtypes=(tf.float32, tf.int64), input_datasets=given)
    with pytest.raises(TypeError, match=r"Dataset inputs are allowed only in 'experimental\.DALIDatasetWithInputs'"):
        dali_tf.DALIDataset(fed(batch_size=3), output_dtypes=tf.int64, input_datasets=given)
    with pytest.raises(TypeError, match=r"must be instances of type `tf.data.Dataset`"):
        experimental.Input(np.zeros(3))


@pipeline_def(seed=5, **SETTINGS)
def digits() -> Any:
    """Pictures of two classes: bright ones and dark ones."""
    label = fn.random.coin_flip(dtype=types.INT32)
    picture = fn.random.uniform(range=(0, 0.4), shape=[8, 8]) + fn.cast(label, dtype=types.FLOAT) * 0.5
    return picture, label


def digits_of(batch_size: int) -> tf.data.Dataset:
    return dataset_of(
        digits(batch_size=batch_size),
        batch_size=batch_size,
        output_dtypes=(tf.float32, tf.int32),
        output_shapes=((batch_size, 8, 8), (batch_size,)),
    )


def classifier() -> tf.keras.Model:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input(shape=(8, 8)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=tf.keras.optimizers.Adam(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def test_keras_trains_on_it() -> None:
    tf.keras.utils.set_random_seed(1)
    model = classifier()
    model.fit(digits_of(32), epochs=3, steps_per_epoch=20, verbose=0)
    _, accuracy = model.evaluate(digits_of(32), steps=10, verbose=0)
    assert accuracy > 0.95


def test_a_strategy_reads_a_shard_on_each_device() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    @pipeline_def(batch_size=2, **SETTINGS)
    def shard(number: int) -> Any:
        return fn.external_source(source=[np.full((2, 1), 10 * number + n) for n in range(3)])

    ids = itertools.count()

    def make(context: tf.distribute.InputContext) -> tf.data.Dataset:
        return dataset_of(
            shard(next(ids)), batch_size=2, output_dtypes=tf.int64, output_shapes=(2, 1), input_datasets=None
        )

    options = tf.distribute.InputOptions(
        experimental_place_dataset_on_device=True,
        experimental_fetch_to_device=False,
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA,
    )
    found = []
    for row in strategy.distribute_datasets_from_function(make, options):
        found.append([int(part[0, 0]) for part in strategy.experimental_local_results(row[0])])
    assert found == [[0, 10], [1, 11], [2, 12]]


def test_a_strategy_splits_the_batches_of_one_dataset() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        model = classifier()
    model.fit(digits_of(32), epochs=2, steps_per_epoch=20, verbose=0)
    assert model.evaluate(digits_of(32), steps=10, verbose=0)[1] > 0.9


def test_operations_give_the_next_batch_each_time() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        numbers, coins = dali_tf.DALIIterator()(
            pipeline=rows_of(4), shapes=[(4, 3), ()], dtypes=[tf.float32, tf.float32], device_id=None
        )
        assert numbers.shape == (4, 3)
        found = [session.run([numbers, coins]) for _ in range(3)]
    pipeline = rows_of(4)
    for row in found:
        expected = pipeline.run()
        np.testing.assert_array_equal(row[0], expected[0].as_array())
        np.testing.assert_array_equal(row[1], expected[1].as_array().astype(np.float32))
    eager = [dali_tf.DALIIteratorWrapper(rows_of(4), dtypes=[tf.float32, tf.int32], batch_size=4) for _ in range(2)]
    np.testing.assert_array_equal(eager[1][0], found[1][0])


def test_a_dataset_works_in_a_session() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        samples = tf.data.Dataset.range(6).map(lambda n: tf.fill([4], tf.cast(n, tf.float32)))
        dataset = dataset_of(
            fed(batch_size=3),
            batch_size=3,
            output_dtypes=(tf.float32, tf.int64),
            input_datasets={"samples": samples, "batches": experimental.Input(samples_of_integers(), batch=False)},
        )
        iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
        row = iterator.get_next()
        session.run(iterator.initializer)
        np.testing.assert_array_equal(session.run(row)[0][:, 0], [0, 2, 4])
        np.testing.assert_array_equal(session.run(row)[1], [4, 5, 6])
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(row)


def samples_of_integers() -> tf.data.Dataset:
    return tf.data.Dataset.range(6)


def test_sparse_outputs() -> None:
    rows = [np.array([[1], [2]], np.int32), np.array([[3]], np.int32), np.zeros((0, 1), np.int32)]

    def boxes() -> Any:
        return [np.arange(8, dtype=np.float32).reshape(2, 4), np.ones((1, 4), np.float32), np.zeros((0, 4), np.float32)]

    indices, values, shape = sparse_parts(TensorListCPU(rows))
    np.testing.assert_array_equal(indices, [[0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(values, [1, 2, 3])
    np.testing.assert_array_equal(shape, [3, 2])
    dense = tf.sparse.to_dense(tf.SparseTensor(*sparse_parts(TensorListCPU(boxes()))))
    np.testing.assert_array_equal(dense[0], boxes()[0])
    np.testing.assert_array_equal(dense[1], [[1] * 4, [0] * 4])
    assert dense.shape == (3, 2, 4)

    @pipeline_def(batch_size=3, seed=1, **SETTINGS)
    def ragged() -> Any:
        extent = fn.random.uniform(range=(1, 6), shape=[1], dtype=types.INT32)
        return fn.random.uniform(range=(1, 2), shape=extent)

    (found,) = dali_tf.DALIIterator()(ragged(), sparse=[True], dtypes=[tf.float32], batch_size=3)
    expected = ragged().run()[0]
    assert isinstance(found, tf.SparseTensor)
    for index in range(3):
        row = tf.sparse.to_dense(found)[index].numpy()
        np.testing.assert_array_equal(row[row > 0], expected.at(index))
