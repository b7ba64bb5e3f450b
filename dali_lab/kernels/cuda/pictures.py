"""The rows of kernels that make pictures of another size: warps and projections, of planes of a volume too."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Fields

MOVED: Fields = ("u8 data out", "i8 total", "i4 height width channels out_height out_width")


def moved(src: Array, dst: Array, shapes: Array, sizes: Array, planes: Array) -> dict[str, Any]:
    """The columns of :data:`MOVED`; a thread makes a pixel.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    shapes
        ``int64[N, 3]``: height, width and channels of the sources.
    sizes
        ``int64[N, 2]``: height and width of the results.
    planes
        ``int64[N]``: pictures in a result, one after the other.
    """
    return {
        "data": src,
        "out": dst,
        "total": planes * np.prod(np.asarray(sizes, np.int64), axis=1),
        "height width channels": shapes,
        "out_height out_width": sizes,
    }
