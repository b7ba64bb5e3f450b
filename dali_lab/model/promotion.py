"""Type promotion and broadcasting for the operands of an expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.dtypes import DALIDataType

_FLOATS = (dtypes.FLOAT16, dtypes.FLOAT, dtypes.FLOAT64)
_UNSIGNED = (dtypes.UINT8, dtypes.UINT16, dtypes.UINT32, dtypes.UINT64)
_SIGNED = (dtypes.INT8, dtypes.INT16, dtypes.INT32, dtypes.INT64)
OPERAND_LETTERS = "abc"
"""Names of the operands of an expression, which are arguments where they are constants."""


def is_float(dtype: DALIDataType) -> bool:
    """Whether elements are floating-point numbers."""
    return dtype in _FLOATS


def is_integer(dtype: DALIDataType) -> bool:
    """Whether elements are integers, bool not counted."""
    return dtype in _UNSIGNED or dtype in _SIGNED


def is_signed(dtype: DALIDataType) -> bool:
    """Whether elements are signed integers."""
    return dtype in _SIGNED


def promoted_pair(left: DALIDataType, right: DALIDataType) -> DALIDataType:
    """The type that holds both, by NVIDIA DALI's rules.

    A float beats an integer, the larger float or integer of one sign wins, a bool gives way to everything, and a
    signed integer that is not larger than the unsigned one beside it grows to the next size, up to 64 bits.
    """
    if left == right:
        return left
    floats = [dtype for dtype in (left, right) if dtype in _FLOATS]
    if floats:
        return max(floats)
    if left == dtypes.BOOL:
        return right
    if right == dtypes.BOOL:
        return left
    if (left in _SIGNED) == (right in _SIGNED):
        return max(left, right)
    signed, unsigned = (left, right) if left in _SIGNED else (right, left)
    size = max(_SIGNED.index(signed), min(_UNSIGNED.index(unsigned) + 1, len(_SIGNED) - 1))
    return _SIGNED[size]


def promoted(dtypes: Iterable[DALIDataType]) -> DALIDataType:
    """The type that holds all of these; see :func:`promoted_pair`."""
    items = list(dtypes)
    result = items[0]
    for dtype in items[1:]:
        result = promoted_pair(result, dtype)
    return result


def as_float(dtype: DALIDataType) -> DALIDataType:
    """The same type if it is a float, else FLOAT."""
    return dtype if dtype in _FLOATS else dtypes.FLOAT


def widened(shapes: npt.NDArray[np.int64], ndim: int) -> npt.NDArray[np.int64]:
    """A shape table with ones put before its columns, so that it has `ndim` of them."""
    missing = ndim - shapes.shape[1]
    if missing <= 0:
        return shapes
    return np.concatenate([np.ones((len(shapes), missing), np.int64), shapes], axis=1)


MAX_GROUPS = 6
"""Groups of neighbouring axes along which the same operands are repeated; NVIDIA DALI's limit."""


def broadcast_shapes(tables: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """The shape of each sample when operands are broadcast as in NumPy.

    Parameters
    ----------
    tables
        ``int64[N, ndim]`` for each operand; their numbers of dimensions may differ.

    Raises
    ------
    BroadcastError
        With the first sample for which extents differ.
    """
    ndim = max(table.shape[1] for table in tables)
    result = widened(tables[0], ndim)
    for operand, table in enumerate(tables[1:], 1):
        other = widened(table, ndim)
        if np.array_equal(result, other):
            continue
        clash = (result != other) & (result != 1) & (other != 1)
        if clash.any():
            sample = int(np.argwhere(clash)[0, 0])
            raise BroadcastError(sample, operand, [tuple(each[sample].tolist()) for each in tables])
        result = np.where(result == 1, other, result)
    if ndim > MAX_GROUPS:
        _check_groups([widened(table, ndim) for table in tables], result)
    return result


def _check_groups(tables: Sequence[npt.NDArray[np.int64]], result: npt.NDArray[np.int64]) -> None:
    """Raise if a sample's operands are repeated along too many groups of axes."""
    for sample, shape in enumerate(result):
        patterns = [tuple(axes) for axes in (np.stack([table[sample] for table in tables]) != shape).T[shape != 1]]
        groups = sum(index == 0 or here != patterns[index - 1] for index, here in enumerate(patterns))
        if groups > MAX_GROUPS:
            raise ValueError(
                f"Broadcasting pattern too complex. Can't operate with simplified shapes with more than {MAX_GROUPS}"
                f" groups of dimensions. Got {groups} groups. For more details see"
                " https://docs.nvidia.com/deeplearning/dali/user-guide/docs/math.html"
            )


class BroadcastError(ValueError):
    """Shapes that cannot be broadcast.

    Attributes
    ----------
    sample
        Index of the first such sample.
    operand
        The first operand that does not fit those before it.
    shapes
        The shapes of all operands in that sample.
    """

    def __init__(self, sample: int, operand: int, shapes: Sequence[tuple[int, ...]]) -> None:
        self.sample = sample
        self.operand = operand
        self.shapes = tuple(shapes)
        super().__init__(
            f"shapes {', '.join(map(str, shapes))} do not fit together: extents must be equal or 1. Resize,"
            " crop or pad to one size before. Can't broadcast shapes:\n"
            + "\n".join(_shape_text(shape, sample) for shape in shapes)
        )


def _shape_text(shape: tuple[int, ...], sample: int) -> str:
    """A shape as NVIDIA DALI's message has it."""
    return f"{' x '.join(map(str, shape))} (d={len(shape) - 1}, belonging to sample_idx={sample})"


def common_layout(layouts: Sequence[str]) -> str:
    """The longest of these layouts, each of which must be empty, equal to it or its end.

    Raises
    ------
    ValueError
        If one is not.
    """
    longest = max(layouts, key=len)
    for layout in layouts:
        if not longest.endswith(layout):
            raise ValueError(
                f"layouts {layout} and {longest} do not fit. They must be equal or one must be a suffix of the other"
            )
    return longest


def constant_dtype(value: object) -> DALIDataType:
    """The type that a bare Python number counts as."""
    return dtypes.BOOL if isinstance(value, bool) else dtypes.INT32 if isinstance(value, int) else dtypes.FLOAT
