"""Decodes a random window of each picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.decoders.image import DECODING, ImageDecoder, sample_files
from dali_lab.schema import Call, Case, ErrorCase, integer, numbers, register, share

RANDOM_WINDOW = (
    share(
        "random_area",
        (0.08, 1.0),
        "Range of the window's area, as a share of the picture's; not below 0.",
        vector=True,
        length=2,
        important=True,
    ),
    numbers(
        "random_aspect_ratio",
        (3 / 4, 4 / 3),
        "Range of the window's width divided by its height; more than 0.",
        length=2,
        important=True,
        slider=(0.25, 4.0, 0.01),
    ),
    integer(
        "num_attempts",
        10,
        "Attempts to find a window before the largest that fits is taken; at once if there are none.",
        maximum=1_000_000,
    ),
)


def verify_random_window(values: Mapping[str, Any]) -> None:
    """Raise :class:`ArgumentError` where a range is empty, or goes below what an area or a ratio can be."""
    area, ratio = values.get("random_area"), values.get("random_aspect_ratio")
    if area is not None and not (area and 0 <= area[0] <= area[-1] > 0):
        raise ArgumentError(f"must be a range of numbers from 0, not {list(area)}", argument="random_area")
    if ratio is not None and not (ratio and 0 < ratio[0] <= ratio[-1]):
        raise ArgumentError(f"must be a range of positive numbers, not {list(ratio)}", argument="random_aspect_ratio")


def random_windows(call: Call, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A random window of each picture as ``(y0, x0, y1, x1)``; `sizes` are heights and widths."""
    from dali_lab.codecs import random_window

    values = call.operator.values
    return random_window.crop_windows(
        sizes,
        call.generator,
        call.indices,
        (values["random_area"][0], values["random_area"][-1]),
        (values["random_aspect_ratio"][0], values["random_aspect_ratio"][-1]),
        values["num_attempts"],
    )


@register
class ImageRandomCrop(ImageDecoder):
    """Decodes a random window of each picture; only the window is decoded where the format allows it.

    An area and an aspect ratio are drawn until a window of this kind fits the picture; its place is random.
    """

    name = "decoders.image_random_crop"
    title = "Decode a random crop"
    arguments = (*RANDOM_WINDOW, *DECODING)
    random = True
    without_draws = "decoders.image"
    needs_sizes = True
    example = """
    >>> images = fn.decoders.image_random_crop(encoded, random_area=[0.1, 1.0])
    >>> images = fn.resize(images, size=[224, 224])
    """

    @classmethod
    def decoded_whole(cls) -> tuple[str, str] | None:
        return "_whole_picture", "_random_window"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        verify_random_window(values)

    def regions(self, call: Call, sizes: npt.NDArray[np.int64], others: Sequence[Batch]) -> npt.NDArray[np.int64]:
        return random_windows(call, sizes)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        files = (sample_files(),)
        yield Case(files, {}, batches=5)
        yield Case(files, {"random_area": (0.1, 0.3), "random_aspect_ratio": (0.5, 2.0)}, batches=5)
        yield Case(files, {"seed": 99, "num_attempts": 1}, batches=3)
        yield Case(([file.view(np.int8)[None] for file in sample_files()],), {"seed": 5})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((sample_files(),), {"random_area": (0.5, 0.1)}, words=("random_area",))
