"""Constants with an explicit data type, for expressions."""

from __future__ import annotations

from typing import Any

from dali_lab.model.dtypes import (
    BOOL,
    FLOAT,
    FLOAT16,
    FLOAT64,
    FLOATS,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGERS,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DALIDataType,
    NamedEnum,
    to_dali_type,
)


class ScalarConstant:
    """A constant with its data type in expressions; made by :func:`Constant`.

    A Python ``bool`` counts as BOOL, an ``int`` as INT32 and a ``float`` as FLOAT.
    """

    def __init__(self, value: Any, dtype: DALIDataType | None = None) -> None:
        self.shape: list[int] = []
        own_type = getattr(value, "dtype", None)
        if own_type is not None:
            dtype = dtype if dtype is not None else to_dali_type(own_type)
            value = value.item()
        if isinstance(value, NamedEnum) or not isinstance(value, (bool, int, float)):
            found = f"{type(value).__module__}.{type(value).__qualname__}"
            raise TypeError(f"Expected scalar value of type 'bool', 'int' or 'float', got {found}")
        if dtype is None:
            dtype = BOOL if isinstance(value, bool) else INT32 if isinstance(value, int) else FLOAT
        self.dtype = DALIDataType(dtype)
        if self.dtype == BOOL:
            value = bool(value)
        elif self.dtype in INTEGERS:
            value = int(value)
        elif self.dtype in FLOATS:
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
        if self.dtype in FLOATS:
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
