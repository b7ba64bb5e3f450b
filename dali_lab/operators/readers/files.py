"""Reading whole files: many in one call, with the error of the operating system named by file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from dali_lab.batch.batch import Batch
from dali_lab.schema import Call
from dali_lab.types import UINT8


def read_files(call: Call, paths: Sequence[str], names: tuple[str, ...]) -> Batch:
    """The bytes of each file as a one-dimensional sample, in one block of memory.

    Parameters
    ----------
    call
        The call that reads, for errors.
    paths
        Files to open.
    names
        What the samples are called from here on.

    Raises
    ------
    SampleError
        If a file cannot be opened or read; it names the file.
    """
    handles: list[int] = []
    index = 0
    try:
        sizes = np.empty((len(paths), 1), np.int64)
        for index, path in enumerate(paths):
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            handles.append(handle)
            sizes[index] = os.fstat(handle).st_size
        batch = Batch.allocate(sizes, UINT8, "", names)
        memory = memoryview(batch.owners[0])
        start = 0
        for index, handle in enumerate(handles):
            size = int(sizes[index, 0])
            end = start + size
            at = start
            while at < end:
                count = os.readv(handle, [memory[at:end]])
                if count == 0:
                    raise OSError("the file became shorter while it was read")
                at += count
            start = end
        return batch
    except OSError as error:
        reason = error.strerror or str(error)
        raise call.problem(f"cannot read the file: {reason}", sample=index, source=paths[index]) from error
    finally:
        for handle in handles:
            os.close(handle)
