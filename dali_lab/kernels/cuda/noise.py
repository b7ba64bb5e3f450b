"""Noise over samples; :mod:`dali_lab.kernels.cpu.noise` has the same functions for the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import WORDS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.streams import Stream, grains, real_of

_TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4")
_KEY = ("i8 key low", "i4 phase")

GAUSSIAN = Kernel(
    "noise.cu",
    "gaussian",
    sample=("u8 data out", "i8 total high", "f4 mean stddev"),
    param=_KEY,
    types=(_TYPES, ("f4", "f8")),
)
SALT_AND_PEPPER = Kernel(
    "noise.cu",
    "salt_and_pepper",
    sample=("u8 data out", "i8 pixels channels high salt pepper", "f4 chance salt_chance"),
    param=(*_KEY, "i4 planes"),
    types=(WORDS,),
)
SHOT = Kernel("noise.cu", "shot", sample=("u8 data out", "i8 total high", "f4 factor"), param=_KEY, types=(_TYPES,))
JITTER = Kernel(
    "noise.cu",
    "jitter",
    sample=("u8 data out", "i8 total high", "i4 height width channels degree chosen"),
    param=_KEY,
    types=(WORDS,),
)


def _key(stream: Stream) -> dict[str, Any]:
    key, low, phase = stream.key
    return {"key": key.astype(np.int64), "low": low.astype(np.int64), "phase": int(phase)}


@launches
def add_gaussian_noise(
    gpu: Launcher, stream: Stream, src: Array, dst: Array, counts: Array, mean: Array, stddev: Array,
    dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Add normal numbers; see :func:`dali_lab.kernels.cpu.noise.add_gaussian_noise`."""
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "high": stream.highs.astype(np.int64),
        "mean": mean,
        "stddev": stddev,
    }
    GAUSSIAN.launch(gpu, (dtype, real_of(np.dtype(dtype))), counts, sample, _key(stream))


@launches
def add_salt_and_pepper(
    gpu: Launcher, stream: Stream, src: Array, dst: Array, pixels: Array, channels: Array, prob: Array,
    salt_vs_pepper: Array, salt: Array | None, pepper: Array | None, dtype: npt.DTypeLike, *,
    channels_first: bool = False,
) -> None:  # fmt: skip
    """Replace pixels; see :func:`dali_lab.kernels.cpu.noise.add_salt_and_pepper`."""
    word = f"u{np.dtype(dtype).itemsize}"
    bright, dark = (values.view(word).astype(np.int64) for values in grains(len(pixels), salt, pepper, dtype))
    chance = np.asarray(prob, np.float32)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "pixels": pixels,
        "channels": channels,
        "high": stream.highs.astype(np.int64),
        "salt": bright,
        "pepper": dark,
        "chance": chance,
        "salt_chance": chance * np.asarray(salt_vs_pepper, np.float32),
    }
    SALT_AND_PEPPER.launch(gpu, (word,), pixels, sample, {**_key(stream), "planes": channels_first})


@launches
def add_shot_noise(
    gpu: Launcher, stream: Stream, src: Array, dst: Array, counts: Array, factor: Array, dtype: npt.DTypeLike
) -> None:
    """Replace elements by Poisson numbers; see :func:`dali_lab.kernels.cpu.noise.add_shot_noise`."""
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "high": stream.highs.astype(np.int64),
        "factor": factor,
    }
    SHOT.launch(gpu, (dtype,), counts, sample, _key(stream))


@launches
def jitter(
    gpu: Launcher, stream: Stream, src: Array, dst: Array, shapes: Array, degrees: npt.ArrayLike,
    chosen: npt.ArrayLike, dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Take each element from a place nearby; see :func:`dali_lab.kernels.cpu.noise.jitter`."""
    total = np.prod(shapes, axis=1)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "high": stream.highs.astype(np.int64),
        "height width channels": shapes,
        "degree": degrees,
        "chosen": chosen,
    }
    JITTER.launch(gpu, (f"u{np.dtype(dtype).itemsize}",), total, sample, _key(stream))
