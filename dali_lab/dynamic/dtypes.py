"""Types of elements under short names: ``float32``, ``uint8``."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.dtypes import DALIDataType, numpy_dtype, to_dali_type


class DType:
    """The type of the elements of tensors; :func:`dtype` gives the one for a name or a type of another library.

    Attributes
    ----------
    name
        Such as ``"f32"`` or ``"u8"``.
    type_id
        The :class:`~dali_lab.types.DALIDataType`; `None` for ``bfloat16``, of which there are no tensors.
    kind
        A :class:`DType.Kind`.
    bits, bytes
        Size of an element.
    exponent_bits, significand_bits
        Of floating-point numbers, without the sign; `None` for others.
    """

    make_tensor: ClassVar[Callable[..., Any]]
    """Makes tensors; :mod:`dali_lab.dynamic.tensor` sets it."""

    class Kind(Enum):
        """Kinds of numbers."""

        signed = "signed"
        unsigned = "unsigned"
        float = "float"
        bool = "bool"
        enum = "enum"

    def __init__(self, name: str, type_id: DALIDataType | None, kind: str) -> None:
        self.name = name
        self.type_id = type_id
        self.kind = DType.Kind(kind)
        self.exponent_bits: int | None
        self.significand_bits: int | None
        if type_id is None:
            self.bytes, self.bits, self.exponent_bits, self.significand_bits = 2, 16, 8, 7
            return
        number = None if kind == "enum" else numpy_dtype(type_id)
        self.bytes = 4 if number is None else number.itemsize
        self.bits = 8 * self.bytes
        real = np.finfo(number) if kind == "float" and number is not None else None
        self.exponent_bits = None if real is None else int(real.iexp)
        self.significand_bits = None if real is None else int(real.nmant)

    @property
    def element(self) -> DALIDataType:
        """The :class:`~dali_lab.types.DALIDataType` of tensors.

        Raises
        ------
        ValueError
            If there are no tensors of this type.
        """
        if self.type_id is None:
            raise ValueError(f"there are no tensors of {self.name}; float16 and float32 are floating-point types")
        return self.type_id

    def __call__(self, data: Any, **options: Any) -> Any:
        """A tensor of this type: ``float32([1, 2])``; options are those of :func:`tensor`."""
        return DType.make_tensor(data, dtype=self, **options)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        real = f", exponent_bits={self.exponent_bits}, significand_bits={self.significand_bits}"
        return f"DType(kind={self.kind}, bits={self.bits}{'' if self.exponent_bits is None else real})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DType) and self.type_id == other.type_id

    def __hash__(self) -> int:
        return hash(self.type_id)


int8 = DType("i8", dtypes.INT8, "signed")
int16 = DType("i16", dtypes.INT16, "signed")
int32 = DType("i32", dtypes.INT32, "signed")
int64 = DType("i64", dtypes.INT64, "signed")
uint8 = DType("u8", dtypes.UINT8, "unsigned")
uint16 = DType("u16", dtypes.UINT16, "unsigned")
uint32 = DType("u32", dtypes.UINT32, "unsigned")
uint64 = DType("u64", dtypes.UINT64, "unsigned")
float16 = DType("f16", dtypes.FLOAT16, "float")
float32 = DType("f32", dtypes.FLOAT, "float")
float64 = DType("f64", dtypes.FLOAT64, "float")
bfloat16 = DType("bfloat16", None, "float")
bool_ = DType("bool", dtypes.BOOL, "bool")
DataType = DType("DataType", dtypes.DATA_TYPE, "enum")
ImageType = DType("ImageType", dtypes.IMAGE_TYPE, "enum")
InterpType = DType("InterpType", dtypes.INTERP_TYPE, "enum")

DTYPES_OF_ENUMS: dict[type, DType] = {
    dtypes.DALIDataType: DataType,
    dtypes.DALIImageType: ImageType,
    dtypes.DALIInterpType: InterpType,
}
"""Types of tensors of members of enumerations."""

_ALL = [int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, bfloat16, bool_]
_ALL += [DataType, ImageType, InterpType]
_BY_TYPE = {each.type_id: each for each in _ALL if each.type_id is not None}
_BY_NAME = {each.name: each for each in _ALL}


def dtype(kind: Any) -> DType:
    """The type for a :class:`DType`, a :class:`~dali_lab.types.DALIDataType`, a short name or another library's type.

    Raises
    ------
    ValueError
        If there is none.
    """
    if isinstance(kind, DType):
        return kind
    if kind is float:
        return float32
    if isinstance(kind, str) and kind in _BY_NAME:
        return _BY_NAME[kind]
    wanted = kind
    if not isinstance(kind, DALIDataType):
        # A type of torch or jax has the name of NumPy's.
        plain = str(kind).removeprefix("torch.") if type(kind).__module__.startswith("torch") else kind
        try:
            wanted = to_dali_type(np.dtype(plain))
        except TypeError as error:
            raise ValueError(f"Unsupported type name: {kind}; there are {', '.join(_BY_NAME)}") from error
    if wanted not in _BY_TYPE:
        raise ValueError(f"Unsupported type name: {kind}; there are {', '.join(_BY_NAME)}")
    return _BY_TYPE[wanted]


def type_id(kind: object) -> DALIDataType:
    """The :class:`~dali_lab.types.DALIDataType` of a :class:`DType` or anything that :func:`dtype` takes."""
    return dtype(kind).element


def numbers_from(data: object, kind: DType | None = None) -> npt.NDArray[Any]:
    """Numbers of Python, single or in nested lists, as an array.

    Parameters
    ----------
    kind
        Type of the elements; by default INT32, or UINT32 where that does not hold them, for integers, and FLOAT for
        others.

    Raises
    ------
    ValueError
        If they are no numbers, or lists of different lengths.
    OverflowError
        If integers need more than 32 bits, which a `kind` has to say.
    """
    if kind is not None:
        return np.array(data, np.int32 if kind.kind is DType.Kind.enum else numpy_dtype(kind.element))
    array = np.array(data)
    if array.dtype == np.float64 or (array.dtype == object and not array.size):
        return array.astype(np.float32)
    if (array.dtype.kind in "iu" and array.itemsize == 8) or (array.dtype == object and _are_integers(array)):
        least, most = (int(array.min()), int(array.max())) if array.size else (0, 0)
        fitting = np.iinfo(np.uint32 if least >= 0 and most >> 31 else np.int32)
        if least < fitting.min or most > fitting.max:
            raise OverflowError(f"{least if least < fitting.min else most} is out of the range of {fitting.dtype}")
        return array.astype(fitting.dtype)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"cannot make a tensor of {data!r}")
    return array


def _are_integers(array: npt.NDArray[Any]) -> bool:
    return bool(array.size) and all(type(each) is int for each in array.flat)
