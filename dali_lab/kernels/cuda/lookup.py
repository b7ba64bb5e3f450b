"""Values from a table, and one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.kernel import NUMBERS, WORDS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher

LOOK_UP = Kernel(
    "lookup.cu",
    "look_up",
    sample=("u8 data values out", "i8 total"),
    param=("i8 last",),
    types=(("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"), WORDS),
)
ONE_HOT = Kernel(
    "lookup.cu",
    "one_hot",
    sample=("u8 labels values out", "i8 total inner"),
    param=("i4 classes",),
    types=(NUMBERS, WORDS),
)


@launches
def look_up(gpu: Launcher, src: Array, dst: Array, sizes: Array, table: Array, src_dtype: npt.DTypeLike) -> None:
    """``out = table[in]``, and the table's last value for integers that are not below its place.

    Parameters
    ----------
    table
        Values in the type of the output, one for each key from 0, and the default at the end.
    """
    sample: dict[str, Any] = {"data": src, "out": dst, "values": gpu.constant(table)}
    LOOK_UP.launch(gpu, (src_dtype, f"u{table.itemsize}"), sizes, sample, {"last": len(table) - 1})


@launches
def one_hot(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, inner: Array, classes: int, values: Array,
    src_dtype: npt.DTypeLike,
) -> None:  # fmt: skip
    """``values[1]`` where a label, its fraction dropped, is the class, else ``values[0]``.

    Parameters
    ----------
    sizes
        Elements of each output, ``[N]``.
    inner
        Elements of the labels after the new axis, ``[N]``.
    classes
        Extent of the new axis.
    """
    sample: dict[str, Any] = {"labels": src, "out": dst, "inner": inner, "values": gpu.constant(values)}
    ONE_HOT.launch(gpu, (src_dtype, f"u{values.itemsize}"), sizes, sample, {"classes": classes})
