"""Lists of tensors and tensors as people see them, with NVIDIA DALI's methods and printed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.device.transfer import download
from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import gathered, is_contiguous
from dali_lab.model.errors import DaliLabError
from dali_lab.model.foreign import array_of, copy_out, element_type, is_array_like
from dali_lab.model.printing import list_text
from dali_lab.model.tensor import OverBatch, TensorCPU, TensorGPU, checked_layout, copy_to_gpu

Array = npt.NDArray[Any]


class TensorListCPU(OverBatch):
    """A batch of tensors of one dtype and layout, and of any shapes with as many dimensions.

    Parameters
    ----------
    object
        An array whose first dimension counts the samples, a list of tensors or arrays, another list of tensors, or a
        batch of the engine. Memory is shared, not copied.
    layout
        Axis names of a sample, one letter for each dimension.
    is_pinned
        Has no effect on the CPU.
    contiguous
        Has no effect: samples of a list are put together when something needs them so.
    """

    _kind = "tensor list"
    _tensor: ClassVar[type[TensorCPU]] = TensorCPU

    def __init__(
        self,
        object: Any,  # noqa: A002
        layout: str | None = None,
        is_pinned: bool = False,
        *,
        contiguous: bool = True,
    ) -> None:
        batch: Batch
        if isinstance(object, Batch):
            batch = object
        elif isinstance(object, TensorListCPU):
            batch = object._batch
        elif isinstance(object, list):
            batch = _batch_of_tensors(object)
        elif is_array_like(object):
            array = array_of(object)
            if not array.ndim:
                raise DaliLabError(
                    "a list of tensors cannot be made from a scalar: the first dimension counts the samples"
                )
            batch = Batch.dense(array)
        else:
            raise TypeError(
                "a list of tensors is made from an array, a list of tensors or a DLPack object,"
                f" not from {type(object).__name__}"
            )
        if layout is not None:
            batch = batch.replaced(layout=checked_layout(layout, batch.ndim, self._kind))
        self._batch = batch

    @classmethod
    def from_dlpack_list(
        cls, list_of_objects: Sequence[Any], layout: str | None = None, contiguous: bool = False
    ) -> TensorListCPU:
        """A list over the memory of DLPack objects, one a sample.

        Parameters
        ----------
        list_of_objects
            Tensors of any library, on the CPU, of one dtype and number of dimensions.
        layout
            Axis names of a sample.
        contiguous
            Copy the samples one after the other into new memory.

        Raises
        ------
        TypeError
            If one has no DLPack, or another dtype than the first.
        DaliLabError
            If one has another number of dimensions than the first.
        """
        rows = []
        for index, item in enumerate(list_of_objects):
            if not hasattr(item, "__dlpack__"):
                raise TypeError(f"the object at position {index} ({type(item).__name__}) has no DLPack")
            rows.append(np.from_dlpack(item) if not isinstance(item, np.ndarray) else item)
        for index, row in enumerate(rows):
            if row.ndim != rows[0].ndim:
                raise DaliLabError(
                    f"the tensor at position {index} has {row.ndim} dimensions, the first has {rows[0].ndim}"
                )
        batch = _batch_of_tensors(rows)
        return cls(gathered(batch) if contiguous else batch, layout)

    @classmethod
    def broadcast(cls, tensor: TensorCPU, num_samples: int) -> TensorListCPU:
        """A list that holds one tensor `num_samples` times, over the same memory."""
        return cls(tensor._own().take(np.zeros(num_samples, np.int64)))

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, index: int) -> TensorCPU:
        if isinstance(index, slice):
            raise TypeError("a list of tensors is indexed by integers; use [tensors[i] for i in ...] for a part of it")
        count = len(self._batch)
        if not -count <= index < count:
            raise IndexError(f"TensorListCPU index out of range: there is no sample {index} among {count}")
        return self._tensor._of(self._batch, index % count)

    def __iter__(self) -> Iterator[TensorCPU]:
        return (self._tensor._of(self._batch, index) for index in range(len(self)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.as_array()
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype)

    def __repr__(self) -> str:
        return list_text(type(self).__name__, None, self.dtype, self.layout(), self._device, self.shape())

    def __str__(self) -> str:
        return list_text(type(self).__name__, self._batch.array, self.dtype, self.layout(), self._device, self.shape())

    def at(self, index: int) -> Any:
        """One sample as an array over the same memory.

        Raises
        ------
        DaliLabError
            If there is no such sample; negative indices are not taken.
        """
        if not 0 <= index < len(self._batch):
            raise DaliLabError(f"index out of range: there is no sample {index} among {len(self._batch)}")
        return self._batch.array(index)

    def as_array(self) -> Array:
        """All samples in one array, over the same memory where they follow each other.

        Raises
        ------
        DaliLabError
            If their shapes differ.
        TypeError
            If the elements are members of enumerations.
        """
        if self.dtype in (dtypes.DATA_TYPE, dtypes.IMAGE_TYPE, dtypes.INTERP_TYPE):
            raise TypeError(
                f"DALI enum types cannot be used with buffer protocol: the elements are {self.dtype.name};"
                " use `nvidia.dali.fn.cast` to convert to an integer type first"
            )
        refused = "Cannot produce a numpy array: the tensors in the list do not all have the same shape"
        return self._dense(refused).stacked()

    def as_tensor(self) -> TensorCPU:
        """All samples as one tensor with an ``N`` before the layout.

        Raises
        ------
        DaliLabError
            If their shapes differ.
        """
        batch = self._dense(
            "The batch must be representable as a tensor - it must have uniform shape and be allocated in contiguous"
            " memory"
        )
        layout = f"N{batch.layout}" if batch.layout or not batch.ndim else ""
        if batch.device is not None:
            shape = np.array([[len(batch), *batch.shapes[0].tolist()]], np.int64)
            return self._tensor._of(Batch(batch.addresses[:1], shape, batch.dtype, layout, batch.owners), 0)
        return self._tensor._of(Batch.of([batch.stacked()], layout, self.dtype), 0)

    def as_reshaped_tensor(self, shape: Sequence[int]) -> TensorCPU:
        """All elements in order, as one tensor of the given shape.

        Raises
        ------
        DaliLabError
            If it has another number of elements.
        """
        total = int(self._batch.sizes.sum())
        extents = [int(extent) for extent in shape]
        if int(np.prod(extents, dtype=np.int64)) != total:
            raise DaliLabError(
                "To create a view Tensor, requested shape need to have the same volume as the batch, requested:"
                f" {int(np.prod(extents, dtype=np.int64))} expected: {total}, got the shape {tuple(extents)}"
            )
        self._batch = gathered(self._batch)
        filled = np.flatnonzero(self._batch.sizes)[:1]
        first = self._batch.addresses[filled] if len(filled) else np.zeros(1, np.int64)
        table = np.array(extents, np.int64).reshape(1, -1)
        return self._tensor._of(Batch(first, table, self.dtype, "", self._batch.owners), 0)

    def _dense(self, refused: str) -> Batch:
        """The batch with its samples one after the other, kept from now on so that addresses stay the same.

        `refused` is the message where shapes differ.
        """
        if not self._batch.is_uniform():
            raise DaliLabError(
                f"{refused}. Pad or crop the samples to a common shape, or check is_dense_tensor() beforehand; at()"
                " gives samples of different shapes one by one"
            )
        if not is_contiguous(self._batch):
            self._batch = gathered(self._batch)
        return self._batch

    def as_cpu(self) -> TensorListCPU:
        """The list on the CPU."""
        return self

    def is_dense_tensor(self) -> bool:
        """Whether all samples have the same shape, so that :meth:`as_tensor` can be had."""
        return self._batch.is_uniform()

    def shape(self) -> list[tuple[int, ...]]:
        """Shape of each sample."""
        return [tuple(row) for row in self._batch.shapes.tolist()]

    def reset(self) -> None:
        """Let go of the samples: the list is empty then."""
        self._batch = Batch.empty(dtypes.NO_TYPE, ndim=0)

    def data_ptr(self) -> int | None:
        """Address of the first element; all others follow it."""
        if not len(self._batch):
            return None
        self._batch = gathered(self._batch)
        return int(self._batch.addresses[0])

    def copy_to_external(self, ptr: object, *args: Any, **options: Any) -> None:
        """Copy all samples, one after the other, to an address in CPU memory (an integer, a pointer, an array)."""
        copy_out(self._batch, ptr)

    def _as_gpu(self) -> TensorListGPU:
        return TensorListGPU(self._batch)

    def _make_copy(self) -> TensorListCPU:
        batch = self._batch
        if not len(batch):
            return type(self)(batch)
        if batch.is_uniform():  # one block, so that the list is dense
            return type(self)(Batch.dense(np.stack(batch.arrays()), batch.layout, batch.dtype))
        return type(self)(Batch.of([array.copy() for array in batch.arrays()], batch.layout, batch.dtype))


class TensorListGPU(TensorListCPU):
    """A list that was placed on the GPU; where there is none, its memory is the CPU's."""

    _device = "gpu"
    _tensor = TensorGPU

    def as_cpu(self) -> TensorListCPU:
        """The list on the CPU: a copy, once the GPU has made it."""
        return TensorListCPU(download(self._batch))

    def as_array(self) -> Array:
        """All samples in one array on the CPU."""
        return self.as_cpu().as_array()

    def at(self, index: int) -> Any:
        """One sample as a tensor."""
        return self[index]

    def copy_to_external(
        self, ptr: object, cuda_stream: object = None, non_blocking: bool = False, use_copy_kernel: bool = False
    ) -> None:
        """Copy all samples, one after the other, to memory of the GPU; arguments as for a single tensor."""
        copy_to_gpu(self._batch, ptr, cuda_stream, non_blocking)


def _batch_of_tensors(items: Sequence[Any]) -> Batch:
    """A batch over tensors or arrays, one a sample.

    Raises
    ------
    TypeError
        If one is no tensor, or differs from the first in dtype or number of dimensions.
    """
    if not items:
        return Batch.empty(dtypes.NO_TYPE, ndim=0)
    parts: list[Batch] = []
    for index, item in enumerate(items):
        if isinstance(item, TensorCPU):
            part = item._own()
        elif is_array_like(item):
            array = array_of(item)
            part = Batch.of([array], "", element_type(array))
        else:
            raise TypeError(f"the object at position {index} ({type(item).__name__}) is not a tensor")
        first = parts[0] if parts else part
        if part.dtype != first.dtype:
            raise TypeError(
                f"Tensors cannot have different data types. Tensor at position {index} has type '{part.dtype.name}'"
                f" expected to have type '{first.dtype.name}'."
            )
        if part.ndim != first.ndim:
            raise TypeError(f"the tensor at position {index} has {part.ndim} dimensions, the first has {first.ndim}")
        parts.append(part)
    return Batch.concat(parts)


Tensor = TensorCPU
TensorList = TensorListCPU

__all__ = ["Tensor", "TensorCPU", "TensorGPU", "TensorList", "TensorListCPU", "TensorListGPU"]
