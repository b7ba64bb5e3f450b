"""A batch as kernels see it: a table of addresses and shapes over memory with other owners."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.buffers import buffer
from dali_lab.model.dtypes import DALIDataType, numpy_dtype, to_dali_type
from dali_lab.model.memory import BatchDevice, DeviceMemory

if TYPE_CHECKING:
    from dali_lab.model.undecoded import Undecoded

Addresses = npt.NDArray[np.int64]
Shapes = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


class Batch:
    """Samples of one dtype and layout, each C-contiguous, of any shapes with the same number of dimensions.

    Parameters
    ----------
    addresses
        ``int64[N]``, address of each sample's first element.
    shapes
        ``int64[N, ndim]``.
    dtype
        Type of an element.
    layout
        One letter for each dimension, or an empty string.
    owners
        Objects that keep the memory alive as long as the batch lives.
    sources
        Where each sample came from (a file's path), or `None`.

    Attributes
    ----------
    undecoded
        For pictures whose decoding is left to their one consumer: all that it needs to decode them; the batch then has
        no memory. `None` in all other batches.
    """

    __slots__ = ("addresses", "dtype", "layout", "owners", "shapes", "sources", "undecoded")

    def __init__(
        self,
        addresses: Addresses,
        shapes: Shapes,
        dtype: DALIDataType,
        layout: str = "",
        owners: tuple[Any, ...] = (),
        sources: tuple[str, ...] | None = None,
    ) -> None:
        self.addresses = addresses
        self.shapes = shapes
        self.dtype = dtype
        self.layout = layout
        self.owners = owners
        self.sources = sources
        self.undecoded: Undecoded | None = None

    @classmethod
    def allocate(
        cls, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "", sources: tuple[str, ...] | None = None
    ) -> Batch:
        """New memory for samples of these shapes, one after the other without gaps; its contents are undefined."""
        table = np.asarray(shapes, np.int64)
        if table.ndim != 2:
            table = table.reshape(len(table), -1)
        item = numpy_dtype(dtype).itemsize
        sizes = table.prod(axis=1) * item
        ends = np.cumsum(sizes)
        memory = buffer(int(ends[-1]) if len(ends) else 0)
        addresses = memory.ctypes.data + ends - sizes
        return cls(addresses, table, dtype, layout, (memory,), sources)

    @classmethod
    def of(cls, arrays: Iterable[npt.ArrayLike], layout: str = "", dtype: DALIDataType | None = None) -> Batch:
        """A batch over existing arrays, one a sample, copied only where one is not C-contiguous.

        Raises
        ------
        ValueError
            If the arrays differ in dtype or number of dimensions.
        """
        rows = [np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array) for array in arrays]
        if not rows:
            return cls.empty(dtype if dtype is not None else DALIDataType.NO_TYPE, layout)
        first = rows[0]
        for index, row in enumerate(rows):
            if row.dtype != first.dtype:
                raise ValueError(f"sample {index} has dtype {row.dtype}, sample 0 has {first.dtype}")
            if row.ndim != first.ndim:
                raise ValueError(f"sample {index} has {row.ndim} dimensions, sample 0 has {first.ndim}")
        shapes = np.array([row.shape for row in rows], np.int64).reshape(len(rows), first.ndim)
        addresses = np.array([row.ctypes.data for row in rows], np.int64)
        return cls(addresses, shapes, dtype if dtype is not None else to_dali_type(first.dtype), layout, tuple(rows))

    @classmethod
    def dense(cls, array: Array, layout: str = "", dtype: DALIDataType | None = None) -> Batch:
        """A batch over one array whose first dimension counts the samples."""
        array = np.ascontiguousarray(array)
        count = array.shape[0]
        stride = array.nbytes // count if count else 0
        addresses = array.ctypes.data + stride * np.arange(count, dtype=np.int64)
        shapes = np.broadcast_to(np.array(array.shape[1:], np.int64), (count, array.ndim - 1))
        return cls(addresses, shapes, dtype if dtype is not None else to_dali_type(array.dtype), layout, (array,))

    @classmethod
    def empty(cls, dtype: DALIDataType, layout: str = "", ndim: int | None = None) -> Batch:
        """A batch of no samples."""
        return cls(np.zeros(0, np.int64), np.zeros((0, len(layout) if ndim is None else ndim), np.int64), dtype, layout)

    @classmethod
    def concat(cls, parts: Sequence[Batch]) -> Batch:
        """The samples of all parts in order, without copying."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        for part in parts[1:]:
            if part.dtype != first.dtype or part.ndim != first.ndim:
                raise ValueError(
                    f"samples of one batch must agree: {first.dtype} with {first.ndim} dimensions"
                    f" beside {part.dtype} with {part.ndim}"
                )
        owners = {id(owner): owner for part in parts for owner in part.owners}
        sources = None
        if all(part.sources is not None for part in parts):
            sources = tuple(source for part in parts for source in part.sources or ())
        return cls(
            np.concatenate([part.addresses for part in parts]),
            np.concatenate([part.shapes for part in parts]),
            first.dtype,
            first.layout,
            tuple(owners.values()),
            sources,
        )

    def __len__(self) -> int:
        return len(self.addresses)

    @property
    def ndim(self) -> int:
        """Number of dimensions of a sample."""
        return int(self.shapes.shape[1])

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of the elements as NumPy has it; bytes where a batch without samples has no type."""
        return numpy_dtype(self.dtype if self.dtype != DALIDataType.NO_TYPE else DALIDataType.UINT8)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.kind.itemsize

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of elements of each sample, ``int64[N]``."""
        return np.asarray(self.shapes.prod(axis=1), np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of all samples together."""
        return int(self.sizes.sum()) * self.itemsize

    @property
    def device(self) -> BatchDevice | None:
        """The device whose memory the addresses are; `None` for the CPU."""
        owners = self.owners
        return owners[0].device if owners and isinstance(owners[0], DeviceMemory) else None

    def axis(self, letter: str) -> int:
        """Index of an axis in the layout, or −1."""
        return self.layout.find(letter)

    def take(self, which: slice | npt.ArrayLike) -> Batch:
        """Some of the samples, without copying."""
        if not isinstance(which, slice):
            which = np.asarray(which, np.int64)
        sources = self.sources
        if sources is not None:
            picked: Iterable[str] = sources[which] if isinstance(which, slice) else (sources[i] for i in which)
            sources = tuple(picked)
        return Batch(self.addresses[which], self.shapes[which], self.dtype, self.layout, self.owners, sources)

    def replaced(
        self, *, shapes: Shapes | None = None, dtype: DALIDataType | None = None, layout: str | None = None
    ) -> Batch:
        """The same memory seen with other shapes, dtype or layout."""
        return Batch(
            self.addresses,
            self.shapes if shapes is None else shapes,
            self.dtype if dtype is None else dtype,
            self.layout if layout is None else layout,
            self.owners,
            self.sources,
        )

    def array(self, index: int) -> Array:
        """One sample as an array over the same memory, which must be the CPU's."""
        self._must_be_here()
        shape = tuple(self.shapes[index].tolist())
        if 0 in shape:
            return np.empty(shape, self.kind)
        return np.asarray(_Memory(int(self.addresses[index]), shape, self.kind, self.owners))

    def arrays(self) -> list[Array]:
        """All samples as arrays over the same memory."""
        if self.ndim > 1 and len(self) > 1 and (array := self.whole()) is not None:
            return list(array)
        block = self._block()
        if block is None or self.ndim != 1:
            return self._one_by_one()
        starts = (self.addresses - block.ctypes.data).tolist()
        ends = (self.addresses - block.ctypes.data + self.shapes[:, 0] * self.itemsize).tolist()
        dtype = self.kind
        cut = [block[start:end] for start, end in zip(starts, ends, strict=True)]
        return cut if dtype == np.uint8 else [array.view(dtype) for array in cut]

    def _one_by_one(self) -> list[Array]:
        self._must_be_here()
        dtype, owners = self.kind, self.owners
        return [
            np.empty(shape, dtype) if 0 in shape else np.asarray(_Memory(address, tuple(shape), dtype, owners))
            for address, shape in zip(self.addresses.tolist(), self.shapes.tolist(), strict=True)
        ]

    def flat(self) -> npt.NDArray[np.uint8]:
        """The bytes of all samples, which follow each other without gaps, as one array over the same memory."""
        block = self._block()
        assert block is not None
        start = int(self.addresses[0]) - block.ctypes.data if len(self) else 0
        return block[start : start + self.nbytes]

    def _block(self) -> npt.NDArray[np.uint8] | None:
        """The single array of bytes that holds all samples, if there is one."""
        if len(self.owners) != 1 or not len(self):
            return None
        block = self.owners[0]
        if type(block) is not np.ndarray or block.dtype != np.uint8 or block.ndim != 1:
            return None
        if not block.flags.c_contiguous or not block.flags.writeable:
            return None
        low = block.ctypes.data
        inside = self.addresses.min() >= low and (self.addresses + self.sizes * self.itemsize).max() <= low + block.size
        return block if inside else None

    def is_uniform(self) -> bool:
        """Whether all samples have the same shape."""
        return len(self) <= 1 or bool((self.shapes == self.shapes[0]).all())

    def stacked(self) -> Array:
        """All samples in one array ``[N, ...]``: over the same memory where they follow each other, else a copy.

        Raises
        ------
        ValueError
            If the shapes differ.
        """
        array = self.whole()
        if array is not None:
            return array
        if not self.is_uniform():
            raise ValueError("samples of different shapes cannot be stacked into one array")
        result = np.empty((len(self), *self.shapes[0].tolist()), self.kind)
        for index in range(len(self)):
            result[index] = self.array(index)
        return result

    def whole(self) -> Array | None:
        """All samples as one array ``[N, ...]`` over their memory, if they have one shape and no gaps between them."""
        self._must_be_here()
        shapes, addresses = self.shapes, self.addresses
        count = len(addresses)
        if count > 1 and shapes.strides[0] and not (shapes == shapes[0]).all():
            return None
        dtype = self.kind
        shape = (count, *(shapes[0].tolist() if count else [0] * self.ndim))
        if 0 in shape:
            return np.empty(shape, dtype)
        if count > 1 and not (addresses[1:] - addresses[:-1] == math.prod(shape[1:]) * dtype.itemsize).all():
            return None
        return np.asarray(_Memory(int(addresses[0]), shape, dtype, self.owners))

    def _must_be_here(self) -> None:
        if self.device is not None:
            raise TypeError("these samples are in device memory; copy them to the CPU first")

    def unfolded(self) -> Batch:
        """Samples of a sequence batch cut along their first axis: one sample for each frame, without copying."""
        counts = self.shapes[:, 0]
        owner, frame = rows_of(counts)
        inner = self.shapes[owner, 1:]
        addresses = self.addresses[owner] + inner.prod(axis=1) * self.itemsize * frame
        return Batch(addresses, inner, self.dtype, self.layout[1:], self.owners, None)

    def folded(self, counts: npt.NDArray[np.int64], letter: str, like: npt.NDArray[np.int64] | None = None) -> Batch:
        """The inverse of :meth:`unfolded`, for frames that lie one after the other in memory.

        Sequences without frames have the extents of `like`, ``int64[N, ndim + 1]``, if it has as many, else 0.

        Raises
        ------
        ValueError
            If the frames of one sample differ in shape.
        """
        starts = np.cumsum(counts) - counts
        shapes = np.empty((len(counts), self.ndim + 1), np.int64)
        has_frames = counts > 0
        shapes[:] = like if like is not None and like.shape == shapes.shape else 0
        shapes[:, 0] = counts
        shapes[has_frames, 1:] = self.shapes[starts[has_frames]]
        if not np.array_equal(np.repeat(shapes[:, 1:], counts, axis=0), self.shapes):
            raise ValueError("the frames of one sequence must have the same shape")
        addresses = np.zeros(len(counts), np.int64)
        addresses[has_frames] = self.addresses[starts[has_frames]]
        return Batch(addresses, shapes, self.dtype, letter + self.layout if self.layout else "", self.owners, None)


class _Memory:
    """Hands memory at an address to numpy, and keeps its owners alive through the array's base."""

    __slots__ = ("__array_interface__", "owners")

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], owners: tuple[Any, ...]) -> None:
        self.owners = owners
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "typestr": dtype.str,
        }


def rows_of(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The owner of each of the rows of which the owners have `counts`, one after the other, and its place there."""
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return owner, np.arange(len(owner), dtype=np.int64) - (np.cumsum(counts) - counts)[owner]
