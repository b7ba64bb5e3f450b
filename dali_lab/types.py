"""Data types, image types, interpolation, layouts and constants, under NVIDIA DALI's names and numbers."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dali_lab.data_node import DataNode


class _NamedEnum(enum.IntEnum):
    """An integer enum that prints with its class name, as NVIDIA DALI's do."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)


class DALIDataType(_NamedEnum):
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


class DALIImageType(_NamedEnum):
    """The colour space of an image."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class DALIInterpType(_NamedEnum):
    """How values between pixels are found."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5


class PipelineAPIType(_NamedEnum):
    """Which of the ways of running a pipeline is in use."""

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
_INTEGERS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
_FLOATS = (FLOAT16, FLOAT, FLOAT64)


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
    """The data type of a numpy dtype, a torch dtype, or the name of either.

    Raises
    ------
    TypeError
        If no operator can hold such elements.
    """
    if isinstance(framework_type, DALIDataType):
        return framework_type
    text = str(framework_type)
    name = text.rsplit(".", 1)[-1].rstrip("'>")
    try:
        return _FROM_NUMPY[np.dtype("bool" if name == "bool" else name)]
    except (TypeError, KeyError):
        try:
            return _FROM_NUMPY[np.dtype(framework_type)]
        except (TypeError, KeyError):
            raise TypeError(f"elements of type {framework_type!r} cannot be held in a batch") from None


def has_elements(dali_type: DALIDataType) -> bool:
    """Whether samples can be of this type: numbers, bools and enumerations are, strings and lists are not."""
    return dali_type in _TO_NUMPY


def numpy_dtype(dali_type: DALIDataType) -> np.dtype[Any]:
    """The numpy dtype of `dali_type`."""
    return _TO_NUMPY[dali_type]


class ScalarConstant:
    """A number with the data type that it counts as in expressions; made by :func:`Constant`.

    A Python ``bool`` counts as BOOL, an ``int`` as INT32 and a ``float`` as FLOAT.
    """

    def __init__(self, value: Any, dtype: DALIDataType | None = None) -> None:
        self.shape: list[int] = []
        own_type = getattr(value, "dtype", None)
        if own_type is not None:
            dtype = dtype if dtype is not None else to_dali_type(own_type)
            value = value.item()
        if isinstance(value, _NamedEnum) or not isinstance(value, (bool, int, float)):
            raise TypeError(f"a scalar constant is a bool, an int or a float, not {type(value).__name__}")
        if dtype is None:
            dtype = BOOL if isinstance(value, bool) else INT32 if isinstance(value, int) else FLOAT
        self.dtype = DALIDataType(dtype)
        if self.dtype == BOOL:
            value = bool(value)
        elif self.dtype in _INTEGERS:
            value = int(value)
        elif self.dtype in _FLOATS:
            value = float(value)
        else:
            raise TypeError(f"a scalar constant cannot be of type {self.dtype}")
        self.value: bool | int | float = value

    def _as(self, dtype: DALIDataType) -> ScalarConstant:
        return ScalarConstant(self.value, dtype)

    def bool(self) -> ScalarConstant:
        """The same value counted as BOOL."""
        return self._as(BOOL)

    def int8(self) -> ScalarConstant:
        """The same value counted as INT8."""
        return self._as(INT8)

    def int16(self) -> ScalarConstant:
        """The same value counted as INT16."""
        return self._as(INT16)

    def int32(self) -> ScalarConstant:
        """The same value counted as INT32."""
        return self._as(INT32)

    def int64(self) -> ScalarConstant:
        """The same value counted as INT64."""
        return self._as(INT64)

    def uint8(self) -> ScalarConstant:
        """The same value counted as UINT8."""
        return self._as(UINT8)

    def uint16(self) -> ScalarConstant:
        """The same value counted as UINT16."""
        return self._as(UINT16)

    def uint32(self) -> ScalarConstant:
        """The same value counted as UINT32."""
        return self._as(UINT32)

    def uint64(self) -> ScalarConstant:
        """The same value counted as UINT64."""
        return self._as(UINT64)

    def float16(self) -> ScalarConstant:
        """The same value counted as FLOAT16."""
        return self._as(FLOAT16)

    def float32(self) -> ScalarConstant:
        """The same value counted as FLOAT."""
        return self._as(FLOAT)

    def float64(self) -> ScalarConstant:
        """The same value counted as FLOAT64."""
        return self._as(FLOAT64)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, ScalarConstant):
            return self.value == other.value and self.dtype == other.dtype
        return other.__eq__(self)

    def __ne__(self, other: object) -> Any:
        if isinstance(other, ScalarConstant):
            return not self == other
        return other.__ne__(self)

    def __hash__(self) -> int:
        return hash((self.value, self.dtype))

    def __bool__(self) -> Any:
        if self.dtype in _FLOATS:
            raise TypeError("convert a floating point constant with .bool() or an integer type before branching on it")
        return self.value != 0

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return f"{self.value}:{self.dtype}"

    def __repr__(self) -> str:
        return f"{self.value}"


def Constant(  # noqa: N802  (NVIDIA DALI's name)
    value: Any,
    dtype: DALIDataType | None = None,
    shape: Any = None,
    layout: str | None = None,
    device: str | None = None,
    **kwargs: Any,
) -> ScalarConstant | DataNode:
    """A constant for use in a pipeline.

    Parameters
    ----------
    value
        A number, an enum value, a list of either, or an array.
    dtype
        Type of the elements; by default that of `value`, 64-bit types becoming 32-bit ones.
    shape
        Shape of the tensor; a single number is repeated to fill it.
    layout
        Axis names, such as ``"HWC"``.
    device
        ``"cpu"`` or ``"gpu"``; when given, the result is always a node.

    Returns
    -------
    ScalarConstant or DataNode
        A scalar with none of `shape`, `layout` and `device` gives a :class:`ScalarConstant`,
        anything else a node that yields the same tensor for each sample.
    """
    is_enum = isinstance(value, _NamedEnum) or dtype in (DATA_TYPE, IMAGE_TYPE, INTERP_TYPE)
    is_array = hasattr(value, "shape") and tuple(value.shape) != ()
    plain = (
        device is None
        and layout is None
        and not kwargs
        and (shape is None or tuple(np.atleast_1d(shape)) in ((), (1,)))
    )
    if plain and not is_enum and not is_array and not isinstance(value, (list, tuple)):
        return ScalarConstant(value, dtype)
    return ConstantNode(device, value, dtype, shape, layout, **kwargs)


def ConstantNode(  # noqa: N802  (NVIDIA DALI's name)
    device: str | None, value: Any, dtype: DALIDataType | None, shape: Any, layout: str | None, **kwargs: Any
) -> DataNode:
    """A node that yields `value` for each sample; what :func:`Constant` gives where it does not give a number."""
    from dali_lab.constants import constant_node

    return constant_node(value, dtype=dtype, shape=shape, layout=layout, device=device, **kwargs)


class SampleInfo:
    """Which sample an :func:`~dali_lab.fn.external_source` callback is asked for.

    Attributes
    ----------
    idx_in_epoch, idx_in_batch
        Position of the sample, counted from 0.
    iteration
        Batch number within the epoch.
    epoch_idx
        Epoch number.
    """

    def __init__(self, idx_in_epoch: int, idx_in_batch: int, iteration: int, epoch_idx: int) -> None:
        self.idx_in_epoch = idx_in_epoch
        self.idx_in_batch = idx_in_batch
        self.iteration = iteration
        self.epoch_idx = epoch_idx


class BatchInfo:
    """Which batch an :func:`~dali_lab.fn.external_source` callback is asked for.

    Attributes
    ----------
    iteration
        Batch number within the epoch.
    epoch_idx
        Epoch number.
    """

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx
