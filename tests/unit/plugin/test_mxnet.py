"""Iterators of MXNet's form over NumPy arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from dali_lab import fn, pipeline_def
from dali_lab.interop.mxnet import (
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIGluonIterator,
    LastBatchPolicy,
    feed_ndarray,
)


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def numbers(ragged: bool = False) -> Any:
    def source() -> Any:
        for index in range(4):
            rows = [np.full(1 + (row if ragged else 0), 2 * index + row + 1) for row in range(2)]
            yield rows, np.full((2, 1), index)

    return tuple(fn.external_source(source=source, num_outputs=2))


def test_the_plugin_warns_once() -> None:
    sys.modules.pop("dali_lab.plugin.mxnet", None)
    with pytest.warns(DeprecationWarning, match="MXNet has ended"):
        import dali_lab.plugin.mxnet as plugin
    assert plugin.DALIGenericIterator is DALIGenericIterator


@pytest.mark.filterwarnings("ignore:Please set")
def test_batches_have_data_labels_and_padding() -> None:
    iterator = DALIClassificationIterator(numbers(), 7, last_batch_policy=LastBatchPolicy.PARTIAL)
    batches = [batch for (batch,) in iterator]
    assert [batch.data[0].asnumpy().ravel().tolist() for batch in batches] == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert [batch.label[0].tolist() for batch in batches] == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert [batch.pad for batch in batches] == [0, 0, 0, 1]
    assert iterator.provide_data[0][:2] == ("data", (2, 1)) and iterator.provide_label[0].name == "softmax_label"
    with pytest.raises(ValueError, match="DATA_TAG or LABEL_TAG"):
        DALIGenericIterator(numbers(), ["data", "label"])


def test_gluon_gives_arrays_or_lists() -> None:
    ((data, label),) = next(DALIGluonIterator([numbers(True)], output_types=["sparse", "dense"]))
    assert [row.tolist() for row in data] == [[1], [2, 2]] and label.asnumpy().shape == (2, 1)
    with pytest.raises(ValueError, match="'dense' or 'sparse'"):
        DALIGluonIterator(numbers(), output_types=["dense"])


def test_feeding_arrays() -> None:
    output = numbers().run()[0]
    target = np.zeros((2, 1), np.int64)
    np.testing.assert_array_equal(feed_ndarray(output, target), [[1], [2]])
    with pytest.raises(ValueError, match="cannot copy"):
        feed_ndarray(output, np.zeros((2, 1), np.float32))
