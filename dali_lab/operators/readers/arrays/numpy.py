"""Reads arrays from NumPy files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.conversion import elements
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.geometry.windows import Windows, within
from dali_lab.operators.readers.arrays.numpy_files import ArrayFiles, Headers
from dali_lab.operators.readers.arrays.numpy_region import REGION, region_windows, verify_region, wants_region
from dali_lab.operators.readers.file_list import FileList, find_unlabelled
from dali_lab.operators.readers.list_reader import AFTER_EPOCH, READER, ListReader
from dali_lab.operators.readers.look_ahead import RemoteRows
from dali_lab.schema import Call, Operator, Output, flag, register, string, strings


@register
class Numpy(ListReader):
    """Reads arrays from NumPy files (``.npy``) in C or Fortran order, whole or a region of each.

    Files come from `file_root` and its sub-folders, from a `file_list` with a path on each line, or from `files`.
    """

    name = "readers.numpy"
    title = "NumPy reader"
    outputs = (Output("array", kind="any", doc="The array of each file, in C order."),)
    devices = ("cpu", "gpu")
    differs = (
        "Placed on a GPU, files are read into its memory where KvikIO is installed (by GPUDirect Storage, if the"
        " machine has it), and elsewhere read on the CPU and copied."
    )
    identifies = True
    device_reader = "_numpy_arrays"
    locating = ("file_root", "file_filter", "file_list", "files")
    tested_elsewhere = "tests/unit/readers/test_numpy.py"
    arguments = (
        string("file_root", None, "Folder of the files; the root of relative paths.", widget="folder", important=True),
        string("file_filter", "*.npy", "Pattern that names of files in `file_root` must match.", important=True),
        string("file_list", None, "Text file with a path on each line.", widget="path"),
        strings("files", None, "Paths of the files.", widget="path", relative_to="file_root"),
        *REGION,
        *AFTER_EPOCH,
        *READER,
        flag("cache_header_information", "Keep the headers of files that were read.", advanced=True),
        flag("register_buffers", "Kept for programs that set it.", default=True, advanced=True),
        flag("use_o_direct", "Kept for programs that set it.", advanced=True),
        flag("_rows", "Give the numbers of the files, for an operator that reads them."),
    )
    example = '>>> volumes = fn.readers.numpy(file_root=root, file_filter="*.npy", random_shuffle=True, name="Reader")'

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if all(values.get(name) is None for name in ("file_root", "file_list", "files")):
            raise ArgumentError(
                "must be given, or 'file_list' or 'files'", argument="file_root", code="argument_missing"
            )
        super().verify(values, connected, inputs)
        verify_region(values, connected)

    def load(self) -> int:
        self._files: FileList = find_unlabelled(
            self.value("file_root"), self.value("file_list"), self.value("files"), self.value("file_filter")
        )
        kept = self.value("cache_header_information")
        self._arrays: ArrayFiles = ArrayFiles(self._files.paths, kept, not wants_region(self))
        return len(self._files.paths)

    def remote_rows(self) -> RemoteRows | None:
        return self._arrays.remote_rows()

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        return self._files.sources(rows)

    def places(self, rows: npt.NDArray[np.int64]) -> Iterable[str]:
        return self._arrays.paths.full_names(rows)

    def states(self, rows: npt.NDArray[np.int64], by_content: bool = False) -> npt.NDArray[np.int64] | None:
        return self._arrays.paths.states(rows, by_content)

    def run(self, call: Call) -> Batch:
        rows = call.ticket[call.start : call.start + call.count]
        sources = self.sources(rows)
        if self.value("_rows"):
            numbers = Batch.of([np.asarray(row) for row in rows.astype(np.int64)])
            numbers.sources = sources
            return numbers
        out = read_arrays(self, call, self._arrays, rows)
        out.sources = sources
        return out


def read_arrays(operator: Operator, call: Call, arrays: ArrayFiles, rows: npt.NDArray[np.int64]) -> Batch:
    """The arrays of the chosen files, or the region of each that `operator` asks for, in main memory."""
    headers, windows, inside = located(operator, call, arrays, rows)
    allocate = call.allocate if call.gpu is None else Batch.allocate
    out = allocate(windows.shape, headers.dtype, "")
    if as_stored(headers, windows, inside):
        arrays.read(call, rows, headers, inside, out)
        return out
    stored = Batch.allocate(headers.as_stored(inside.shape), headers.dtype)
    arrays.read(call, rows, headers, inside, stored)
    _arrange(operator, stored, headers.fortran, Windows(windows.start - inside.start, windows.shape), out)
    return out


def located(
    operator: Operator, call: Call, arrays: ArrayFiles, rows: npt.NDArray[np.int64]
) -> tuple[Headers, Windows, Windows]:
    """Headers of the chosen files, the windows that are wanted, and what of them is inside the arrays."""
    headers = arrays.headers(call, rows)
    windows = Windows(np.zeros_like(headers.shapes), headers.shapes)
    if wants_region(operator):
        windows, _ = within(call, region_windows(call, headers.shapes), headers.shapes)
    first = np.clip(windows.start, 0, headers.shapes)
    inside = Windows(first, np.clip(windows.start + windows.shape, first, headers.shapes) - first)
    return headers, windows, inside


def as_stored(headers: Headers, windows: Windows, inside: Windows) -> bool:
    """Whether the files have the elements in the order of the result, and all of them."""
    return not headers.fortran.any() and bool((inside.shape == windows.shape).all())


def _arrange(operator: Operator, stored: Batch, fortran: npt.NDArray[np.bool_], windows: Windows, out: Batch) -> None:
    """Bring what was read in the order of the files into C order, with the fill value around it."""
    from dali_lab.kernels.cpu import copy

    fill = elements((operator.value("fill_value"),), out.dtype)
    for turned in (False, True):
        which = np.flatnonzero(fortran == turned)
        if not len(which):
            continue
        turn = slice(None, None, -1) if turned else slice(None)
        copy.copy_window(
            stored.addresses[which], out.addresses[which], stored.shapes[which], windows.start[which][:, turn],
            windows.shape[which][:, turn], stored.itemsize, fill=fill, fill_axis=-1,
            order=tuple(range(out.ndim))[::-1] if turned else None,
        )  # fmt: skip
