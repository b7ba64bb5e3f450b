"""A batch of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, overload

import numpy as np

from dali_lab.dynamic.dtypes import DType
from dali_lab.dynamic.dtypes import dtype as as_dtype
from dali_lab.dynamic.tensor import Tensor, as_tensor
from dali_lab.dynamic.values import Value
from dali_lab.model.batch import Batch as Samples
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.model.printing import list_text
from dali_lab.model.tensor_list import TensorListCPU, TensorListGPU

if TYPE_CHECKING:
    from torch import Tensor as TorchTensor


class Batch(Value):
    """Tensors of one type and one number of dimensions; made by :func:`batch`, :func:`as_batch` or an operator.

    Expressions over batches, tensors and numbers are computed sample by sample.

    Parameters
    ----------
    tensors
        Tensors or arrays, one a sample; an array or a tensor whose first dimension counts the samples; a list of
        tensors of a pipeline.
    dtype, device, layout
        As for :class:`~dali_lab.dynamic.Tensor`; `layout` is that of a sample.
    """

    _is_batch: ClassVar[bool] = True
    __array_ufunc__ = None  # so that NumPy leaves ``array + batch`` to the batch

    def __init__(self, tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None) -> None:
        made = _made(tensors, None if dtype is None else as_dtype(dtype), device, layout)
        self.slot, self.outcome = made.slot, made.outcome

    @staticmethod
    def broadcast(sample: object, batch_size: int, device: object = None, dtype: object = None) -> Batch:
        """A batch of `batch_size` samples that share the memory of one tensor."""
        one = as_tensor(sample, dtype, device)
        return Batch._holding(one.samples.take(np.zeros(batch_size, np.int64)), one.slot.device)

    @property
    def batch_size(self) -> int:
        """Number of samples."""
        return self.outcome.count if self.outcome is not None else len(self.samples)

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """Extents of each sample."""
        return [tuple(row) for row in self.samples.shapes.tolist()]

    @property
    def tensors(self) -> Tensors:
        """The samples, as a sequence of tensors."""
        return Tensors(self, range(self.batch_size))

    @property
    def slice(self) -> Slicing:
        """Index each sample: ``batch.slice[start:stop, 0]``, where bounds can be batches of integers."""
        return Slicing(self)

    def select(self, which: Any) -> Any:
        """One sample as a tensor for an integer, some of them as a batch for a slice or a list, all for ``...``."""
        if which is ...:
            return self
        return self.tensors[which].as_batch() if isinstance(which, (slice, list)) else self.tensors[which]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.tensors)

    def torch(self, copy: bool | None = None, pad: bool = False) -> TorchTensor:
        """The samples as one tensor of PyTorch.

        Parameters
        ----------
        copy
            `False` makes it an error if they have to be copied, `True` copies in any case.
        pad
            Fill samples of different shapes up with zeros.

        Raises
        ------
        ValueError
            If shapes differ and `pad` is not set, or a copy is needed and not wanted.
        """
        if copy is False and not self._list().is_dense_tensor():
            raise ValueError("the samples do not lie one after the other in memory: a copy is needed")
        return as_tensor(self, pad=pad).torch(bool(copy))

    @property
    def _batch(self) -> Samples:
        # By this external sources, dali_lab.show and others take it as they take what a pipeline gives.
        return self.samples

    @property
    def _storage(self) -> TensorListCPU:
        """The list as pipelines give it, under the name that programs find it by in NVIDIA DALI."""
        return self._list()

    def __repr__(self) -> str:
        samples = self.cpu().samples
        return list_text("Batch", samples.array, self.dtype, self.layout or "", str(self.device), self.shape)

    __hash__ = Value.__hash__


class Tensors(Sequence[Tensor]):
    """The samples of a batch; parts of it are taken without copying."""

    def __init__(self, batch: Batch, indices: Sequence[int]) -> None:
        self._batch = batch
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, which: SupportsIndex) -> Tensor: ...
    @overload
    def __getitem__(self, which: slice | list[int]) -> Tensors: ...
    @overload
    def __getitem__(self, which: EllipsisType) -> Batch: ...
    def __getitem__(self, which: Any) -> Any:
        if which is ...:
            return self.as_batch()
        if isinstance(which, slice):
            return Tensors(self._batch, self._indices[which])
        if isinstance(which, list):
            return Tensors(self._batch, [self._indices[each] for each in which])
        place = self._indices[which]
        return Tensor._holding(self._batch.samples.take(slice(place, place + 1)), self._batch.slot.device)

    def select(self, which: Any) -> Any:
        """One sample as a tensor for an integer, some of them for a slice or a list, the batch for ``...``."""
        return self[which]

    def tolist(self) -> list[Tensor]:
        """The samples in a list."""
        return list(self)

    def as_batch(self, copy: bool = False) -> Batch:
        """The samples as a batch."""
        part = self._batch.samples.take(np.array(self._indices, np.int64))
        made = Batch._holding(part, self._batch.slot.device)
        return made.to_device(made.device, force_copy=True) if copy else made


class Slicing:
    """Lets the samples of a batch be indexed."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __getitem__(self, index: object) -> Batch:
        from dali_lab.dynamic.calling import subscripted

        found: Batch = subscripted(self._batch, index)
        return found


def _made(data: Any, dtype: Any, device: Any, layout: str | None) -> Batch:
    if isinstance(data, Batch):
        made = data
    elif isinstance(data, TensorListCPU):
        made = Batch._holding(data._batch, "gpu" if isinstance(data, TensorListGPU) else "cpu")
    elif isinstance(data, Tensor) or hasattr(data, "__array__") or hasattr(data, "__dlpack__"):
        whole = as_tensor(data, dtype)
        if not whole.ndim:
            raise ValueError("a batch cannot be made of one number")
        rest = (whole.layout or "")[1:]
        made = Batch._holding(Samples.dense(np.asarray(whole.cpu()), rest), "cpu").to_device(whole.device)
    else:
        made = _of_tensors(_alike([as_tensor(each, dtype) for each in _samples(data)]), dtype)
    return made._converted(dtype, layout, device)


def _samples(data: Iterable[Any]) -> list[Any]:
    items = list(data)
    for index, each in enumerate(items):
        if each is None:
            raise TypeError(f"sample {index} of the batch is None")
    return items


def _alike(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors with the type of the first one, as far as that loses nothing."""
    if not tensors:
        return tensors
    kind = tensors[0].dtype
    if kind.kind is DType.Kind.enum:
        return tensors
    wanted = numpy_dtype(kind.element)
    return [Tensor(each, kind) if each.dtype != kind and _fits(each, wanted) else each for each in tensors]


def _fits(values: Tensor, wanted: np.dtype[Any]) -> bool:
    """Whether a tensor has the same values in another type."""
    found = np.asarray(values.cpu())
    with np.errstate(invalid="ignore", over="ignore"):
        return np.array_equal(found.astype(wanted), found, equal_nan=found.dtype.kind == "f")


def _of_tensors(tensors: list[Tensor], dtype: Any) -> Batch:
    if not tensors:
        if dtype is None:
            raise ValueError("Element type must be specified if the list is empty: give a dtype")
        return Batch._holding(Samples.empty(dtype.element))
    first = tensors[0]
    for index, each in enumerate(tensors):
        for what, own, others in (
            ("type", each.dtype, first.dtype),
            ("number of dimensions", each.ndim, first.ndim),
            ("device", each.device, first.device),
        ):
            if own != others:
                raise ValueError(f"sample {index} has another {what} ({own}) than sample 0 ({others})")
    return Batch._holding(Samples.concat([each.samples for each in tensors]), first.slot.device)


def stacked(data: Batch, pad: bool) -> Tensor:
    """The samples of a batch as one tensor, filled up with zeros to one shape if `pad` is set.

    Raises
    ------
    ValueError
        If their shapes differ and `pad` is not set.
    """
    if pad and not data.samples.is_uniform():
        from dali_lab.dynamic.calling import by_name

        data = by_name("pad", data)
    samples = data.cpu().samples
    if not samples.is_uniform():
        raise ValueError(
            f"The batch has a non-uniform shape ({data.shape}). To convert it to a tensor, `pad` argument must be"
            " ``True``, which fills samples up with zeros"
        )
    layout = "N" + samples.layout if samples.layout else ""
    return Tensor._holding(Samples.of([samples.stacked()], layout)).to_device(data.device)


def batch(tensors: object, dtype: object = None, device: object = None, layout: str | None = None) -> Batch:
    """A batch with a copy of the data; parameters are those of :class:`Batch`."""
    made = Batch(tensors, dtype, device, layout)
    return made.to_device(made.device, force_copy=True)


def as_batch(tensors: object, dtype: object = None, device: object = None, layout: str | None = None) -> Batch:
    """A batch over the memory of the data, as far as that is possible; parameters are those of :class:`Batch`."""
    if isinstance(tensors, Batch) and dtype is None and device is None and layout is None:
        return tensors
    return Batch(tensors, dtype, device, layout)
