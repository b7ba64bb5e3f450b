"""Iterators that give tensors of Paddle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

from dali_lab import fn, pipeline_def, types
from dali_lab.interop.paddle.tensors import sequence_lengths
from dali_lab.plugin import paddle as dali_paddle
from dali_lab.plugin.paddle import DALIClassificationIterator, DALIGenericIterator, LastBatchPolicy
from dali_lab.tensors import TensorListCPU

SETTINGS: dict[str, Any] = {"num_threads": 2, "device_id": None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seven files with one number, and a class for each."""
    for number in range(1, 8):
        place = tmp_path / f"{number}"
        place.mkdir()
        (place / "file.jpg").write_bytes(bytes([number]))
    return tmp_path


@pipeline_def(batch_size=2, **SETTINGS)
def numbers(root: str, pad: bool) -> Any:
    data, label = fn.readers.file(file_root=root, name="reader", pad_last_batch=pad)
    return data, label


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize(
    ("policy", "last"),
    [
        (LastBatchPolicy.FILL, {True: [7, 7], False: [7, 1]}),
        (LastBatchPolicy.PARTIAL, {True: [7], False: [7]}),
        (LastBatchPolicy.DROP, {True: [5, 6], False: [5, 6]}),
    ],
)
def test_last_batches(folder: Path, pad: bool, policy: LastBatchPolicy, last: dict[bool, list[int]]) -> None:
    iterator = DALIClassificationIterator(
        numbers(str(folder), pad), reader_name="reader", last_batch_policy=policy, auto_reset=True
    )
    batches = len(iterator)
    rows = [(np.array(batch[0]["data"])[:, 0], np.array(batch[0]["label"])[:, 0]) for batch in iterator]
    assert [data.tolist() for data, _ in rows] == [[1, 2], [3, 4], [5, 6], last[pad]][:batches]
    assert all((label == data - 1).all() for data, label in rows)
    assert batches == (3 if policy is LastBatchPolicy.DROP else 4)


@pytest.mark.parametrize("kind", dali_paddle.dtype_map)
def test_types(kind: types.DALIDataType) -> None:
    @pipeline_def(batch_size=3, **SETTINGS)
    def constant() -> Any:
        return fn.cast(fn.constant(idata=[0, 1], shape=[2]), dtype=kind)

    pipeline = constant()
    batch = next(DALIGenericIterator([pipeline], ["data"]))[0]["data"]
    expected = constant().run()[0]
    assert batch._dtype() == dali_paddle.to_paddle_type(expected)
    np.testing.assert_array_equal(np.array(batch), expected.as_array())
    np.testing.assert_array_equal(paddle.to_tensor(batch).numpy(), expected.as_array())


def test_types_that_paddle_lacks_are_named() -> None:
    with pytest.raises(KeyError, match="no tensors of UINT16"):
        dali_paddle.to_paddle_type(TensorListCPU(np.zeros((1, 2), np.uint16)))


def test_samples_of_different_shapes_have_levels_of_detail() -> None:
    rows = [[np.full((n, 4), n, np.float32) for n in (2, 1, 3)]]

    @pipeline_def(batch_size=3, **SETTINGS)
    def boxes() -> Any:
        return fn.external_source(source=rows)

    tensor = next(DALIGenericIterator(boxes(), [("boxes", 1)]))[0]["boxes"]
    assert tensor.lod() == [[0, 2, 3, 6]]
    np.testing.assert_array_equal(np.array(tensor)[:, 0], [2, 2, 1, 3, 3, 3])
    clipped = dali_paddle.lod_tensor_clip(tensor, 2)
    assert sequence_lengths(clipped) == [[2, 1]]
    np.testing.assert_array_equal(np.array(clipped), np.array(tensor)[:3])
    with pytest.raises(AssertionError, match="non-dense tensor lists must have LoD > 0"):
        next(DALIGenericIterator(boxes(), ["boxes"]))


def test_lengths_of_each_level() -> None:
    assert dali_paddle.recursive_length(np.zeros((2, 3, 4)), 3) == [[2], [3, 3], [4] * 6]
    ragged = TensorListCPU([np.zeros((2, 1)), np.zeros((0, 3))])
    assert dali_paddle.recursive_length(ragged, 2) == [[2], [2, 0]]
    assert dali_paddle.recursive_length(ragged, 3) == [[2], [2, 0], [1, 1]]


def test_feeding_memory() -> None:
    source = TensorListCPU(np.arange(6, dtype=np.float32).reshape(2, 3))
    target = np.zeros((2, 3), np.float32)
    assert dali_paddle.feed_ndarray(source, target.ctypes.data) == target.ctypes.data
    np.testing.assert_array_equal(target, source.as_array())


def test_a_layer_trains_on_it() -> None:
    @pipeline_def(batch_size=32, seed=5, **SETTINGS)
    def digits() -> Any:
        label = fn.cast(fn.random.coin_flip(), dtype=types.INT64)
        picture = fn.random.uniform(range=(0, 0.4), shape=[64]) + fn.cast(label, dtype=types.FLOAT) * 0.5
        return picture, label

    paddle.seed(1)
    layer = paddle.nn.Linear(64, 2)
    optimizer = paddle.optimizer.Adam(0.05, parameters=layer.parameters())
    iterator = DALIClassificationIterator(digits(), size=32 * 40)
    right = 0.0
    for step, batch in enumerate(iterator):
        data, label = paddle.to_tensor(batch[0]["data"]), paddle.to_tensor(batch[0]["label"])
        scores = layer(data)
        loss = paddle.nn.functional.cross_entropy(scores, label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        right += float((scores.argmax(1) == label).astype("float32").mean()) * (step >= 30)
    assert right / 10 > 0.95
