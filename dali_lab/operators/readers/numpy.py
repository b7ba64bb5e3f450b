"""Reads arrays from NumPy files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.batch.conversion import elements
from dali_lab.codecs.header import CodecError
from dali_lab.errors import ArgumentError
from dali_lab.operators.decoders.numpy_format import START, NumpyHeader, header_length, parse_header
from dali_lab.operators.geometry.windows import within
from dali_lab.operators.readers.file import READER
from dali_lab.operators.readers.file_list import FileList, find_files
from dali_lab.operators.readers.numpy_region import REGION, region_windows, verify_region, wants_region
from dali_lab.operators.readers.shared_order import make_order, verify_shards
from dali_lab.schema import Arg, Call, Operator, Output, register
from dali_lab.schema.operator import Draw


@register
class Numpy(Operator):
    """Reads arrays from NumPy files (``.npy``) in C or Fortran order, whole or a region of each.

    Files come from `file_root` and its sub-folders, from a `file_list` with a path on each line, or from `files`.
    """

    name = "readers.numpy"
    family = "readers"
    title = "NumPy reader"
    outputs = (Output("array", kind="any", doc="The array of each file, in C order."),)
    devices = ("cpu", "gpu")
    source = True
    random = True
    tested_elsewhere = "tests/unit/readers/test_numpy.py"
    arguments = (
        Arg(
            "file_root",
            "string",
            None,
            "Folder of the files; the root of relative paths.",
            widget="folder",
            important=True,
        ),
        Arg("file_filter", "string", "*.npy", "Pattern that names of files in `file_root` must match.", important=True),
        Arg("file_list", "string", None, "Text file with a path on each line.", widget="path"),
        Arg("files", "string", None, "Paths of the files.", vector=True),
        *REGION,
        Arg("shuffle_after_epoch", "bool", False, "Shuffle all files anew in each epoch."),
        Arg("shuffle_after_epoch_seed", "int", None, "Seed of those shuffles, the same for all shards.", advanced=True),
        *READER,
        Arg("cache_header_information", "bool", False, "Keep the headers of files that were read.", advanced=True),
        Arg("register_buffers", "bool", True, "Kept for programs that set it.", advanced=True),
        Arg("use_o_direct", "bool", False, "Kept for programs that set it.", advanced=True),
    )
    example = """
    >>> volumes = fn.readers.numpy(file_root=root, file_filter="*.npy", random_shuffle=True, name="Reader")
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if all(values.get(name) is None for name in ("file_root", "file_list", "files")):
            raise ArgumentError("must be given, or 'file_list' or 'files'", argument="file_root")
        verify_shards(values)
        verify_region(values, connected)

    def setup(self) -> None:
        self._files: FileList | None = None
        self._order: Any = None
        self._headers: dict[str, NumpyHeader] = {}

    def _load(self) -> Any:
        """Find the files and prepare their order, once."""
        if self._order is None:
            self._files = self._find()
            self._order = make_order(self, len(self._files.paths))
        return self._order

    def _find(self) -> FileList:
        listed, files, root = self.value("file_list"), self.value("files"), self.value("file_root")
        if listed is not None:
            if files is not None:
                raise self.fail("given together with 'file_list'; give one or the other", "files")
            try:
                with open(listed, "rb") as file:
                    files = [os.fsdecode(line) for line in file.read().split(b"\n") if line]
            except OSError as error:
                raise self.fail(f"cannot read '{listed}': {error.strerror or error}", "file_list") from error
            if not files:
                raise self.fail(f"'{listed}' has no lines", "file_list")
            root = os.path.dirname(listed) if root is None else root
        return find_files(
            file_root=root,
            files=files,
            file_filters=(self.value("file_filter"),),
            case_sensitive_filter=True,
            label_folders=False,
        )

    def reader_meta(self) -> dict[str, int]:
        return dict(self._load().meta())

    def draw(self, batch_size: int) -> Draw:
        return Draw(batch_size, self._load().next_batch(batch_size))

    def state(self) -> Any:
        return self._load().get_state()

    def restore(self, state: Any) -> None:
        self._load().set_state(state)

    def run(self, call: Call) -> Batch:
        assert self._files is not None
        rows = call.ticket[call.start : call.start + call.count].tolist()
        names = tuple(self._files.names[index] for index in rows)
        whole = self._read(call, [self._files.paths[index] for index in rows], names)
        if not wants_region(self):
            return whole
        return self._cut(call, whole)

    def _read(self, call: Call, paths: list[str], names: tuple[str, ...]) -> Batch:
        """The arrays of the files."""
        files = []
        index = 0
        try:
            headers = []
            for index in range(len(paths)):
                path = paths[index]
                files.append(open(path, "rb", buffering=0))  # noqa: SIM115 (closed below, together)
                headers.append(self._header(path, files[-1]))
            self._check(call, headers, paths)
            first = headers[0] if headers else None
            shapes = np.array([header.shape for header in headers], np.int64).reshape(len(headers), -1)
            assert first is not None
            make = Batch.allocate if wants_region(self) else call.allocate
            out = make(shapes, first.dtype, "")
            out.sources = names
            for index, (file, header) in enumerate(zip(files, headers, strict=True)):
                self._fill(file, header, out.array(index))
            return out
        except (OSError, CodecError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise call.problem(f"cannot read the array: {reason}", sample=index, source=paths[index]) from error
        finally:
            for file in files:
                file.close()

    def _header(self, path: str, file: Any) -> NumpyHeader:
        if path in self._headers:
            return self._headers[path]
        start = file.read(START)
        header = parse_header(start + file.read(header_length(start) - START))
        if self.value("cache_header_information"):
            self._headers[path] = header
        return header

    @staticmethod
    def _check(call: Call, headers: list[NumpyHeader], paths: list[str]) -> None:
        """All arrays of a batch agree in type and number of dimensions."""
        for index, header in enumerate(headers):
            first = headers[0]
            if (header.dtype, len(header.shape)) != (first.dtype, len(first.shape)):
                raise call.problem(
                    f"has {len(header.shape)} dimensions of {header.dtype.name}, where '{paths[0]}' has"
                    f" {len(first.shape)} of {first.dtype.name}",
                    sample=index,
                    source=paths[index],
                )

    @staticmethod
    def _fill(file: Any, header: NumpyHeader, target: npt.NDArray[Any]) -> None:
        """Read the elements of a file into `target`."""
        file.seek(header.offset)
        row = target
        if header.fortran_order and target.ndim > 1:
            row = np.empty(header.shape[::-1], target.dtype)
        memory = row.reshape(-1).view(np.uint8).data if row.size else memoryview(b"")
        at = 0
        while at < len(memory):
            count = file.readinto(memory[at:])
            if not count:
                raise CodecError(f"the file ends before its {header.nbytes} bytes of elements")
            at += count
        if row is not target:
            target[...] = row.transpose()

    def _cut(self, call: Call, whole: Batch) -> Batch:
        """The region of each array."""
        from dali_lab.kernels.cpu import copy

        windows, _ = within(call, region_windows(call, whole.shapes), whole.shapes)
        out = call.allocate(windows.shape, whole.dtype, "")
        out.sources = whole.sources
        fill = elements((self.value("fill_value"),), whole.dtype)
        copy.copy_window(
            whole.addresses, out.addresses, whole.shapes, windows.start, windows.shape, whole.itemsize,
            fill=fill, fill_axis=-1,
        )  # fmt: skip
        return out
