"""Unpacking compressed bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INT64

UNPACK_LZ4 = Kernel("unpack.cu", "unpack_lz4", sample=("u8 data out out_made", "i8 packed room"))


@launches
def unpack_lz4(gpu: Launcher, src: Array, packed: Array, dst: Array, room: Array) -> Batch:
    """Unpack LZ4 blocks without a frame.

    Parameters
    ----------
    src, packed
        ``int64[N]``: addresses of the blocks, and their bytes.
    dst, room
        ``int64[N]``: addresses of the results, and their bytes. What a block does not fill becomes 0.

    Returns
    -------
    Batch
        Bytes that each block held, ``int64[N]``; -1 for what is no block, or holds more than there is room for.
    """
    made = gpu.batch([[len(src)]], INT64)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "out_made": made.addresses[0] + 8 * np.arange(len(src)),
        "packed": packed,
        "room": room,
    }
    UNPACK_LZ4.launch(gpu, (), np.ones(len(src), np.int64), sample)
    return made
