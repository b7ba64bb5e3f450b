"""Iterators of MXNet's form over NumPy arrays: MXNet has ended, and its programs' data part still runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.interop.iteration import LastBatchPolicy, PipelineIterator
from dali_lab.interop.iterator_state import IteratorError
from dali_lab.interop.signatures import with_parameters_of
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline.pipeline import Pipeline

DataType = np.dtype[Any]


class NDArray(np.ndarray[Any, DataType]):
    """A NumPy array with the method of MXNet's that nearly all programs call."""

    def asnumpy(self) -> npt.NDArray[Any]:
        """The array as NumPy's own class, over the same memory."""
        return np.asarray(self)


class DataDesc(NamedTuple):
    """Name, shape and type of an array of a batch."""

    name: str
    shape: tuple[int, ...]
    dtype: DataType
    layout: str


@dataclass
class DataBatch:
    """A batch of one pipeline: lists of arrays in the order of `output_map`.

    Attributes
    ----------
    pad
        Samples at the end that only fill up the batch.
    """

    data: list[npt.NDArray[Any]]
    label: list[npt.NDArray[Any]]
    pad: int = 0
    index: Any = None
    provide_data: list[DataDesc] = field(default_factory=list)
    provide_label: list[DataDesc] = field(default_factory=list)


def _array(output: TensorList) -> NDArray:
    array: NDArray = np.asarray(output.as_cpu().as_array()).view(NDArray)
    return array


class DALIGenericIterator(PipelineIterator):
    """Iterates over one or more pipelines, giving a list with a :class:`DataBatch` for each of them.

    Parameters
    ----------
    output_map
        For each output the pair of its name and :attr:`DATA_TAG` or :attr:`LABEL_TAG`.
    data_layout
        Layout of the data, for :attr:`provide_data`.
    squeeze_labels
        Leave out dimensions of 1 of labels.
    pipelines, size, reader_name, auto_reset, fill_last_batch, dynamic_shape, last_batch_padded, last_batch_policy, \
prepare_first_batch
        As in :class:`dali_lab.plugin.pytorch.DALIGenericIterator`. ``PARTIAL`` keeps the last batch whole, and
        :attr:`DataBatch.pad` counts what fills it up.

    Raises
    ------
    IteratorError
        If the arguments contradict each other or the pipelines.
    """

    DATA_TAG: str = "data"
    LABEL_TAG: str = "label"

    @with_parameters_of(PipelineIterator.__init__)
    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        output_map: Sequence[tuple[str, str]],
        size: int = -1,
        reader_name: str | None = None,
        data_layout: str = "NCHW",
        squeeze_labels: bool = True,
        **settings: Any,
    ) -> None:
        tags = (self.DATA_TAG, self.LABEL_TAG)
        if any(len(entry) != 2 or isinstance(entry, str) or entry[1] not in tags for entry in output_map):
            raise IteratorError("takes a pair of name and DATA_TAG or LABEL_TAG for each output", argument="output_map")
        self._tags = dict(output_map)
        self._data_layout, self._squeezes = data_layout, squeeze_labels
        self.provide_data: list[DataDesc] = []
        self.provide_label: list[DataDesc] = []
        super().__init__(pipelines, [name for name, _ in output_map], size, reader_name, **settings)

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> DataBatch:
        batch = DataBatch([], [])
        for name, output in zip(self.output_map, outputs, strict=True):
            array: npt.NDArray[Any] = _array(output)
            if self._tags[name] == self.DATA_TAG:
                batch.data.append(array)
                batch.provide_data.append(DataDesc(name, array.shape, array.dtype, self._data_layout))
                continue
            if self._squeezes:
                array = array.reshape(len(array), *(extent for extent in array.shape[1:] if extent != 1))
            batch.label.append(array)
            batch.provide_label.append(DataDesc(name, array.shape, array.dtype, ""))
        self.provide_data, self.provide_label = batch.provide_data, batch.provide_label
        return batch

    def _cut(self, batch: DataBatch, count: int) -> DataBatch:
        batch.pad = self.batch_size - count
        return batch


class DALIClassificationIterator(DALIGenericIterator):
    """A :class:`DALIGenericIterator` over pipelines with data and labels; it takes names in place of `output_map`."""

    @with_parameters_of(DALIGenericIterator.__init__, without=("self", "output_map"))
    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **settings: Any,
    ) -> None:
        names = [(data_name, self.DATA_TAG), (label_name, self.LABEL_TAG)]
        super().__init__(pipelines, names, size, reader_name, **settings)


class DALIGluonIterator(PipelineIterator):
    """Iterates over one or more pipelines, giving a list with a tuple of arrays for each of them.

    Parameters
    ----------
    output_types
        For each output :attr:`DENSE_TAG` (one array) or :attr:`SPARSE_TAG` (a list of arrays, one a sample); by default
        all are dense.
    pipelines, size, reader_name, auto_reset, fill_last_batch, dynamic_shape, last_batch_padded, last_batch_policy, \
prepare_first_batch
        As in :class:`dali_lab.plugin.pytorch.DALIGenericIterator`.

    Raises
    ------
    IteratorError
        If the arguments contradict each other or the pipelines.
    """

    DENSE_TAG: str = "dense"
    SPARSE_TAG: str = "sparse"

    @with_parameters_of(PipelineIterator.__init__, without=("output_map",))
    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        first = pipelines[0] if isinstance(pipelines, (list, tuple)) else pipelines
        count = len(first.graph.outputs)
        self._types = list(output_types) if output_types is not None else [self.DENSE_TAG] * count
        if len(self._types) != count or any(tag not in (self.DENSE_TAG, self.SPARSE_TAG) for tag in self._types):
            raise IteratorError(f"takes 'dense' or 'sparse' for each of {count} outputs", argument="output_types")
        super().__init__(pipelines, [str(index) for index in range(count)], size, reader_name, **settings)

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> tuple[Any, ...]:
        return tuple(
            _array(output) if kind == self.DENSE_TAG else [np.asarray(each).view(NDArray) for each in output.as_cpu()]
            for kind, output in zip(self._types, outputs, strict=True)
        )

    def _cut(self, batch: tuple[Any, ...], count: int) -> tuple[Any, ...]:
        return tuple(values[:count] for values in batch)


def feed_ndarray(dali_tensor: Any, arr: npt.NDArray[Any], cuda_stream: object = None) -> npt.NDArray[Any]:
    """Copy a tensor, or a list of tensors of one shape, into an array of the same type and shape.

    Raises
    ------
    ValueError
        If type or shape differ.
    """
    source = np.asarray(dali_tensor.as_cpu() if hasattr(dali_tensor, "as_cpu") else dali_tensor)
    if source.shape != arr.shape or source.dtype != arr.dtype:
        raise ValueError(f"cannot copy {source.dtype} {source.shape} to {arr.dtype} {arr.shape}")
    arr[...] = source
    return arr


__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIGluonIterator",
    "DataBatch",
    "DataDesc",
    "LastBatchPolicy",
    "NDArray",
    "feed_ndarray",
]
