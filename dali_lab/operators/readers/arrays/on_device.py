"""Reads arrays from NumPy files into the memory of a GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Device, FilePart, Stream
from dali_lab.io.roots import limited
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.model.errors import as_ours
from dali_lab.operators.fused.parts import STANDS_FOR, naming_in_errors
from dali_lab.operators.geometry.windows import Windows
from dali_lab.operators.readers.arrays.numpy import Numpy, as_stored, located, read_arrays
from dali_lab.operators.readers.arrays.numpy_files import ArrayFiles, Headers
from dali_lab.operators.readers.arrays.numpy_region import REGION, wants_region
from dali_lab.operators.readers.file_list import find_unlabelled
from dali_lab.schema import Call, Operator, Output, flag, integer, register, string, strings
from dali_lab.schema.ports import INTEGERS

MOST_PARTS = 4096
"""Regions that lie in more pieces than this, over all samples, are read on the CPU and copied."""


@register
class NumpyArrays(Operator):
    """The second half of a reader of arrays on a GPU: reads the files that the first one draws."""

    name = "_numpy_arrays"
    title = "Arrays on the GPU"
    inputs = ()
    outputs = (Output("array", kind="any", doc="The array of each file, in C order."),)
    on_gpu = True
    hidden = True
    beyond_dali = True
    tested_elsewhere = "tests/gpu/test_direct_reading.py"
    arguments = (
        string("file_root", None, "As for the reader.", widget="folder"),
        string("file_filter", "*.npy", "As for the reader."),
        string("file_list", None, "As for the reader.", widget="path"),
        strings("files", None, "As for the reader.", widget="path", relative_to="file_root"),
        *REGION,
        STANDS_FOR,
        flag("cache_header_information", "As for the reader."),
        integer("rows", None, "Number of the file of each sample.", tensor=True, fed=INTEGERS),
    )

    def setup(self) -> None:
        self._arrays: ArrayFiles | None = None

    def run(self, call: Call) -> Batch:
        with self._naming():
            return self._arrays_of(call)

    def _naming(self) -> AbstractContextManager[None]:
        return naming_in_errors(self.value("stands_for"), Numpy.name)

    def _arrays_of(self, call: Call) -> Batch:
        if self._arrays is None:
            files = find_unlabelled(
                self.value("file_root"), self.value("file_list"), self.value("files"), self.value("file_filter")
            )
            self._arrays = ArrayFiles(files.paths, self.value("cache_header_information"), not wants_region(self))
        rows = call.numbers("rows", np.int64)
        if call.gpu is None:
            return read_arrays(self, call, self._arrays, rows)
        headers, windows, inside = located(self, call, self._arrays, rows)
        pieces = self._pieces(call, headers, inside) if as_stored(headers, windows, inside) else None
        if pieces is None or limited() or self._arrays.paths.parts is not None:
            return call.gpu.upload(read_arrays(self, call, self._arrays, rows))
        out = call.allocate(windows.shape, headers.dtype, "")
        names = self._arrays.paths.names
        parts = [
            FilePart(names[int(row)], offset, int(address) + place, nbytes)
            for row, address, found in zip(rows, out.addresses, pieces, strict=True)
            for offset, place, nbytes in found
        ]
        device, stream = call.gpu.device, call.gpu.stream
        call.gpu.then(lambda: self._read(device, stream, parts))
        return out

    def _read(self, device: Device, stream: Stream, parts: list[FilePart]) -> None:
        with self._naming():
            try:
                device.read_files(stream, parts)
            except OSError as error:
                raise as_ours(error) from error

    @staticmethod
    def _pieces(call: Call, headers: Headers, inside: Windows) -> list[list[tuple[int, int, int]]] | None:
        """For each sample what is read: ``(offset in the file, offset in the result, bytes)``; `None` for too much."""
        item = numpy_dtype(headers.dtype).itemsize
        found: list[list[tuple[int, int, int]]] = []
        total = 0
        for offset, shape, start, extent in zip(
            headers.offsets, headers.shapes, inside.start, inside.shape, strict=True
        ):
            pieces = _runs(shape, start, extent)
            total += len(pieces)
            if total > MOST_PARTS:
                return None
            found.append([(int(offset) + at * item, to * item, count * item) for at, to, count in pieces])
        return found


def _runs(
    shape: npt.NDArray[np.int64], start: npt.NDArray[np.int64], extent: npt.NDArray[np.int64]
) -> list[tuple[int, int, int]]:
    """Elements of a window that follow each other in the array: ``(place in it, place in the window, count)``."""
    if not extent.all():
        return []
    axis = len(shape)  # axes from here on are whole
    while axis and extent[axis - 1] == shape[axis - 1]:
        axis -= 1
    axis = max(axis - 1, 0)  # and runs go along this one
    strides = np.ones(len(shape), np.int64)
    for index in range(len(shape) - 2, -1, -1):
        strides[index] = strides[index + 1] * shape[index + 1]
    count = int(extent[axis:].prod())
    if np.prod(extent[:axis], dtype=np.float64) > MOST_PARTS:
        return [(0, 0, 0)] * (MOST_PARTS + 1)
    outer = np.indices(extent[:axis].tolist()).reshape(axis, -1).T if axis else np.zeros((1, 0), np.int64)
    base = int((start * strides).sum())
    return [(base + int((place * strides[:axis]).sum()), number * count, count) for number, place in enumerate(outer)]
