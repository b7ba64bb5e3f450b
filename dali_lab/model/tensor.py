"""One tensor as people see it: a sample of a list, or a wrapped array."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.device.transfer import download
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype
from dali_lab.model.errors import DaliLabError, DeviceError
from dali_lab.model.foreign import address_of, array_of, copy_out
from dali_lab.model.printing import tensor_text

Array = npt.NDArray[Any]


def checked_layout(layout: str | None, ndim: int, kind: str) -> str:
    """The layout, if it is empty or has a letter for each dimension; otherwise raises :class:`ValueError`."""
    if layout and len(layout) != ndim:
        raise ValueError(f"the layout '{layout}' has {len(layout)} letters, the {kind} has {ndim} dimensions")
    return layout or ""


class OverBatch:
    """Base of tensors and lists: the parts that tell of the samples' type and layout."""

    _device: ClassVar[str] = "cpu"
    _kind: ClassVar[str]
    _batch: Batch

    def _own(self) -> Batch:
        """The samples as a batch of their own."""
        return self._batch

    def _replace(self, batch: Batch) -> None:
        self._batch = batch

    def ndim(self) -> int:
        """Number of dimensions of a sample."""
        return self._batch.ndim

    @property
    def dtype(self) -> DALIDataType:
        """Type of an element."""
        return self._batch.dtype

    def layout(self) -> str:
        """Axis names of a sample, or an empty string."""
        return self._batch.layout

    def set_layout(self, layout: str | None) -> None:
        """Name the axes anew; `None` takes the names away.

        Raises
        ------
        ValueError
            If there are not as many letters as dimensions.
        """
        self._replace(self._own().replaced(layout=checked_layout(layout, self.ndim(), self._kind)))

    def reinterpret(self, new_type: DALIDataType) -> None:
        """See the elements as another type of the same size.

        Raises
        ------
        DaliLabError
            If the size differs.
        """
        if numpy_dtype(new_type).itemsize != self._batch.itemsize:
            raise DaliLabError(f"elements of {self.dtype.name} cannot be seen as {new_type.name}: a different size")
        self._replace(self._own().replaced(dtype=new_type))

    def _set_stream(self, stream: object) -> None:
        """CPU memory belongs to no stream."""


class TensorCPU(OverBatch):
    """One tensor: a sample of a list, over the same memory, or a wrapped array.

    Parameters
    ----------
    object
        A dense array, a buffer, a DLPack object or capsule; its memory is shared, not copied.
    layout
        Axis names, one letter for each dimension.
    is_pinned
        Has no effect on the CPU.
    """

    _kind = "tensor"

    def __init__(self, object: Any, layout: str | None = None, is_pinned: bool = False) -> None:  # noqa: A002
        array = array_of(object)
        self._batch = Batch.of([array], checked_layout(layout, array.ndim, "tensor"))
        self._index = 0

    @classmethod
    def _of(cls, batch: Batch, index: int) -> TensorCPU:
        tensor = cls.__new__(cls)
        tensor._batch = batch
        tensor._index = index
        return tensor

    def _own(self) -> Batch:
        """The tensor as a batch of one sample, which can be changed without changing the list it came from."""
        return self._batch.take(slice(self._index, self._index + 1))

    def _replace(self, batch: Batch) -> None:
        self._batch, self._index = batch, 0

    def _array(self) -> Array:
        return self._batch.array(self._index)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self._array()
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory as NumPy sees it."""
        return self._array().__array_interface__

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """The tensor as a DLPack capsule that shares its memory."""
        return self._array().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU, in DLPack's numbers."""
        return (1, 0)

    def __repr__(self) -> str:
        return tensor_text(type(self).__name__, None, self.dtype, self.layout(), self._device, self.shape())

    def __str__(self) -> str:
        return tensor_text(type(self).__name__, self._array(), self.dtype, self.layout(), self._device, self.shape())

    def shape(self) -> list[int]:
        """Extents."""
        return [int(extent) for extent in self._batch.shapes[self._index]]

    def source_info(self) -> str:
        """The file (or other origin) of the sample, or an empty string."""
        sources = self._batch.sources
        return sources[self._index] if sources is not None else ""

    def get_property(self, name: str) -> Any:
        """``"layout"`` or ``"source_info"``; `None` where it is not set, and for other names."""
        known = {"layout": self.layout(), "source_info": self.source_info()}
        return known.get(name) or None

    def data_ptr(self) -> int:
        """Address of the first element."""
        return int(self._batch.addresses[self._index])

    def copy_to_external(self, ptr: object, *args: Any, **options: Any) -> None:
        """Copy the elements to an address in CPU memory (an integer, a ``ctypes`` pointer, an array)."""
        copy_out(self._own(), ptr)

    def as_cpu(self) -> TensorCPU:
        """The tensor on the CPU."""
        return self

    def squeeze(self, dim: int | None = None) -> bool:
        """Remove axes of one element: all of them, or the one given.

        Returns
        -------
        bool
            Whether the shape changed.

        Raises
        ------
        DaliLabError
            If there is no such axis.
        """
        shape, layout = self.shape(), self.layout()
        if dim is not None and not -len(shape) <= dim < len(shape):
            raise DaliLabError(f"{dim} is not an axis of {len(shape)} dimensions")
        removed = [
            axis for axis, extent in enumerate(shape) if extent == 1 and (dim is None or axis == dim % len(shape))
        ]
        if not removed:
            return False
        kept = [axis for axis in range(len(shape)) if axis not in removed]
        own = self._own()
        self._replace(
            own.replaced(shapes=own.shapes[:, kept], layout="".join(layout[axis] for axis in kept) if layout else "")
        )
        return True

    def _as_gpu(self) -> TensorGPU:
        gpu = TensorGPU._of(self._batch, self._index)
        assert isinstance(gpu, TensorGPU)
        return gpu

    def _make_copy(self) -> TensorCPU:
        return type(self)(self._array().copy(), self.layout())


class TensorGPU(TensorCPU):
    """A tensor that was placed on the GPU; where there is none, its memory is the CPU's."""

    _device = "gpu"

    def as_cpu(self) -> TensorCPU:
        """The tensor on the CPU: a copy, once the GPU has made it."""
        if self._batch.device is not None:
            return TensorCPU._of(download(self._own()), 0)
        return TensorCPU._of(self._batch, self._index)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The memory on the GPU, for other libraries, which wait for the stream that it names.

        Keep the tensor until their work has run: unlike DLPack, this protocol does not tell when that is.

        Raises
        ------
        AttributeError
            Where the memory is the CPU's, so that ``hasattr`` and other libraries see a CPU array.
        """
        from dali_lab.device.sharing import array_interface

        try:
            return array_interface(self._batch, self._index)
        except DeviceError as error:
            raise AttributeError(str(error)) from error

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """The tensor as a DLPack capsule that shares its memory, ready for work on the consumer's stream.

        Raises
        ------
        BufferError
            If it is wanted on the CPU without a copy.
        """
        device = self._batch.device
        if device is None or device.kind != "cuda":
            return self.as_cpu().__dlpack__(**options)
        if options.get("dl_device") == (1, 0):
            if options.get("copy") is False:
                raise BufferError("memory of the GPU is not the CPU's: it takes a copy")
            return self.as_cpu().__dlpack__(max_version=options.get("max_version"))
        from dali_lab.device.sharing import dlpack

        return dlpack(self._batch, self._index, stream, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The GPU, in DLPack's numbers; the CPU where the memory is the CPU's or that of an emulated device."""
        device = self._batch.device
        return (2, device.index) if device is not None and device.kind == "cuda" else (1, 0)

    def _array(self) -> Array:
        return self.as_cpu()._array() if self._batch.device is not None else super()._array()

    def copy_to_external(
        self, ptr: object, cuda_stream: object = None, non_blocking: bool = False, use_copy_kernel: bool = False
    ) -> None:
        """Copy the elements to memory of the GPU, in the order of a stream (the default one if none is given).

        Parameters
        ----------
        ptr
            An address (an integer, a ``ctypes`` pointer) or an array.
        cuda_stream
            A handle (an integer, a ``ctypes.c_void_p``) or a stream of another library.
        non_blocking
            Return at once; otherwise the copy is complete.
        use_copy_kernel
            Makes no difference.
        """
        copy_to_gpu(self._own(), ptr, cuda_stream, non_blocking)


def copy_to_gpu(batch: Batch, target: object, cuda_stream: object, non_blocking: bool) -> None:
    """Copy a batch to an address, of the GPU if the batch is there."""
    if batch.device is None or batch.device.kind != "cuda":
        copy_out(download(batch), target)
        return
    from dali_lab.device.sharing import copy_to_device_memory

    interface = getattr(target, "__cuda_array_interface__", None)
    address = interface["data"][0] if interface is not None else address_of(target)
    copy_to_device_memory(batch, int(address), cuda_stream, wait=not non_blocking)
