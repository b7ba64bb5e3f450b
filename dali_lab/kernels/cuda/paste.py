"""Pasting regions of images into others; see :mod:`dali_lab.kernels.cpu.paste`, which has the same function."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

_TYPES = ("u1", "i2", "i4", "f4")

PASTE = Kernel(
    "paste.cu", "paste", sample=("u8 data out regions", "i8 total pitch", "i4 count"), types=(_TYPES, _TYPES)
)


@launches
def paste_regions(
    gpu: Launcher, canvases: Array, sizes: Array, src: Array, dst: Array, pitches: Array, heights: Array,
    widths: Array, src_dtype: npt.DTypeLike, dst_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """Paste in one launch, a thread for each element of a canvas; see :func:`dali_lab.kernels.cpu.paste.paste_regions`.

    A region belongs to the canvas that its first element lies in.
    """
    item_size = np.dtype(dst_dtype).itemsize
    kept = (np.asarray(heights) > 0) & (np.asarray(widths) > 0)
    full = np.flatnonzero(sizes)
    order = full[np.argsort(canvases[full])]
    owner = order[np.searchsorted(canvases[order], dst[kept], "right") - 1] if kept.any() else np.zeros(0, np.int64)
    inside = dst[kept] - canvases[owner]
    # Addresses in tables of constants are offsets from the first image.
    base = int(src[0]) if len(src) else 0
    table = np.column_stack(
        [
            src[kept] - base,
            pitches[kept, 0],
            inside // pitches[kept, 1],
            inside % pitches[kept, 1] // item_size,
            heights[kept],
            widths[kept],
        ]
    ).astype(np.int64)
    table = table[np.argsort(owner, kind="stable")]
    counts = np.bincount(owner, minlength=len(canvases))
    pitch = np.maximum(sizes, 1)
    pitch[owner] = pitches[kept, 1] // item_size
    PASTE.launch(
        gpu,
        (src_dtype, dst_dtype),
        sizes,
        {
            "data": base,
            "out": canvases,
            "regions": gpu.constant(table) + (np.cumsum(counts) - counts) * table.itemsize * table.shape[1],
            "pitch": pitch,
            "count": counts,
        },
    )
