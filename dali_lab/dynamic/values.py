"""What tensors and batches have in common: results that are there or are still to be made, and expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from dali_lab.device.transfer import download
from dali_lab.dynamic.dtypes import DType, dtype
from dali_lab.dynamic.evaluation import Outcome, Slot
from dali_lab.dynamic.places import Device, device
from dali_lab.model.batch import Batch as Samples
from dali_lab.model.tensor_list import TensorListCPU, TensorListGPU

EXPRESSIONS = [
    *(f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow") for side in ("", "r")),
    *(f"__{side}{name}__" for name in ("and", "or", "xor", "lshift", "rshift") for side in ("", "r")),
    *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs")),
]


class Value:
    """One result of a call, or data from outside.

    Attributes
    ----------
    slot
        The symbol that calls take.
    outcome
        The call that makes it; `None` for data from outside.
    """

    _is_batch: ClassVar[bool] = False

    slot: Slot
    outcome: Outcome | None = None

    if TYPE_CHECKING:  # :mod:`dali_lab.dynamic.calling` makes the methods from those of nodes

        def __add__(self, other: Any, /) -> Any: ...
        def __radd__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        def __floordiv__(self, other: Any, /) -> Any: ...
        def __rfloordiv__(self, other: Any, /) -> Any: ...
        def __mod__(self, other: Any, /) -> Any: ...
        def __rmod__(self, other: Any, /) -> Any: ...
        def __pow__(self, other: Any, /) -> Any: ...
        def __rpow__(self, other: Any, /) -> Any: ...
        def __and__(self, other: Any, /) -> Any: ...
        def __rand__(self, other: Any, /) -> Any: ...
        def __or__(self, other: Any, /) -> Any: ...
        def __ror__(self, other: Any, /) -> Any: ...
        def __xor__(self, other: Any, /) -> Any: ...
        def __rxor__(self, other: Any, /) -> Any: ...
        def __lshift__(self, other: Any, /) -> Any: ...
        def __rlshift__(self, other: Any, /) -> Any: ...
        def __rshift__(self, other: Any, /) -> Any: ...
        def __rrshift__(self, other: Any, /) -> Any: ...
        def __lt__(self, other: Any, /) -> Any: ...
        def __le__(self, other: Any, /) -> Any: ...
        def __gt__(self, other: Any, /) -> Any: ...
        def __ge__(self, other: Any, /) -> Any: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __abs__(self) -> Any: ...

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
            What the operator raised, or one that it waits for.
        """
        if self.outcome is not None:
            self.outcome.evaluate()
            self.outcome = None
        return self

    @property
    def device(self) -> Device:
        """Where the data are."""
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

    def to_device(self, place: Any, force_copy: bool = False) -> Self:
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

    def cpu(self) -> Self:
        """The same data on the CPU."""
        return self.to_device("cpu")

    def gpu(self, index: int | None = None) -> Self:
        """The same data on the GPU; where there is none, operators that take them run on the CPU."""
        return self.to_device(Device("gpu", index))

    def _list(self) -> TensorListCPU:
        return (TensorListCPU if self.slot.device == "cpu" else TensorListGPU)(self.samples)

    def __hash__(self) -> int:
        return id(self)
