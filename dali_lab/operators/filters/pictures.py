"""Pictures of a batch one by one, as OpenCV takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.schema import Call

Array = npt.NDArray[Any]
LAYOUTS = ("HW", "HWC", "CHW")


def each(call: Call, data: Batch, out: Batch) -> Iterator[tuple[int, Array, Array]]:
    """The sample's index, a picture (height, width and channels, or height and width), and where its result goes.

    Planar samples come plane by plane; nothing comes for empty ones, or once the result is no longer wanted.
    """
    planar = data.layout == "CHW"
    sources, targets = data.arrays(), out.arrays()
    for index in np.flatnonzero(data.sizes).tolist():
        if call.cancelled():
            return
        source, target = sources[index], targets[index]
        if planar:
            for plane in range(source.shape[0]):
                yield index, source[plane], target[plane]
        else:
            yield index, source, target


def groups(channels: int, most: int = 4) -> list[slice]:
    """Channels in groups of at most `most`: more than four are too many for some of OpenCV's functions."""
    return [slice(start, min(start + most, channels)) for start in range(0, channels, most)]
