"""Non-silent regions of sounds; :func:`dali_lab.kernels.cpu.audio.nonsilent` has it on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT32, numpy_dtype

_PARTS = 256
_RUN = 4096
_MOST_EXACT = 2
"""Squares of whole numbers of so many bytes add up without rounding, so that sums may begin anywhere."""
_WHOLE = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")

MEAN_SQUARES = Kernel(
    "silence.cu",
    "mean_squares",
    sample=("u8 data out", "i8 total length run"),
    param=("i4 window",),
    types=((*_WHOLE, "f4"), ("f4", "f8")),
)
LARGEST_PART = Kernel("silence.cu", "largest_part", sample=("u8 power out", "i8 length"), param=("i4 parts",))
LOUD_PART = Kernel(
    "silence.cu", "loud_part", sample=("u8 power most out", "i8 length"), param=("i4 parts", "f4 reference ratio")
)
LOUD_REGION = Kernel(
    "silence.cu", "loud_region", sample=("u8 places out_begin out_length", "i8 length"), param=("i4 parts window",)
)


@launches
def nonsilent(
    gpu: Launcher, sound: Batch, begins: Batch, lengths: Batch, window: int, reset: int, reference: float, ratio: float
) -> None:
    """Begin and length of what is not silent in each sound.

    Parameters
    ----------
    sound
        One dimension, integers or float32.
    begins, lengths
        Allocated, INT32, one element each.
    window
        Length of a window.
    reset
        Windows after which a sum of float32 begins anew, -1 for never: a thread makes as many one after the other.
    reference
        Power of 0 dB; 0 stands for the largest one of each sound.
    ratio
        Share of it below which a window is silent.
    """
    kind, length = numpy_dtype(sound.dtype), sound.sizes
    if kind.kind != "f":
        reset = _RUN if kind.itemsize <= _MOST_EXACT else -1
    run = np.maximum(length, 1) if reset < 0 else np.full(len(sound), reset)
    power = gpu.batch(sound.shapes, FLOAT)
    threads = -(-length // run)
    sample: dict[str, Any] = {
        "data": sound.addresses,
        "out": power.addresses,
        "total": threads,
        "length": length,
        "run": run,
    }
    MEAN_SQUARES.launch(
        gpu, (kind, np.float32 if kind.kind == "f" else np.float64), threads, sample, {"window": window}
    )
    parts = np.full(len(sound), _PARTS)
    most = gpu.batch(parts.reshape(-1, 1), FLOAT)
    found = {"power": power.addresses, "length": length}
    LARGEST_PART.launch(gpu, (), parts, {**found, "out": most.addresses}, {"parts": _PARTS})
    places = gpu.batch((2 * parts).reshape(-1, 1), INT32)
    param = {"parts": _PARTS, "reference": reference, "ratio": ratio}
    LOUD_PART.launch(gpu, (), parts, {**found, "most": most.addresses, "out": places.addresses}, param)
    sample = {
        "places": places.addresses,
        "out_begin": begins.addresses,
        "out_length": lengths.addresses,
        "length": length,
    }
    LOUD_REGION.launch(gpu, (), np.ones(len(sound)), sample, {"parts": _PARTS, "window": window})
