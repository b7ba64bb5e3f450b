"""Unpacks compressed samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.device.transfer import to_host
from dali_lab.schema import REQUIRED, Arg, Call, ErrorCase, Input, Operator, Output, register
from dali_lab.types import UINT8, DALIDataType, numpy_dtype

ALGORITHMS = ("LZ4", "DEFLATE")


@register
class Inflate(Operator):
    """Unpacks samples that were compressed with LZ4 (single blocks without a frame) or deflate.

    A sample is one compressed chunk, or several with `chunk_sizes` or `chunk_offsets`: chunks of the same shape, which
    become the first axis of the result.
    """

    name = "decoders.inflate"
    family = "decoders"
    title = "Inflate"
    inputs = (Input("data", kind="encoded", doc="Compressed bytes, one-dimensional UINT8."),)
    outputs = (Output("data", kind="any", doc="The unpacked data."),)
    devices = ("cpu", "gpu")
    on_gpu = True
    differs = (
        "It runs on the CPU too, and unpacks deflate (raw, zlib and gzip) besides LZ4, which alone runs on the GPU."
        " There sizes are checked with `check_output_size` only; without it, what cannot be unpacked is 0."
    )
    tested_elsewhere = "tests/unit/codecs/test_inflate.py"
    arguments = (
        Arg("shape", "int", REQUIRED, "Shape of an unpacked chunk.", vector=True, tensor=True, important=True),
        Arg("dtype", "dtype", UINT8, "Type of the unpacked elements.", important=True),
        Arg("algorithm", "string", "LZ4", "How the data are compressed.", choices=ALGORITHMS),
        Arg("chunk_offsets", "int", None, "Where the chunks of a sample begin.", vector=True, tensor=True),
        Arg("chunk_sizes", "int", None, "Bytes of each chunk of a sample.", vector=True, tensor=True),
        Arg("layout", "layout", "", "Layout of an unpacked chunk."),
        Arg("sequence_axis_name", "layout", "F", "Letter of the axis of chunks, where there is a layout."),
        Arg(
            "check_output_size",
            "bool",
            False,
            "On a GPU, wait for it, and fail where data cannot be unpacked or have another size; a CPU always does.",
            advanced=True,
        ),
    )
    example = """
    >>> frames = fn.decoders.inflate(packed, shape=(480, 640, 3), chunk_sizes=sizes, layout="HWC")
    """

    @classmethod
    def on_cpu_only(cls, values: Mapping[str, Any]) -> str:
        algorithm = values.get("algorithm", "LZ4")
        return "" if algorithm == "LZ4" else f"{algorithm} is unpacked on the CPU"

    def run(self, call: Call, data: Batch) -> Batch:
        if data.dtype != UINT8 or data.ndim != 1:
            raise call.problem(f"takes one-dimensional UINT8 samples, got {data.ndim} dimensions of {data.dtype.name}")
        dtype: DALIDataType = self.value("dtype")
        chunk_shapes = self._shapes(call)
        spans = self._spans(call, data)
        layout = self.value("layout")
        if layout and len(layout) != chunk_shapes.shape[1]:
            raise call.problem(f"{layout!r} does not name {chunk_shapes.shape[1]} axes", argument="layout")
        shapes = chunk_shapes
        if self._chunked:
            counts = np.array([len(rows) for rows in spans], np.int64)
            shapes = np.concatenate([counts[:, None], chunk_shapes], axis=1)
            layout = self.value("sequence_axis_name") + layout if layout else ""
        out = call.allocate(shapes, dtype, layout)
        sizes = chunk_shapes.prod(axis=1) * numpy_dtype(dtype).itemsize
        if call.gpu is not None:
            self._on_gpu(call, data, out, spans, sizes)
            return out
        for index, size in enumerate(sizes.tolist()):
            source, target = data.array(index), out.array(index).reshape(-1).view(np.uint8)
            for place, (start, end) in enumerate(spans[index].tolist()):
                self._unpack(call, index, place, source[start:end], target[place * size : (place + 1) * size])
        return out

    def _on_gpu(
        self, call: Call, data: Batch, out: Batch, spans: list[npt.NDArray[np.int64]], sizes: npt.NDArray[np.int64]
    ) -> None:
        assert call.gpu is not None
        counts = np.array([len(rows) for rows in spans], np.int64)
        starts, ends = (np.concatenate([rows[:, k] for rows in spans]) if len(spans) else counts for k in (0, 1))
        owner = np.repeat(np.arange(len(spans)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        filled = sizes[owner] > 0
        owner, place, starts, ends = owner[filled], place[filled], starts[filled], ends[filled]
        if not len(owner):
            return
        made = call.kernels("unpack").unpack_lz4(
            data.addresses[owner] + starts, ends - starts, out.addresses[owner] + place * sizes[owner], sizes[owner]
        )
        if self.value("check_output_size"):
            call.gpu.issue()
            found = to_host(made, call.gpu.stream).array(0)
            for chunk in np.flatnonzero(found != sizes[owner]).tolist():
                self._complain(call, int(owner[chunk]), int(place[chunk]), int(sizes[owner[chunk]]), int(found[chunk]))

    @property
    def _chunked(self) -> bool:
        return self.has("chunk_offsets") or self.has("chunk_sizes")

    def _shapes(self, call: Call) -> npt.NDArray[np.int64]:
        rows = call.lists("shape", np.int64) or []
        table = np.array(rows, np.int64).reshape(call.count, -1)
        if (table < 0).any():
            index = int((table < 0).any(axis=1).argmax())
            raise call.problem(f"{table[index].tolist()} has a negative extent", argument="shape", sample=index)
        return table

    def _spans(self, call: Call, data: Batch) -> list[npt.NDArray[np.int64]]:
        """Begin and end of the chunks of each sample."""
        lengths = data.shapes[:, 0]
        if not self._chunked:
            return [np.array([[0, length]], np.int64) for length in lengths.tolist()]
        offsets, sizes = call.lists("chunk_offsets", np.int64), call.lists("chunk_sizes", np.int64)
        result = []
        for index, length in enumerate(lengths.tolist()):
            if offsets is not None and not len(offsets[index]):
                raise call.problem("must have at least one offset", argument="chunk_offsets", sample=index)
            if offsets is None:
                assert sizes is not None
                ends = np.cumsum(sizes[index])
                starts = ends - sizes[index]
            else:
                starts = offsets[index]
                ends = np.append(starts[1:], length) if sizes is None else starts
                if sizes is not None:
                    if len(sizes[index]) != len(starts):
                        message = f"has {len(sizes[index])} sizes for {len(starts)} offsets"
                        raise call.problem(message, argument="chunk_sizes", sample=index)
                    ends = starts + sizes[index]
            wrong = (starts < 0) | (ends < starts) | (ends > length)
            if wrong.any():
                place = int(wrong.argmax())
                name = "chunk_sizes" if offsets is None else "chunk_offsets"
                raise call.problem(
                    f"chunk {place} from {starts[place]} to {ends[place]} leaves the {length} bytes of the sample",
                    argument=name,
                    sample=index,
                )
            result.append(np.stack([starts, ends], axis=1))
        return result

    def _unpack(
        self, call: Call, index: int, place: int, packed: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]
    ) -> None:
        size = len(target)
        where = f" of chunk {place}" if self._chunked else ""
        if size == 0:
            return
        unpack = _unpack_lz4 if self.value("algorithm") == "LZ4" else _unpack_deflate
        try:
            found = unpack(packed, target)
        except (RuntimeError, ValueError, zlib.error) as error:
            raise call.problem(f"cannot unpack the data{where}: {error}", sample=index) from error
        if found != size:
            self._complain(call, index, place, size, found)

    def _complain(self, call: Call, index: int, place: int, size: int, found: int) -> NoReturn:
        where = f" of chunk {place}" if self._chunked else ""
        if found < 0:
            message = f"cannot unpack the data{where}: no LZ4 block, or one of more than the {size} bytes asked for"
            raise call.problem(message, sample=index)
        message = f"'shape' and 'dtype' ask for {size} bytes{where}, and {found} were packed"
        raise call.problem(message, argument="shape", sample=index)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        packed = np.frombuffer(zlib.compress(bytes(range(60))), np.uint8)
        good = {"algorithm": "DEFLATE", "shape": (60,)}
        yield ErrorCase(([packed],), {"algorithm": "DEFLATE"}, words=("shape", "must be given"))
        yield ErrorCase(([packed],), {**good, "shape": (61,)}, words=("shape", "61", "60"))
        yield ErrorCase(([packed],), {**good, "shape": (59,)}, words=("shape", "59"))
        yield ErrorCase(([packed],), {**good, "algorithm": "ZIP"}, words=("algorithm", "ZIP", "LZ4"))
        yield ErrorCase(([packed[:9]],), good, words=("sample 0", "cannot unpack"))
        yield ErrorCase(([packed],), {"shape": (60,)}, words=("sample 0",))
        yield ErrorCase(([packed],), {**good, "layout": "HW"}, words=("layout", "HW"))
        yield ErrorCase(([packed],), {**good, "chunk_sizes": (10, 900)}, words=("chunk_sizes", "leaves"))
        yield ErrorCase(([packed.reshape(1, -1)],), good, words=("one-dimensional",))


def _unpack_lz4(packed: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]) -> int:
    """Unpack one LZ4 block, without the GIL; the number of bytes that it held."""
    import imagecodecs

    decode: Any = imagecodecs.lz4_decode  # its annotations leave arrays out
    return len(decode(packed, out=target))


def _unpack_deflate(packed: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]) -> int:
    """Unpack deflate, with a header of zlib or gzip or without; the number of bytes, at most one more than fit.

    zlib works without the GIL.
    """
    data, size = packed.tobytes(), len(target)
    last: zlib.error | None = None
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        unpacker = zlib.decompressobj(bits)
        try:
            raw = unpacker.decompress(data, size + 1)
        except zlib.error as error:
            last = last or error
            continue
        if len(raw) < size and not unpacker.eof:
            raise ValueError("the data end too early")
        if len(raw) == size:
            target[:] = np.frombuffer(raw, np.uint8)
        return len(raw)
    assert last is not None
    raise last
