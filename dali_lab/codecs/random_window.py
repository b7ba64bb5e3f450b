"""Random crop windows of a given range of area and aspect ratio, the same as NVIDIA DALI draws for the same seed.

They belong to ``decoders.image_random_crop``, ``random_resized_crop`` and ``random_crop_generator`` alike. Each sample
has a Philox4x32-10 generator of its own, from which the attempts and then the two anchors are drawn in turn.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu import background
from dali_lab.kernels.cpu.memory import kernel, part
from dali_lab.kernels.cpu.philox import next_word, start_words
from dali_lab.kernels.streams import GeneratorState, open_stream

#: Constant that NVIDIA DALI mixes into an operator's seed, so that windows are independent of its other draws.
SEED_MODIFIER = 0x12345678ABCDEFE

_U32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def crop_windows(
    sizes: npt.NDArray[np.int64],
    state: GeneratorState,
    indices: npt.NDArray[np.int64],
    random_area: tuple[float, float] = (0.08, 1.0),
    random_aspect_ratio: tuple[float, float] = (3 / 4, 4 / 3),
    num_attempts: int = 10,
) -> npt.NDArray[np.int64]:
    """Draw one window for each sample.

    Parameters
    ----------
    sizes
        ``int64[N, 2 or more]``, height and width of each picture first; where either is not positive the
        window is all zeros.
    state
        The operator's generator before this batch.
    indices
        ``int64[N]``, position of each sample in its batch.
    random_area
        Range of the window's area as a part of the picture's.
    random_aspect_ratio
        Range of width over height.
    num_attempts
        How often to draw an area and a ratio until the window fits; then, or at once if this is not positive, the
        largest window that does is taken.

    Returns
    -------
    numpy.ndarray
        ``int64[N, 4]``: y0, x0, y1, x1, half-open.

    Raises
    ------
    ValueError
        If a range is empty, an area negative, or a ratio not positive.
    """
    low_area, high_area = (np.float32(value) for value in random_area)
    low_ratio, high_ratio = (np.float32(value) for value in random_aspect_ratio)
    if not 0 <= low_area <= high_area or not high_area > 0:
        raise ValueError(f"random_area must be a range of numbers from 0, not {random_area}")
    if not 0 < low_ratio <= high_ratio:
        raise ValueError(f"random_aspect_ratio must be a range of positive numbers, not {random_aspect_ratio}")
    stream = open_stream(replace(state, key=state.key ^ SEED_MODIFIER), indices)
    windows = np.zeros((len(sizes), 4), np.int64)
    background.call(
        _draw,
        np.ascontiguousarray(sizes, np.int64),
        stream.key,
        stream.highs,
        low_area,
        high_area,
        low_ratio,
        high_ratio,
        np.float32(np.log(np.float64(low_ratio))),
        np.float32(np.log(np.float64(high_ratio))),
        num_attempts,
        windows,
    )
    return windows


@part
def _real(state: Any, low: Any, high: Any) -> Any:
    """A float32 from `low` to `high`, as the GNU C++ library draws it."""
    unit = np.float32(next_word(state)) * np.float32(2.0**-32)
    if unit >= np.float32(1):
        unit = np.float32(0.99999994)
    return np.float32(unit * np.float32(high - low)) + low


@part
def _integer(state: Any, largest: Any) -> Any:
    """An integer from 0 to `largest`, as the GNU C++ library draws it (Lemire's method)."""
    count = np.uint64(largest + 1)
    product = next_word(state) * count
    if (product & _U32) < count:
        threshold = (np.uint64(1 << 32) - count) % count
        while (product & _U32) < threshold:
            product = next_word(state) * count
    return np.int64(product >> _32)


@part
def _rounded_root(area: Any) -> Any:
    """Square root in float32, rounded to an integer with halves upwards."""
    return np.int64(np.floor(np.float64(np.sqrt(np.float32(area))) + 0.5))


@part
def _cut(size: Any, part: Any) -> Any:
    return np.int64(np.float32(size) * part)


@kernel
def _draw(
    sizes: Any,
    key: Any,
    highs: Any,
    low_area: Any,
    high_area: Any,
    low_ratio: Any,
    high_ratio: Any,
    low_log: Any,
    high_log: Any,
    num_attempts: Any,
    windows: Any,
) -> None:
    state = np.empty(8, np.uint64)
    one = np.float32(1)
    for i in range(sizes.shape[0]):
        height, width = sizes[i, 0], sizes[i, 1]
        if height <= 0 or width <= 0:
            continue
        start_words(state, key, highs[i], np.uint64(0))
        # Products of two sizes are 32-bit integers there, and wrap around.
        area = np.int64(np.int32(height * width))
        widest = max(1, np.int64(np.float32(height) * high_ratio))
        tallest = max(1, np.int64(np.float32(width) * np.float32(one / low_ratio)))
        smallest_area = np.float32(area) * low_area
        if np.float32(np.int32(height * widest)) < smallest_area:
            rows, columns = height, widest
        elif np.float32(np.int32(width * tallest)) < smallest_area:
            rows, columns = tallest, width
        else:
            rows, columns = np.int64(0), np.int64(0)
            found = False
            for _ in range(num_attempts):
                target = _real(state, low_area, high_area) * np.float32(np.uint64(area))
                ratio = np.float32(math.exp(np.float64(_real(state, low_log, high_log))))
                columns = max(1, _rounded_root(target * ratio))
                rows = max(1, _rounded_root(target / ratio))
                got = np.float32(columns) / np.float32(rows)
                if columns <= width and rows <= height and low_ratio <= got <= high_ratio:
                    found = True
                    break
            if not found:
                largest_area = np.float32(np.float32(high_area * np.float32(width)) * np.float32(height))
                shape = np.float32(width) / np.float32(height)
                if shape > high_ratio:
                    rows, columns = height, widest
                elif shape < low_ratio:
                    rows, columns = tallest, width
                else:
                    rows, columns = height, width
                part = np.float32(1)
                if largest_area < np.float32(rows * columns):
                    part = np.sqrt(np.float32(largest_area / np.float32(rows * columns)))
                rows = max(1, _cut(rows, part))
                columns = max(1, _cut(columns, part))
        # Only products that wrapped around can make a window larger than the picture.
        rows, columns = min(rows, height), min(columns, width)
        top = _integer(state, height - rows)
        left = _integer(state, width - columns)
        windows[i, 0], windows[i, 1], windows[i, 2], windows[i, 3] = top, left, top + rows, left + columns
