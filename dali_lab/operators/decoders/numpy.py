"""Decodes arrays in NumPy's format."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import BOOL, FLOAT, INT16, UINT8, DALIDataType, numpy_dtype
from dali_lab.operators.decoders.image import ENCODED, encoded_bytes
from dali_lab.operators.decoders.numpy_format import HEAD, NumpyHeader, different_rows, parse_header, parsed_header
from dali_lab.schema import Arg, Call, Case, ErrorCase, Operator, Output, register


@register
class Numpy(Operator):
    """Decodes the bytes of NumPy files (``.npy``) of any order and version.

    All arrays, of this batch and those before it, have as many dimensions and, unless `dtype` converts them, the same
    type.
    """

    name = "decoders.numpy"
    decodes = True
    title = "NumPy decoder"
    inputs = (ENCODED,)
    outputs = (Output("array", kind="any", doc="The arrays, in C order, without a layout."),)
    arguments = (
        Arg("dtype", "dtype", None, "Type to convert all arrays to, rounded and clamped; their own if not given."),
    )
    example = """
    >>> encoded, _ = fn.readers.file(file_root=root, file_filters=["*.npy"])
    >>> arrays = fn.decoders.numpy(encoded)
    """

    def setup(self) -> None:
        self._kind: tuple[DALIDataType, int] | None = None

    def run(self, call: Call, data: Batch) -> Batch:
        arrays = self._decode(call, data)
        kind = arrays.dtype, arrays.ndim
        if self._kind is None:
            self._kind = kind
        elif kind != self._kind:
            raise call.problem(
                f"has {_kind_text(*kind)}, those before it had {_kind_text(*self._kind)}. {_alike(kind, self._kind)}",
                sample=0,
                source=arrays.sources[0] if arrays.sources is not None else None,
            )
        return arrays

    def _decode(self, call: Call, data: Batch) -> Batch:
        data = encoded_bytes(call, data)
        wanted = self.value("dtype")
        plain = _in_place(data)
        if plain is not None:
            convert = wanted is not None and wanted != plain.dtype
            return converted(plain, wanted, call.allocate(plain.shapes, wanted, "")) if convert else plain
        rows: list[npt.NDArray[Any]] = []
        for index, encoded in enumerate(data.arrays()):
            source = data.sources[index] if data.sources is not None else None
            try:
                array = decoded(encoded)
            except CodecError as error:
                raise call.problem(f"cannot decode the array: {error}", sample=index, source=source) from error
            if wanted is not None:
                array = converted(Batch.of([array]), wanted).array(0)
            kind, first = ((each.dtype, each.ndim) for each in (array, rows[0] if rows else array))
            if kind != first:
                raise call.problem(
                    f"has {_kind_text(*kind)}, sample {call.start} has {_kind_text(*first)}. {_alike(kind, first)}",
                    sample=index,
                    source=source,
                )
            rows.append(array)
        result = Batch.of(rows, "", wanted)
        result.sources = data.sources
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        block = np.arange(24).reshape(2, 3, 4)
        for dtype in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?"):
            yield Case(([_encoded(block.astype(dtype)), _encoded(block[:1].astype(dtype)[:, :0])],))
        yield Case(([_encoded(np.float32(3)), _encoded(np.float32(4))],))
        whole = _encoded(block)
        for bytes_of_it in (whole.view(np.int8), whole.view(bool), whole[None], whole.reshape(-1, 2)):
            yield Case(([bytes_of_it],))
        numbers = [_encoded(np.float64(block * 30.7 - 300)), _encoded(np.int32(block)), _encoded(block > 3)]
        for wanted in (FLOAT, UINT8, INT16, BOOL):
            yield Case((numbers,), {"dtype": wanted})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        good = _encoded(np.arange(12, dtype=np.float32).reshape(3, 4))
        yield ErrorCase(([good, good[:5]],), words=("sample 1", "not a NumPy file"))
        yield ErrorCase(([good[:50]],), words=("sample 0", "ends within its header"))
        yield ErrorCase(([good[:140]],), words=("sample 0", "ends", "48"))
        yield ErrorCase(([np.append(good, good[:9])],), words=("sample 0", "9 bytes follow"))
        yield ErrorCase(([_encoded(np.zeros(3, ">f4"))],), words=("big-endian",))
        yield ErrorCase(([_encoded(np.zeros(3, "c8"))],), words=("c8",))
        yield ErrorCase(([np.zeros((4, 4), np.int16)],), words=("bytes", "INT16"))


def _in_place(data: Batch) -> Batch | None:
    """The arrays where they lie in the encoded files; `None` if one is damaged, differs in kind, or must be moved."""
    from dali_lab.kernels.cpu import file_access

    table, group = np.empty((len(data), HEAD), np.uint8), np.zeros(len(data), np.int64)
    sizes = data.sizes
    file_access.copy_heads(data.addresses, sizes, table)
    try:
        found = [parsed_header(head) for head in different_rows(table, group)]
    except CodecError:
        return None
    first = found[0]
    if any((header.dtype, len(header.shape)) != (first.dtype, len(first.shape)) for header in found):
        return None
    if any(header.fortran_order and len(header.shape) > 1 for header in found):
        return None
    offsets = np.array([header.offset for header in found], np.int64)[group]
    ends = offsets + np.array([header.nbytes for header in found], np.int64)[group]
    addresses = data.addresses + offsets
    if (ends != sizes).any() or (offsets > HEAD).any() or (addresses % numpy_dtype(first.dtype).itemsize).any():
        return None
    shapes = np.array([header.shape for header in found], np.int64).reshape(len(found), -1)[group]
    return Batch(addresses, shapes, first.dtype, "", data.owners, data.sources)


def _kind_text(dtype: object, ndim: int) -> str:
    return f"{ndim} dimensions of {getattr(dtype, 'name', dtype)}"


def _alike(kind: tuple[object, int], first: tuple[object, int]) -> str:
    """The refusal of an array whose type or number of dimensions is not that of the first."""
    what = "number of dimensions" if kind[1] != first[1] else "data type"
    return f"All samples in the dataset must have the same {what}"


def _size(header: NumpyHeader, found: int) -> str:
    return f"Expected data numpy size {header.nbytes} bytes, got {found}"


def decoded(data: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The array in the bytes of a NumPy file, C-contiguous.

    Raises
    ------
    CodecError
        If they are none.
    """
    header = parse_header(data[: 65536 + 12].tobytes())
    found = len(data) - header.offset
    if found < header.nbytes:
        raise CodecError(f"the file ends before its {header.nbytes} bytes of elements. {_size(header, found)}")
    if found > header.nbytes:
        raise CodecError(
            f"{found - header.nbytes} bytes follow its {header.nbytes} bytes of elements. {_size(header, found)}"
        )
    elements = np.frombuffer(data, np.uint8, header.nbytes, header.offset).copy().view(numpy_dtype(header.dtype))
    array = elements.reshape(header.shape, order="F" if header.fortran_order else "C")
    return np.asarray(array, order="C")


def _encoded(array: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version=(1, 0))
    return np.frombuffer(file.getvalue(), np.uint8)
