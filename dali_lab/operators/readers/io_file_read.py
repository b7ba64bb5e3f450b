"""Reads files whose paths travel through the pipeline."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INT8, UINT8
from dali_lab.operators.readers.whole_files import Paths, read_files
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, flag, register


@register
class Read(Operator):
    """Reads the file whose path each sample holds."""

    name = "io.file.read"
    repeatable = False  # files that its input names may change
    family = "io"
    title = "Read files"
    inputs = (Input("paths", kind="any", doc="The bytes of a path in each sample, UINT8 or INT8."),)
    outputs = (Output("data", kind="encoded", doc="The bytes of each file, one-dimensional UINT8.", dtype=UINT8),)
    arguments = (
        flag("dont_use_mmap", "Kept for programs that set it; files are read into memory.", advanced=True),
        flag("use_o_direct", "Kept for programs that set it.", advanced=True),
    )
    example = """
    >>> paths = fn.external_source(lambda info: np.frombuffer(names[info.idx_in_epoch].encode(), np.uint8), batch=False)
    >>> encoded = fn.io.file.read(paths)
    """

    def run(self, call: Call, paths: Batch) -> Batch:
        if paths.dtype not in (UINT8, INT8):
            raise call.problem(f"takes UINT8 or INT8, got {paths.dtype.name}")
        names = [os.fsdecode(array.tobytes().split(b"\0", 1)[0]) for array in paths.arrays()]
        for index, name in enumerate(names):
            if not name:
                raise call.problem("the path is empty", sample=index)
        return read_files(call, Paths(names), np.arange(len(names)), tuple(names))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        first, second = (_sample_path(index) for index in range(2))
        yield Case(([first, second, first],))
        yield Case(([second.view(np.int8), first.view(np.int8)],))
        yield Case(([np.concatenate([first, np.zeros(2, np.uint8)]), second],))
        yield Case(([first, second],), {"dont_use_mmap": True})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        good = _sample_path(0)
        yield ErrorCase(([good, good[:-3]],), words=("sample 1", "cannot read"))
        yield ErrorCase(([good, good[:0]],), words=("sample 1", "empty"))
        yield ErrorCase(([good.astype(np.int16)],), words=("INT16", "UINT8"))


def _sample_path(index: int) -> npt.NDArray[np.uint8]:
    """The path of a small file, made where files may be made."""
    folder = Path(tempfile.gettempdir()) / "dali-lab-sample-files"
    folder.mkdir(exist_ok=True)
    file = folder / f"sample-{index}.bin"
    if not file.exists():
        file.write_bytes(bytes(range(10 + 100 * index)))
    return np.frombuffer(str(file).encode(), np.uint8)
