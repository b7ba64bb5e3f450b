"""The header of a NumPy file: type, shape, order and offset of the array."""

from __future__ import annotations

import ast
import math
import re
import struct
import threading
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.model.dtypes import DALIDataType, numpy_dtype, to_dali_type

MAGIC = b"\x93NUMPY"
START = 12
"""Bytes that hold the magic, the version and the length of the header, whatever the version."""
HEAD = 256
"""Bytes of a header that are looked at at once; a longer one, which is rare, is read by itself."""

_MOST_ELEMENTS = 1 << 56
_EXTENT = r"(?:0|[1-9]\d{0,17})"
_USUAL = re.compile(
    r"\{'descr': '([^'\\]*)', 'fortran_order': (True|False), "
    rf"'shape': \(((?:{_EXTENT},(?: ?{_EXTENT},)*(?: ?{_EXTENT})?)?)\), ?\}}"
)
"""A header as NumPy writes it."""
_EVALUATING = threading.Lock()
"""Held while others are evaluated: in CPython 3.11, `ast` fails at times where several threads use it."""


class NumpyHeader(NamedTuple):
    """The header of a NumPy file.

    Attributes
    ----------
    dtype, shape
        Of the array.
    fortran_order
        The first axis varies fastest.
    offset
        Where the elements begin.
    """

    dtype: DALIDataType
    shape: tuple[int, ...]
    fortran_order: bool
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * numpy_dtype(self.dtype).itemsize


def header_length(start: bytes) -> int:
    """Bytes up to the elements, from the first :data:`START` bytes of a file.

    Raises
    ------
    CodecError
        If it is no NumPy file.
    """
    if len(start) < 10 or start[:6] != MAGIC:
        raise CodecError("not a NumPy file. Got bad magic string for numpy header")
    major = start[6]
    if major == 1:
        return int(10 + struct.unpack_from("<H", start, 8)[0])
    if major not in (2, 3):
        raise CodecError(f"NumPy files of version {major}.{start[7]} are not known")
    if len(start) < START:
        raise CodecError("not a NumPy file. Got bad magic string for numpy header")
    return int(START + struct.unpack_from("<I", start, 8)[0])


def parse_header(data: bytes) -> NumpyHeader:
    """Read the header, given at least all of its bytes.

    Raises
    ------
    CodecError
        If it is damaged, or the array is of a type that samples cannot have.
    """
    length = header_length(data[:START])
    if len(data) < length:
        raise CodecError("the file ends within its header")
    text = data[10 if data[6] == 1 else START : length].decode("latin1")
    try:
        described = _described(text.strip())
        name, order, shape = described["descr"], described["fortran_order"], described["shape"]
        if not isinstance(order, bool) or not isinstance(shape, tuple):
            raise ValueError(text)
        if any(not isinstance(extent, int) or extent < 0 for extent in shape):
            raise ValueError(text)
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise CodecError(f"its header is damaged: {text[:80]!r}") from None
    try:
        if not isinstance(name, str):
            raise TypeError
        dtype = to_dali_type(np.dtype(name).newbyteorder("="))
    except (TypeError, ValueError, KeyError, SyntaxError):  # NumPy evaluates names of types with commas
        raise CodecError(
            f"its elements are of type {name!r}, which samples cannot have. Unknown Numpy type string"
        ) from None
    if not np.dtype(name).isnative:
        raise CodecError(f"its elements are big-endian ({name})")
    if math.prod(max(extent, 1) for extent in shape) >= _MOST_ELEMENTS:
        raise CodecError(f"its header is damaged: no file has {shape} elements")
    return NumpyHeader(dtype, shape, order, length)


def _described(text: str) -> Any:
    """The dictionary that a header is."""
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        name, order, extents = usual.groups()
        shape = tuple(int(extent) for extent in extents.split(",") if extent)
        return {"descr": name, "fortran_order": order == "True", "shape": shape}
    with _EVALUATING:
        return ast.literal_eval(text)


parsed_header = lru_cache(4096)(parse_header)
"""The same, remembered: the files of a data set have few different headers."""


def different_rows(table: npt.NDArray[np.uint8], group: npt.NDArray[np.int64]) -> list[bytes]:
    """The distinct rows of a table; fills in their index for each row."""
    from dali_lab.kernels.cpu import file_access

    file_access.groups_of_rows(table, group)
    firsts = np.unique(group, return_index=True)[1]
    return [table[index].tobytes() for index in firsts.tolist()]
