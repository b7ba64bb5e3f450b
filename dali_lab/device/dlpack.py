"""Arrays in device memory that support only DLPack: capsules are read without the library that made them."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

from dali_lab.model.errors import OperatorError

ON_DEVICE = (2, 13)
"""DLPack's numbers for memory of a CUDA device, plain and managed."""

_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_NAMES = (b"dltensor", b"dltensor_versioned")
_USED = (b"used_dltensor", b"used_dltensor_versioned")


class _Place(ctypes.Structure):
    _fields_: ClassVar = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Element(ctypes.Structure):
    _fields_: ClassVar = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("place", _Place),
        ("ndim", ctypes.c_int32),
        ("element", _Element),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_: ClassVar = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_: ClassVar = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_FORMS = (_Managed, _Versioned)


def _capsules() -> tuple[Any, Any, Any]:
    api = ctypes.pythonapi
    valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", api))
    return valid, pointer, rename


_is_valid, _pointer_of, _rename = _capsules()


class DeviceArray:
    """An array that was taken over from a DLPack capsule; its memory goes back when this is dropped.

    Parameters
    ----------
    capsule
        Not used by anybody yet.

    Attributes
    ----------
    __cuda_array_interface__
        Its shape, type and address (version 2: no stream).

    Raises
    ------
    OperatorError
        If the capsule was used before, or its elements are no numbers.
    """

    def __init__(self, capsule: Any) -> None:
        self._managed: Any = None
        form = next((k for k, name in enumerate(_NAMES) if _is_valid(capsule, name)), None)
        if form is None:
            raise OperatorError("a DLPack capsule can be taken once, and this one was taken before")
        address = _pointer_of(capsule, _NAMES[form])
        managed = ctypes.cast(address, ctypes.POINTER(_FORMS[form])).contents
        if form and managed.major > 1:
            raise OperatorError(f"takes DLPack up to version 1, got {managed.major}.{managed.minor}")
        _rename(capsule, _USED[form])
        self._managed, self._address = managed, address
        self.__cuda_array_interface__ = _interface(managed.tensor)

    def __del__(self) -> None:
        managed, self._managed = self._managed, None
        if managed is not None and managed.deleter:
            managed.deleter(self._address)


def _interface(tensor: _Tensor) -> dict[str, Any]:
    element = tensor.element
    kind = _KINDS.get(element.code)
    if kind is None or element.bits % 8 or element.lanes != 1:
        raise OperatorError(f"takes arrays of numbers, got DLPack's type {element.code} of {element.bits} bits")
    size = element.bits // 8
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] * size for axis in range(tensor.ndim)) if tensor.strides else None
    return {
        "version": 2,
        "shape": shape,
        "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
        "data": ((tensor.data or 0) + tensor.offset, False),
        "strides": strides,
    }


def takes(item: object, index: int | None = None) -> bool:
    """Whether an object can be taken over: it supports DLPack, and its memory is on a device, or on a certain one."""
    if is_capsule(item):
        tensor = _tensor_in(item)
        place = (0, 0) if tensor is None else (tensor.place.kind, tensor.place.index)
    elif hasattr(item, "__dlpack__") and hasattr(item, "__dlpack_device__"):
        place = item.__dlpack_device__()
    else:
        return False
    return int(place[0]) in ON_DEVICE and index in (None, int(place[1]))


def is_unused_capsule(item: object) -> bool:
    """Whether an object is a bare capsule that nobody has taken over."""
    return is_capsule(item) and any(_is_valid(item, name) for name in _NAMES)


def is_capsule(item: object) -> bool:
    """Whether an object is a bare capsule."""
    return type(item).__name__ == "PyCapsule"


def interface_of(capsule: object) -> dict[str, Any] | None:
    """The array interface of a bare capsule, which is not consumed; `None` if it was consumed before."""
    tensor = _tensor_in(capsule)
    return None if tensor is None else _interface(tensor)


def taken(item: Any, stream: int) -> DeviceArray:
    """Take over an object for which :func:`takes` says so, for later work of a stream, given by its handle.

    An object lets the stream wait for what makes it. A bare capsule cannot: it must be complete, or on a stream that is
    waited for otherwise.
    """
    return DeviceArray(item if is_capsule(item) else item.__dlpack__(stream=stream))


def _tensor_in(capsule: object) -> _Tensor | None:
    for name, form in zip(_NAMES, _FORMS, strict=True):
        if _is_valid(capsule, name):
            tensor: _Tensor = ctypes.cast(_pointer_of(capsule, name), ctypes.POINTER(form)).contents.tensor
            return tensor
    return None
