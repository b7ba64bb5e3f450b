"""Lists of tensors and tensors as people see them, with NVIDIA DALI's methods and printed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.types import DALIDataType


class Tensor:
    """One sample of a batch, over the same memory."""

    def __init__(self, batch: Batch, index: int) -> None:
        self._batch = batch
        self._index = index

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        array = self._batch.array(self._index)
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype)

    def shape(self) -> tuple[int, ...]:
        """Shape of the sample."""
        return tuple(self._batch.shapes[self._index].tolist())

    @property
    def dtype(self) -> DALIDataType:
        """Type of an element."""
        return self._batch.dtype

    def layout(self) -> str:
        """Axis names, or an empty string."""
        return self._batch.layout


class TensorList:
    """A batch of tensors of one dtype and layout."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, index: int) -> Tensor:
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index} of a batch of {len(self)}")
        return Tensor(self._batch, index % len(self))

    def __iter__(self) -> Iterator[Tensor]:
        return (Tensor(self._batch, index) for index in range(len(self)))

    def at(self, index: int) -> npt.NDArray[Any]:
        """One sample as an array over the same memory."""
        return self._batch.array(index)

    def as_array(self) -> npt.NDArray[Any]:
        """All samples in one array.

        Raises
        ------
        ValueError
            If their shapes differ.
        """
        return self._batch.stacked()

    def as_cpu(self) -> TensorList:
        """The same list on the CPU."""
        return self

    def shape(self) -> list[tuple[int, ...]]:
        """Shape of each sample."""
        return [tuple(row) for row in self._batch.shapes.tolist()]

    @property
    def dtype(self) -> DALIDataType:
        """Type of an element."""
        return self._batch.dtype

    def layout(self) -> str:
        """Axis names, or an empty string."""
        return self._batch.layout
