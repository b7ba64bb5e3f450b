"""Batches as Arrow tables: samples as tensors, over the memory of the batch where they have one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dali_lab.model.tensor_list import TensorList

if TYPE_CHECKING:
    from pyarrow import Array, ChunkedArray, Table

Samples = npt.NDArray[np.generic]
"""All samples of a batch in one array, or an array of objects with an array for each."""


def samples_of(output: TensorList) -> Samples:
    """A batch as one array, or as an array of arrays where the shapes differ."""
    batch = output.as_cpu()
    shapes = batch._batch.shapes
    if len(batch) and bool((shapes == shapes[0]).all()):
        dense: Samples = batch.as_array()
        return dense
    if not len(batch):
        return np.empty((0, *([0] * batch._batch.ndim)), batch._batch.kind)
    ragged = np.empty(len(batch), object)
    for index in range(len(batch)):
        ragged[index] = np.asarray(batch.at(index))
    return ragged


def bytes_of(samples: Samples) -> int:
    """The bytes of all samples."""
    return samples.nbytes if samples.dtype != object else sum(sample.nbytes for sample in samples)


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples of one batch that came in several parts."""
    return np.concatenate(_of_one_kind(parts)) if len(parts) > 1 else parts[0]


def column(samples: Samples) -> Array:
    """Samples as a column; arrays of one shape are not copied."""
    from ray.data.extensions import ArrowTensorArray, ArrowVariableShapedTensorArray

    if samples.dtype == object:
        return ArrowVariableShapedTensorArray.from_numpy(samples)
    return pa.array(samples) if samples.ndim == 1 else ArrowTensorArray.from_numpy(samples)


def block(parts: Sequence[Mapping[str, Samples]]) -> Table:
    """One table over batches, a chunk for each, without copies where their samples have one shape.

    Parameters
    ----------
    parts
        For each batch, its samples by column.
    """
    filled = [part for part in parts if len(next(iter(part.values())))] or list(parts[:1])
    return pa.table({name: pa.chunked_array(_alike([part[name] for part in filled])) for name in filled[0]})


def _alike(parts: Sequence[Samples]) -> list[Array]:
    """Columns of one type: where shapes differ between batches, each sample keeps its own."""
    return [column(part) for part in _of_one_kind(parts)]


def _of_one_kind(parts: Sequence[Samples]) -> Sequence[Samples]:
    """Arrays of one shape, or arrays of arrays where shapes differ between the parts."""
    if len({part.shape[1:] if part.dtype != object else None for part in parts}) > 1:
        return [part if part.dtype == object else _apart(part) for part in parts]
    return parts


def _apart(samples: Samples) -> Samples:
    apart = np.empty(len(samples), object)
    for index, sample in enumerate(samples):
        apart[index] = sample
    return apart


def to_samples(values: ChunkedArray | Array) -> Samples:
    """A column as one array, over its own memory where it is one chunk; or as an array of arrays."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    arrays = [_chunk(chunk) for chunk in chunks if len(chunk)]
    if len(arrays) == 1:
        return arrays[0]
    if not arrays:
        return np.empty(0)
    return np.concatenate(arrays)


def _chunk(chunk: Array) -> Samples:
    if hasattr(chunk, "to_numpy_ndarray"):
        tensors: Samples = chunk.to_numpy_ndarray()
        return tensors
    from ray.data.extensions import ArrowVariableShapedTensorArray

    if isinstance(chunk, ArrowVariableShapedTensorArray):
        return _apart(np.asarray(chunk.to_numpy(zero_copy_only=False)))
    plain: Samples = chunk.to_numpy(zero_copy_only=False)
    return plain
