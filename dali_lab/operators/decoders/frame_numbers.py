"""Frame numbers of a sequence, and padding beyond the ends of its video."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.video_index import FrameIndex, Numbers
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import DaliLabError, as_ours
from dali_lab.schema import Arg, Call, choice, integers

_MODES = (("", "none"), ("repeat", "edge"), ("symmetric", "reflect_1001"), ("reflect", "reflect_101"))
_FILLED = "'edge' (or 'repeat'), 'reflect_1001' ('symmetric', ABC → ABCCBA) or 'reflect_101' ('reflect', ABC → ABCBA)"


def pad_mode(default: str) -> Arg:
    """The argument for the padding mode beyond the ends of a video."""
    return choice(
        "pad_mode",
        default,
        ("none", "constant", "edge", "reflect_1001", "reflect_101"),
        f"What stands for frames beyond the ends: 'constant' (`fill_value`), {_FILLED}; with 'none' there are none.",
        synonyms=_MODES,
    )


FILL_VALUE = integers(
    "fill_value", (0,), "Colour of frames that are filled: one number, or one for each channel.", minimum=0, maximum=255
)


MOST_FRAMES = 1 << 24
"""Frames of a sequence that may be asked for."""


def padded(numbers: Numbers, count: int, mode: str) -> Numbers:
    """Numbers of frames that a video of `count` frames has; −1 where a constant stands for a frame.

    Raises
    ------
    IndexError
        If one is outside and the mode is ``"none"``; it holds the number.
    """
    outside = (numbers < 0) | (numbers >= count)
    if not outside.any():
        return numbers
    if mode == "none":
        raise IndexError(int(numbers[outside.argmax()]))
    if mode == "constant":
        return np.where(outside, -1, numbers)
    if mode == "edge":
        return np.clip(numbers, 0, count - 1)
    period = max(1, 2 * count if mode == "reflect_1001" else 2 * count - 2)
    folded = numbers % period
    last = period - 1 if mode == "reflect_1001" else period
    return np.where(folded < count, folded, last - folded)


def empty_frames(call: Call, indices: list[FrameIndex], numbers: list[Numbers], dtype: DALIDataType) -> Batch:
    """Memory for sequences, FHWC."""
    shapes = [
        (len(wanted), index.height, index.width, 3) for index, wanted in zip(indices, numbers, strict=True)
    ] or np.zeros((0, 4))
    return call.allocate(shapes, dtype, "FHWC")


def filled(out: npt.NDArray[Any], wanted: Numbers, color: tuple[int, ...]) -> tuple[list[int], list[npt.NDArray[Any]]]:
    """Fill the frames that are a constant; returns the other frame numbers and the memory of each."""
    out[wanted < 0] = color
    there = np.flatnonzero(wanted >= 0)
    return wanted[there].tolist(), [out[place] for place in there.tolist()]


@contextlib.contextmanager
def named(call: Call, sample: int, source: str | None) -> Iterator[None]:
    """Make errors of the codec and its libraries name the sample and its file."""
    try:
        yield
    except DaliLabError:
        raise
    except Exception as error:
        reason = error if isinstance(error, CodecError) else as_ours(error).message
        raise call.problem(f"cannot decode the video: {reason}", sample=sample, source=source) from error
