"""Arrays of other libraries, taken in without copying, and batches handed out to them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, to_dali_type
from dali_lab.model.errors import DaliLabError

Array = npt.NDArray[Any]


class _Capsule:
    """A bare DLPack capsule in the form that numpy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class _Writable:
    """The memory of an array, which it keeps, for an array that may write to it."""

    def __init__(self, array: Array) -> None:
        self._array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def from_capsule(capsule: object) -> Array:
    """An array over the memory of a bare DLPack capsule, which is used up.

    NumPy takes the memory of a capsule that has no place for a mark of read-only memory to be such; DLPack leaves it
    to its consumer.
    """
    return np.asarray(_Writable(np.from_dlpack(_Capsule(capsule))))


def is_array_like(value: object) -> bool:
    """Whether :func:`array_of` may take `value`."""
    if isinstance(value, (np.ndarray, np.generic, bytes, bytearray, memoryview)):
        return True
    if type(value).__name__ == "PyCapsule":
        return True
    return any(hasattr(value, name) for name in ("__array_interface__", "__dlpack__", "__array__"))


def array_of(value: object) -> Array:
    """An array over the memory of a numpy array, a buffer, a DLPack object or capsule, or what has ``__array__``.

    Raises
    ------
    TypeError
        If it is none of these.
    DaliLabError
        If its elements do not lie densely in memory.
    """
    if not is_array_like(value):
        raise TypeError(f"a tensor is made from an array, a buffer or a DLPack object, not from {type(value).__name__}")
    if isinstance(value, (bytes, bytearray, memoryview)):
        array: Array = np.frombuffer(value, np.uint8) if not isinstance(value, memoryview) else np.asarray(value)
    elif type(value).__name__ == "PyCapsule":
        array = from_capsule(value)
    elif isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array_interface__"):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__") and _is_on_cpu(value):
        array = np.from_dlpack(value)
    else:
        array = np.asarray(value)
    if not array.flags.c_contiguous:
        raise DaliLabError(
            f"elements must lie densely in memory, in row-major order: shape {array.shape} has strides {array.strides};"
            " use np.ascontiguousarray"
        )
    if array.dtype.byteorder == ">":
        raise DaliLabError("elements must be in the byte order of the machine")
    element_type(array)
    return array


def _is_on_cpu(value: object) -> bool:
    device = value.__dlpack_device__() if hasattr(value, "__dlpack_device__") else (1, 0)
    return int(device[0]) in (1, 3, 11)


def element_type(array: Array) -> DALIDataType:
    """The type of an array's elements.

    Raises
    ------
    DaliLabError
        If a tensor cannot hold them.
    """
    try:
        return to_dali_type(array.dtype)
    except TypeError as error:
        raise DaliLabError(str(error)) from None


def address_of(target: Any) -> int:
    """The address that an integer, a ``ctypes`` pointer or an array stands for.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(target, bool):
        raise TypeError("an address is a number or a ctypes pointer, not a bool")
    if isinstance(target, int):
        return target
    if isinstance(target, ctypes.c_void_p):
        return int(target.value or 0)
    if isinstance(target, ctypes._Pointer):
        return int(ctypes.cast(target, ctypes.c_void_p).value or 0)
    if isinstance(target, np.ndarray):
        return int(target.ctypes.data)
    if callable(getattr(target, "data_ptr", None)):
        return int(target.data_ptr())
    raise TypeError(f"an address is a number, a ctypes pointer or an array, not {type(target).__name__}")


def copy_out(batch: Batch, target: object) -> None:
    """Copy all samples, one after the other, to an address in CPU memory.

    Raises
    ------
    ValueError
        If the address is 0, and there is something to copy.
    """
    address = address_of(target)
    if not address and batch.sizes.any():
        raise ValueError("the elements are to be copied to the address 0, where no memory is")
    for source, size in zip(batch.addresses.tolist(), (batch.sizes * batch.itemsize).tolist(), strict=True):
        if size:
            ctypes.memmove(address, source, size)
        address += size
