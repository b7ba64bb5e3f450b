"""Samples of several batches side by side; see :mod:`dali_lab.kernels.cpu.joining`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import WORDS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

JOIN = Kernel("joining.cu", "join", sample=("u8 data out", "i8 total block pitch"), types=(WORDS,))


@launches
def join(gpu: Launcher, src: Sequence[Array], dst: Array, shapes: Sequence[Array], axis: int, item_size: int) -> None:
    """Copy samples into one, along an axis that all of them have: one launch for all inputs."""
    blocks = np.stack([shape[:, axis:].prod(axis=1) for shape in shapes])
    repeats = shapes[0][:, :axis].prod(axis=1)
    places = (np.cumsum(blocks, axis=0) - blocks) * item_size
    total = blocks * repeats
    sample: dict[str, Any] = {
        "data": np.concatenate(src),
        "out": (dst + places).reshape(-1),
        "block": blocks.reshape(-1),
        "pitch": np.tile(blocks.sum(axis=0), len(src)),
    }
    JOIN.launch(gpu, (f"u{item_size}",), total.reshape(-1), sample)
