"""Base of tensors and batches: results that are there or are still to be made, and expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from dali_lab.device.transfer import download
from dali_lab.dynamic.dtypes import DType, dtype
from dali_lab.dynamic.evaluation import Holder, Outcome, Slot
from dali_lab.dynamic.places import Device, device
from dali_lab.model.batch import Batch as Samples
from dali_lab.model.tensor_list import TensorListCPU, TensorListGPU

if TYPE_CHECKING:
    from dali_lab.dynamic.batch import Batch
    from dali_lab.dynamic.tensor import Tensor

    _Self = TypeVar("_Self", bound="Value")

    @overload
    def _binary(self: Batch, other: Operand, /) -> Batch: ...
    @overload
    def _binary(self: Tensor, other: Batch, /) -> Batch: ...
    @overload
    def _binary(self: Tensor, other: Tensor | npt.ArrayLike, /) -> Tensor: ...
    def _binary(self: Any, other: Any, /) -> Any: ...
    def _unary(self: _Self) -> _Self: ...


Operand: TypeAlias = "Value | npt.ArrayLike"
"""The other side of an expression with a tensor or a batch."""


class Value(Holder):
    """One result of a call, or data from outside.

    Attributes
    ----------
    outcome
        The call that makes it; `None` for data from outside.
    """

    outcome: Outcome | None = None

    if TYPE_CHECKING:  # :mod:`dali_lab.dynamic.calling` makes the methods from those of nodes
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _binary
        __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = _binary
        __neg__ = __pos__ = __invert__ = __abs__ = _unary

    @classmethod
    def _holding(cls, samples: Samples, place: str = "cpu") -> Self:
        self = cls.__new__(cls)
        self.slot, self.outcome = Slot.of(samples, place), None
        return self

    @classmethod
    def _of_call(cls, outcome: Outcome, index: int) -> Self:
        self = cls.__new__(cls)
        self.slot, self.outcome = outcome.slots[index], outcome
        return self

    @property
    def samples(self) -> Samples:
        """The data, which are computed first if need be."""
        self.evaluate()
        assert self.slot.batch is not None
        return self.slot.batch

    def evaluate(self) -> Self:
        """Have the data computed now, if they are not there yet.

        Raises
        ------
        DaliLabError
            The error of the operator, or of one that it waits for.
        """
        if self.outcome is not None:
            self.outcome.evaluate()
            self.outcome = None
        return self

    @property
    def device(self) -> Device:
        """The device that holds the data."""
        return Device(self.slot.device)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return dtype(self.samples.dtype)

    @property
    def layout(self) -> str | None:
        """One letter for each dimension of a sample, or `None`."""
        return self.samples.layout or None

    @property
    def ndim(self) -> int:
        """Number of dimensions of a sample."""
        return self.samples.ndim

    def to_device(self, place: object, force_copy: bool = False) -> Self:
        """The same data on another device.

        Parameters
        ----------
        place
            A device or its name.
        force_copy
            Copy them in any case.
        """
        target = device(place)
        samples = self.samples
        if target.device_type == "cpu" and samples.device is not None:
            samples = download(samples)
        elif force_copy:
            samples = TensorListCPU(samples)._make_copy()._batch
        elif target == self.device:
            return self
        return type(self)._holding(samples, target.device_type)

    def _converted(self, dtype: DType | None, layout: str | None, place: Any) -> Self:
        """The same data of another type, with another layout and on another device, as far as these are given."""
        made = self
        if dtype is not None and made.dtype != dtype:
            from dali_lab.dynamic.calling import by_name

            made = by_name("cast", made, dtype=dtype)
        if layout is not None and (made.layout or "") != layout:
            if len(made.samples) and len(layout) not in (0, made.ndim):
                raise ValueError(
                    "A non-empty layout must have the same number of dimensions as the number of dimensions of the"
                    f" Tensor.\nGot: {len(layout)} ({layout})\nExpected: {made.ndim}."
                )
            made = type(self)._holding(made.samples.replaced(layout=layout), made.slot.device)
        return made if place is None else made.to_device(place)

    def cpu(self) -> Self:
        """The same data on the CPU."""
        return self.to_device("cpu")

    def gpu(self, index: int | None = None) -> Self:
        """The same data on the GPU; where there is none, operators that take them run on the CPU."""
        return self.to_device(Device("gpu", index))

    def _list(self) -> TensorListCPU:
        return (TensorListCPU if self.slot.device == "cpu" else TensorListGPU)(self.samples)

    def _is_same_tensor(self, other: Value) -> bool:
        """Whether both are the same data in the same memory."""
        mine, others = self.samples, other.samples
        return mine.dtype == others.dtype and all(
            np.array_equal(getattr(mine, part), getattr(others, part)) for part in ("addresses", "shapes")
        )

    def __hash__(self) -> int:
        return id(self)
