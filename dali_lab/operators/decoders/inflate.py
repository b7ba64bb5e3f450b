"""Unpacks compressed samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dali_lab.codecs import unpacking
from dali_lab.codecs.encoded import CodecError
from dali_lab.device.transfer import to_host
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, DALIDataType, numpy_dtype
from dali_lab.schema import REQUIRED, Arg, Call, ErrorCase, Input, Operator, Output, choice, flag, integers, register

Table = npt.NDArray[np.int64]
_BYTES = np.empty(0, np.uint8)


@register
class Inflate(Operator):
    """Unpacks samples that were compressed with LZ4 (single blocks without a frame) or deflate.

    A sample is one compressed chunk, or several with `chunk_sizes` or `chunk_offsets`: chunks of the same shape, which
    become the first axis of the result.
    """

    name = "decoders.inflate"
    decodes = True
    inputs = (Input("data", kind="encoded", doc="Compressed bytes, one-dimensional UINT8."),)
    outputs = (Output("data", kind="any", doc="The unpacked data."),)
    on_gpu = True
    differs = (
        "It runs on the CPU too, and unpacks deflate (raw, zlib and gzip) besides LZ4, which alone runs on the GPU."
        " There sizes are checked with `check_output_size` only; without it, what cannot be unpacked is 0."
    )
    tested_elsewhere = "tests/unit/codecs/test_inflate.py"
    arguments = (
        integers("shape", REQUIRED, "Shape of an unpacked chunk.", tensor=True, important=True),
        Arg("dtype", "dtype", UINT8, "Type of the unpacked elements.", important=True),
        choice("algorithm", "LZ4", unpacking.ALGORITHMS, "How the data are compressed."),
        integers("chunk_offsets", None, "Where the chunks of a sample begin.", tensor=True),
        integers("chunk_sizes", None, "Bytes of each chunk of a sample.", tensor=True),
        Arg("layout", "layout", "", "Layout of an unpacked chunk."),
        Arg("sequence_axis_name", "layout", "F", "Letter of the axis of chunks, where there is a layout."),
        flag(
            "check_output_size",
            "On a GPU, wait for it, and fail where data cannot be unpacked or have another size; a CPU always does.",
            advanced=True,
        ),
    )
    example = '>>> frames = fn.decoders.inflate(packed, shape=(480, 640, 3), chunk_sizes=sizes, layout="HWC")'

    @classmethod
    def on_cpu_only(cls, values: Mapping[str, Any]) -> str:
        algorithm = values.get("algorithm", "LZ4")
        return "" if algorithm == "LZ4" else f"{algorithm} is unpacked on the CPU"

    def run(self, call: Call, data: Batch) -> Batch:
        if data.dtype != UINT8 or data.ndim != 1:
            raise call.problem(f"takes one-dimensional UINT8 samples, got {data.ndim} dimensions of {data.dtype.name}")
        dtype: DALIDataType = self.value("dtype")
        chunk_shapes = self._shapes(call)
        owner, place, starts, ends = self._spans(call, data)
        layout = self.value("layout")
        if layout and len(layout) != chunk_shapes.shape[1]:
            raise call.problem(f"{layout!r} does not name {chunk_shapes.shape[1]} axes", argument="layout")
        shapes = chunk_shapes
        if self._chunked:
            counts = np.bincount(owner, minlength=len(data))
            shapes = np.concatenate([counts[:, None], chunk_shapes], axis=1)
            layout = self.value("sequence_axis_name") + layout if layout else ""
        out = call.allocate(shapes, dtype, layout)
        sizes = (chunk_shapes.prod(axis=1) * numpy_dtype(dtype).itemsize)[owner]
        filled = sizes > 0
        owner, place, starts, ends, sizes = (row[filled] for row in (owner, place, starts, ends, sizes))
        table = (data.addresses[owner] + starts, ends - starts, out.addresses[owner] + place * sizes, sizes)
        if not len(owner):
            return out
        if call.gpu is None:
            made = unpacking.unpack(self.value("algorithm"), *table)
            for chunk in np.flatnonzero(made != sizes).tolist():
                self._again(call, int(owner[chunk]), int(place[chunk]), *(int(column[chunk]) for column in table))
            return out
        counted = call.kernels("unpack").unpack_lz4(*table)
        if self.value("check_output_size"):
            call.gpu.issue()
            found = to_host(counted, call.gpu.stream).array(0)
            for chunk in np.flatnonzero(found != sizes).tolist():
                self._complain(call, int(owner[chunk]), int(place[chunk]), int(sizes[chunk]), int(found[chunk]))
        return out

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

    def _spans(self, call: Call, data: Batch) -> tuple[Table, Table, Table, Table]:
        """For each chunk its sample, its index there, and its begin and end in the sample, ``int64[N]`` each."""
        lengths = data.shapes[:, 0]
        if not self._chunked:
            nought = np.zeros(len(data), np.int64)
            return np.arange(len(data)), nought, nought, lengths
        offsets, sizes = call.lists("chunk_offsets", np.int64), call.lists("chunk_sizes", np.int64)
        rows = sizes if offsets is None else offsets
        assert rows is not None
        counts = _counts(rows)
        if offsets is not None and not counts.all():
            raise call.problem("must have at least one offset", argument="chunk_offsets", sample=int(counts.argmin()))
        if offsets is not None and sizes is not None and (counts != _counts(sizes)).any():
            index = int((counts != _counts(sizes)).argmax())
            message = f"has {len(sizes[index])} sizes for {counts[index]} offsets"
            raise call.problem(message, argument="chunk_sizes", sample=index)
        owner = np.repeat(np.arange(len(rows)), counts)
        first = np.cumsum(counts) - counts
        place = np.arange(len(owner)) - first[owner]
        flat = [np.concatenate(row) if row else np.zeros(0, np.int64) for row in (offsets or [], sizes or [])]
        if offsets is None:
            total = np.concatenate([[0], np.cumsum(flat[1])])
            ends = total[1:] - total[first[owner]]
            starts = ends - flat[1]
        elif sizes is None:
            starts = flat[0]
            ends = np.append(starts[1:], 0)
            ends[first + counts - 1] = lengths
        else:
            starts, ends = flat[0], flat[0] + flat[1]
        wrong = (starts < 0) | (ends < starts) | (ends > lengths[owner])
        if wrong.any():
            chunk = int(wrong.argmax())
            index = int(owner[chunk])
            raise call.problem(
                f"chunk {place[chunk]} from {starts[chunk]} to {ends[chunk]} leaves the {lengths[index]} bytes of the"
                " sample",
                argument="chunk_sizes" if offsets is None else "chunk_offsets",
                sample=index,
            )
        return owner, place, starts, ends

    def _again(self, call: Call, index: int, place: int, source: int, packed: int, target: int, size: int) -> None:
        """Unpack a refused chunk by itself, or raise the fault in it."""
        from dali_lab.kernels.cpu.memory import array_in_memory

        where = f" of chunk {place}" if self._chunked else ""
        try:
            found = unpacking.unpack_one(
                self.value("algorithm"),
                array_in_memory(source, (packed,), _BYTES),
                array_in_memory(target, (size,), _BYTES),
            )
        except CodecError as error:
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


def _counts(rows: list[Table]) -> Table:
    return np.fromiter(map(len, rows), np.int64, len(rows))
