"""Sound: pre-emphasis, spectra, filter banks, decibels; see :mod:`dali_lab.kernels.cpu.audio`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.audio import LOG10_OF_2
from dali_lab.kernels.cuda.kernel import THREADS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.reductions import reduce
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT

PREEMPHASIS = Kernel(
    "audio.cu",
    "preemphasis",
    sample=("u8 data out", "i8 total", "f8 coefficient"),
    param=("i4 border",),
    types=(("f4", "f8"),),
)
_SPECTRUM = "i4 nfft bins size step before reflect squared time_first"
_ROOM = (512, 2048)
"""Lengths of transforms that shared memory has room for: 8 and 32 KiB."""
SPECTRUM = Kernel(
    "audio.cu",
    "spectrum",
    sample=("u8 data window waves out", "i8 length count"),
    param=(_SPECTRUM, "i4 radices[8]"),
    types=(_ROOM,),
    shares=True,
)
LONG_SPECTRUM = Kernel(
    "audio.cu", "long_spectrum", sample=("u8 data window waves out", "i8 total length count"), param=(_SPECTRUM,)
)
FILTER_BANK = Kernel(
    "audio.cu",
    "filter_bank",
    sample=("u8 data bounds weights factors out", "i8 total length inner"),
    param=("i4 filters pitch",),
)
DECIBELS = Kernel("audio.cu", "decibels", sample=("u8 data largest out", "i8 total"), param=("f4 floor scale",))


@launches
def preemphasis(
    gpu: Launcher, src: Array, dst: Array, counts: Array, coefficients: Array, border: int, like: Array
) -> None:
    """``y[t] = x[t] - c · x[t - 1]``; `border` says what comes before the first element."""
    sample: dict[str, Any] = {"data": src, "out": dst, "coefficient": coefficients}
    PREEMPHASIS.launch(gpu, (like.dtype,), counts, sample, {"border": border})


@launches
def spectrum(
    gpu: Launcher, src: Array, dst: Array, lengths: Array, counts: Array, *, nfft: int, window: Array, step: int,
    before: int, reflect: bool, squared: bool, time_first: bool,
) -> None:  # fmt: skip
    """Powers (or magnitudes) of ``counts[n]`` weighted windows of each signal of ``lengths[n]`` elements.

    Up to 2,048 elements are transformed by a fast transform in float32, in shared memory; of more, sums are formed
    directly, in float64.
    """
    bins = nfft // 2 + 1
    fast = nfft <= _ROOM[-1]
    angles = 2 * np.pi / nfft * np.arange(nfft)
    waves = np.stack([np.cos(angles), -np.sin(angles)], axis=1)
    sample: dict[str, Any] = {
        "data": src,
        "window": gpu.constant(window),
        "waves": gpu.constant(waves.astype(np.float32) if fast else waves),
        "out": dst,
        "length": lengths,
        "count": counts,
    }
    param = {
        "nfft": nfft,
        "bins": bins,
        "size": min(len(window), nfft),
        "step": step,
        "before": before,
        "reflect": reflect,
        "squared": squared,
        "time_first": time_first,
    }
    if not fast:
        LONG_SPECTRUM.launch(gpu, (), counts * bins, sample, param)
        return
    radices = np.zeros(8, np.int32)
    found = _radices(nfft)
    radices[: len(found)] = found
    room = next(room for room in _ROOM if nfft <= room)
    SPECTRUM.launch(gpu, (room,), -(-counts // 2) * THREADS, sample, {**param, "radices": radices})


def _radices(length: int) -> list[int]:
    """Factors of the length of a transform: fours, as they take the fewest products, and primes."""
    found = []
    factor = 4
    while length > 1:
        if length % factor == 0:
            found.append(factor)
            length //= factor
        else:
            factor = {4: 2, 2: 3}.get(factor, factor + 2)
    return found


@launches
def filter_bank(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, tables: Array, bounds: Array, weights: Array, factors: Array,
    like: Array,
) -> None:  # fmt: skip
    """Weighted sums along the middle axis; see :func:`dali_lab.kernels.cpu.audio.filter_bank`."""
    count, filters = bounds.shape[:2]
    pitch = weights.shape[2]
    total = shapes[:, 0] * filters * shapes[:, 2]
    sample: dict[str, Any] = {
        "data": src,
        "bounds": gpu.constant(bounds.astype(np.int64)) + tables * filters * 16,
        "weights": gpu.constant(weights) + tables * filters * pitch * 4,
        "factors": gpu.constant(factors) + tables * filters * 4,
        "out": dst,
        "length": shapes[:, 1],
        "inner": shapes[:, 2],
    }
    assert (tables < count).all()
    FILTER_BANK.launch(gpu, (), total, sample, {"filters": filters, "pitch": pitch})


@launches
def decibels(
    gpu: Launcher, src: Array, dst: Array, counts: Array, multiplier: float, reference: float, least: float, like: Array
) -> None:
    """``multiplier · log10(max(least, x / reference))``; a `reference` of 0 stands for the sample's largest value."""
    if reference:
        largest: Any = gpu.constant(np.array([reference], np.float32))
    else:
        found = gpu.batch(np.ones((len(src), 1), np.int64), FLOAT)
        reduce(gpu, "max", Batch(src, counts.reshape(-1, 1), FLOAT), found, (0,), start=0.0)
        largest = found.addresses
    sample: dict[str, Any] = {"data": src, "largest": largest, "out": dst}
    DECIBELS.launch(gpu, (), counts, sample, {"floor": least, "scale": np.float32(multiplier) * LOG10_OF_2})
