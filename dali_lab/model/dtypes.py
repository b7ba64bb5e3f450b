"""Data types, image types, interpolation and layouts, with NVIDIA DALI's names and numbers."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import numpy as np


class NamedEnum(enum.IntEnum):
    """An integer enum that prints with its class name, as NVIDIA DALI's do."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)


class DALIDataType(NamedEnum):
    """The type of an element, or of an argument."""

    NO_TYPE = -1
    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    UINT64 = 3
    INT8 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    FLOAT16 = 8
    FLOAT = 9
    FLOAT64 = 10
    BOOL = 11
    STRING = 12
    _BOOL_VEC = 13
    _INT32_VEC = 14
    _STRING_VEC = 15
    _FLOAT_VEC = 16
    FEATURE = 17
    _FEATURE_VEC = 18
    _FEATURE_DICT = 19
    IMAGE_TYPE = 20
    DATA_TYPE = 21
    INTERP_TYPE = 22
    TENSOR_LAYOUT = 23
    PYTHON_OBJECT = 24
    _TENSOR_LAYOUT_VEC = 25
    _DATA_TYPE_VEC = 26
    _INT64_VEC = 27

    def __call__(self) -> str:
        """The character of the buffer protocol, for ``tensor.dtype()`` in programs for NVIDIA DALI's first releases.

        Warns
        -----
        DeprecationWarning
            Always: ``tensor.dtype`` is the type.
        """
        warnings.warn("Calling '.dtype()' is deprecated, please use '.dtype' instead", DeprecationWarning, stacklevel=2)
        return "=" + _TO_NUMPY[self].char.translate({ord("l"): "q", ord("L"): "Q"})


class DALIImageType(NamedEnum):
    """The colour space of an image."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class DALIInterpType(NamedEnum):
    """Interpolation between pixels."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5


class PipelineAPIType(NamedEnum):
    """The API by which a pipeline is run."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


class TensorLayout(str):
    """A string of axis names, such as ``"HWC"``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"dali_lab.types.TensorLayout({str.__repr__(self)})"


class CUDAStream:
    """A raw CUDA stream pointer, for handing a stream of another library over."""

    def __init__(self, ptr: int = 0) -> None:
        self._ptr = ptr

    @property
    def ptr(self) -> int:
        """The stream's address as an integer."""
        return self._ptr


NO_TYPE = DALIDataType.NO_TYPE
UINT8 = DALIDataType.UINT8
UINT16 = DALIDataType.UINT16
UINT32 = DALIDataType.UINT32
UINT64 = DALIDataType.UINT64
INT8 = DALIDataType.INT8
INT16 = DALIDataType.INT16
INT32 = DALIDataType.INT32
INT64 = DALIDataType.INT64
FLOAT16 = DALIDataType.FLOAT16
FLOAT = DALIDataType.FLOAT
FLOAT64 = DALIDataType.FLOAT64
BOOL = DALIDataType.BOOL
STRING = DALIDataType.STRING
FEATURE = DALIDataType.FEATURE
IMAGE_TYPE = DALIDataType.IMAGE_TYPE
DATA_TYPE = DALIDataType.DATA_TYPE
INTERP_TYPE = DALIDataType.INTERP_TYPE
TENSOR_LAYOUT = DALIDataType.TENSOR_LAYOUT
PYTHON_OBJECT = DALIDataType.PYTHON_OBJECT

RGB = DALIImageType.RGB
BGR = DALIImageType.BGR
GRAY = DALIImageType.GRAY
YCbCr = DALIImageType.YCbCr
ANY_DATA = DALIImageType.ANY_DATA

INTERP_NN = DALIInterpType.INTERP_NN
INTERP_LINEAR = DALIInterpType.INTERP_LINEAR
INTERP_CUBIC = DALIInterpType.INTERP_CUBIC
INTERP_LANCZOS3 = DALIInterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR = DALIInterpType.INTERP_TRIANGULAR
INTERP_GAUSSIAN = DALIInterpType.INTERP_GAUSSIAN

NCHW = "CHW"
NHWC = "HWC"
NFHWC = "FHWC"
NFCHW = "FCHW"
SAME = ""
CPU_ONLY_DEVICE_ID = -99999

_TO_NUMPY: dict[DALIDataType, np.dtype[Any]] = {
    UINT8: np.dtype(np.uint8),
    UINT16: np.dtype(np.uint16),
    UINT32: np.dtype(np.uint32),
    UINT64: np.dtype(np.uint64),
    INT8: np.dtype(np.int8),
    INT16: np.dtype(np.int16),
    INT32: np.dtype(np.int32),
    INT64: np.dtype(np.int64),
    FLOAT16: np.dtype(np.float16),
    FLOAT: np.dtype(np.float32),
    FLOAT64: np.dtype(np.float64),
    BOOL: np.dtype(np.bool_),
    IMAGE_TYPE: np.dtype(np.int32),
    DATA_TYPE: np.dtype(np.int32),
    INTERP_TYPE: np.dtype(np.int32),
}
_FROM_NUMPY: dict[np.dtype[Any], DALIDataType] = {
    numpy_type: dali_type for dali_type, numpy_type in _TO_NUMPY.items() if dali_type <= BOOL
}
INTEGERS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
FLOATS = (FLOAT16, FLOAT, FLOAT64)


def to_numpy_type(dali_type: DALIDataType) -> type[np.generic]:
    """The numpy scalar type of the same width and kind.

    Raises
    ------
    TypeError
        If numpy has no such type.
    """
    try:
        return _TO_NUMPY[DALIDataType(dali_type)].type
    except KeyError:
        raise TypeError(f"{dali_type} has no numpy equivalent") from None


def to_dali_type(framework_type: Any) -> DALIDataType:
    """The data type of a numpy dtype, a torch dtype, the name of either, or a type of dynamic mode.

    Raises
    ------
    TypeError
        If no operator can hold such elements.
    """
    own = getattr(framework_type, "type_id", framework_type)  # of dynamic mode, whose "u8" is numpy's name for 64 bits
    if isinstance(own, DALIDataType):
        return own
    text = str(framework_type)
    name = text.rsplit(".", 1)[-1].rstrip("'>")
    try:
        return _FROM_NUMPY[np.dtype("bool" if name == "bool" else name)]
    except (TypeError, KeyError):
        try:
            return _FROM_NUMPY[np.dtype(framework_type)]
        except (TypeError, KeyError):
            raise TypeError(f"elements of type {framework_type!r} cannot be held in a batch") from None


def name_in_messages(dali_type: DALIDataType) -> str:
    """The name of a type in NVIDIA DALI's error messages, which is that of C++."""
    return "double" if dali_type == DALIDataType.FLOAT64 else dali_type.name.lower()


def has_elements(dali_type: DALIDataType) -> bool:
    """Whether samples can be of this type: numbers, bools and enumerations are, strings and lists are not."""
    return dali_type in _TO_NUMPY


def numpy_dtype(dali_type: DALIDataType) -> np.dtype[Any]:
    """The numpy dtype of `dali_type`."""
    return _TO_NUMPY[dali_type]
