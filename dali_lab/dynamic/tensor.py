"""One tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.dynamic.dtypes import DTYPES_OF_ENUMS, DType, bool_, numbers_from
from dali_lab.dynamic.dtypes import dtype as as_dtype
from dali_lab.dynamic.values import Value
from dali_lab.model.batch import Batch as Samples
from dali_lab.model.extras import importing
from dali_lab.model.incoming import to_array
from dali_lab.model.printing import tensor_text
from dali_lab.model.tensor_list import TensorCPU, TensorGPU

if TYPE_CHECKING:
    from torch import Tensor as TorchTensor


class Tensor(Value):
    """A tensor: data, or the result of a call; made by :func:`tensor`, :func:`as_tensor` or an operator.

    Expressions over tensors and numbers are computed as those over nodes of a pipeline are, and so are indices.

    Parameters
    ----------
    data
        A number, a (nested) list of numbers, an array of any library, or another tensor.
    dtype
        Type of the elements; by default that of the data: INT32, UINT32 where that is needed, or FLOAT for numbers of
        Python.
    device
        Where it is to be; by default where the data are.
    layout
        One letter for each dimension.
    copy
        Copy the data, so that their owner may change them.
    """

    def __init__(
        self, data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, copy: bool = False
    ) -> None:
        made = _made(data, None if dtype is None else as_dtype(dtype), device, layout)
        if copy and made.slot.batch is not None:
            made = made.to_device(made.device, force_copy=True)
        self.slot, self.outcome = made.slot, made.outcome

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return tuple(self.samples.shapes[0].tolist())

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.samples.sizes[0])

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.samples.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def item(self) -> Any:
        """The only element, as a number of Python.

        Raises
        ------
        ValueError
            If there is another number of elements.
        """
        if self.size != 1:
            raise ValueError(f"Tensor has {self.size} elements, expected 1")
        return np.asarray(self.cpu()).item()

    def torch(self, copy: bool = False) -> TorchTensor:
        """A tensor of PyTorch over the same memory, or a copy."""
        with importing("torch", "'dali-lab[torch]'"):
            import torch.utils.dlpack

        found = torch.utils.dlpack.from_dlpack(self._tensor())
        return found.clone() if copy else found

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if self.slot.device != "cpu":
            raise TypeError("the tensor is on the GPU; cpu() gives it on the CPU")
        return self._tensor().__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor().__dlpack_device__()

    def __getitem__(self, index: object) -> Tensor:
        """A part of it: integers, slices, ``...`` and tensors of one integer; bounds beyond the end are cut."""
        from dali_lab.dynamic.calling import subscripted

        found: Tensor = subscripted(self, index)
        return found

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self)))

    def __bool__(self) -> bool:
        """Whether its element is not zero; of truth values, as comparisons give them, whether all are true."""
        return bool(np.all(np.asarray(self.cpu()))) if self.dtype == bool_ else bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if not np.issubdtype(np.asarray(self.cpu()).dtype, np.integer):
            raise TypeError("only tensors of one integer can be an index")
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        samples = self.cpu().samples
        text = samples.array(0)
        return tensor_text("Tensor", text, self.dtype, self.layout or "", str(self.device), self.shape)

    __hash__ = Value.__hash__

    @property
    def _storage(self) -> TensorCPU:
        """The tensor as pipelines give it, under the name that programs find it by in NVIDIA DALI."""
        return self._tensor()

    def _tensor(self) -> TensorCPU:
        return (TensorCPU if self.slot.device == "cpu" else TensorGPU)._of(self.samples, 0)


def _made(data: Any, dtype: Any, device: Any, layout: str | None) -> Tensor:
    if isinstance(data, Tensor):
        made = data
    elif isinstance(data, TensorCPU):
        made = Tensor._holding(data._own(), "gpu" if isinstance(data, TensorGPU) else "cpu")
    else:
        dtype = dtype or DTYPES_OF_ENUMS.get(type(data))
        array = numbers_from(data, dtype) if _is_plain(data) else to_array(data)
        letters = layout if layout is not None and len(layout) == array.ndim else ""
        made = Tensor._holding(Samples.of([array], letters))
        if dtype is not None and dtype.kind is DType.Kind.enum:
            made = Tensor._holding(made.samples.replaced(dtype=dtype.element))
    return made._converted(dtype, layout, device)


def _is_plain(data: object) -> bool:
    return isinstance(data, (bool, int, float, list, tuple, range)) or not (hasattr(data, "__len__") or _is_array(data))


def _is_array(data: object) -> bool:
    return any(hasattr(data, name) for name in ("__array__", "__dlpack__", "__cuda_array_interface__"))


def tensor(
    data: object, dtype: object = None, device: object = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """A tensor with a copy of the data.

    Parameters
    ----------
    data
        As for :class:`Tensor`, or a batch, whose samples become the first dimension.
    pad
        Fill the samples of a batch up with zeros to one shape.
    """
    from dali_lab.dynamic.batch import Batch, stacked

    if isinstance(data, Batch):
        return Tensor(stacked(data, pad), dtype, device, layout)
    return Tensor(data, dtype, device, layout, copy=True)


def as_tensor(
    data: object, dtype: object = None, device: object = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """A tensor over the memory of the data, as far as that is possible; parameters are those of :func:`tensor`."""
    from dali_lab.dynamic.batch import Batch, stacked

    if isinstance(data, Batch):
        return Tensor(stacked(data, pad), dtype, device, layout)
    if isinstance(data, Tensor) and dtype is None and device is None and layout is None:
        return data
    return Tensor(data, dtype, device, layout)


DType.make_tensor = staticmethod(tensor)
