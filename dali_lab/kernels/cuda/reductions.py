"""Sums, means, extremes and spreads along axes, as :mod:`dali_lab.operators.reductions` has them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dali_lab.kernels.arrays import Array, Number
from dali_lab.kernels.cuda.copy import AXES, padded
from dali_lab.kernels.cuda.kernel import MOST, NUMBERS, THREADS, Kernel, launches, stated
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT64, INT64, UINT64, numpy_dtype

Kind = Literal["sum", "mean", "mean_square", "rms", "variance", "std_dev", "min", "max", "spread"]

_ACCUMULATORS = ("f8", "i8", "u8")
_MODES = {"sum": 0, "mean": 0, "mean_square": 1, "rms": 1, "variance": 2, "std_dev": 2, "min": 3, "max": 4, "spread": 2}
_ENDS = {"sum": 0, "mean": 1, "mean_square": 1, "rms": 2, "variance": 3, "std_dev": 4, "min": 5, "max": 5, "spread": 0}
_LEAST_WORK = 64
"""Elements that a thread should have to add before another one helps."""
_MOST_PARTS = 4096
"""Parts of all outputs of a sample."""
_FEW_PARTS = stated("reductions.cu", "FEW_PARTS")
_WORTH_A_BREAST = 8

REDUCE_PART = Kernel(
    "reductions.cu",
    "reduce_part",
    sample=(
        "u8 data means start out",
        "i8 total length mean_stride",
        f"i4 kept[{AXES}] gone[{AXES}]",
        f"i8 kept_stride[{AXES}] gone_stride[{AXES}]",
    ),
    param=("i4 ndim parts mode abreast",),
    types=(NUMBERS, _ACCUMULATORS),
)
REDUCE_END = Kernel(
    "reductions.cu",
    "reduce_end",
    sample=("u8 parts out", "i8 total count"),
    param=("i4 parts mode kind abreast",),
    types=(_ACCUMULATORS, NUMBERS),
    shares=True,
)


@launches
def reduce(
    gpu: Launcher, kind: Kind, data: Batch, out: Batch, axes: tuple[int, ...], *, mean: Batch | None = None,
    ddof: int = 0, over_nothing: bool = False, start: Number = 0, count: Array | None = None,
) -> None:  # fmt: skip
    """Reduce axes of each sample; large ones in parts that many threads add up.

    Parameters
    ----------
    kind
        The result; ``"spread"`` is the sum of squared distances from `mean`.
    data, out
        Samples, and allocated results of as many elements as the axes that are left have.
    axes
        Axes that are reduced.
    mean
        For the spreads: FLOAT, of one element or as many as the result.
    ddof
        For the spreads: subtracted from the number of elements.
    over_nothing
        For the spreads: no axes were asked for.
    start
        For extremes: the result for no elements.
    count
        Number of elements that means are of, ``[N]``, where they are not all of the sample's.
    """
    result = numpy_dtype(out.dtype)
    shapes, reduced = _merged(data.shapes, axes)
    ndim = len(reduced)
    strides = np.ones_like(shapes)
    if ndim > 1:
        strides[:, :-1] = np.cumprod(shapes[:, :0:-1], axis=1)[:, ::-1]
    kept, gone = np.where(reduced, 1, shapes), np.where(reduced, shapes, 1)
    length, outputs = gone.prod(axis=1), kept.prod(axis=1)
    if not int(outputs.max(initial=0)):
        return
    # Where the last axis is kept, neighbours in memory belong to neighbouring outputs.
    abreast = bool(ndim and not reduced[-1] and shapes[:, -1].min() >= _WORTH_A_BREAST)
    parts = int(np.clip(length.max() // _LEAST_WORK, 1, max(1, _MOST_PARTS // int(outputs.max()))))
    accumulator = FLOAT64 if result.kind == "f" else INT64 if result.kind == "i" else UINT64
    mode = _MODES[kind]
    number = length - ddof if count is None else count
    if over_nothing:
        length, number = np.zeros_like(length), np.ones_like(length)  # as on the CPU, 0 whatever the mean
    sums = gpu.batch((outputs * parts).reshape(-1, 1), accumulator)
    begin = np.array([start if mode > 2 else 0], numpy_dtype(accumulator))
    sample: dict[str, Any] = {
        "data": data.addresses,
        "start": gpu.constant(begin),
        "out": sums.addresses,
        "total": outputs * parts,
        "length": length,
        "kept": padded(kept),
        "gone": padded(gone),
        "kept_stride": padded(strides),
        "gone_stride": padded(strides),
    }
    if mean is not None:
        sample |= {"means": mean.addresses, "mean_stride": np.where(mean.sizes == 1, 0, 1)}
    REDUCE_PART.launch(
        gpu,
        (numpy_dtype(data.dtype), numpy_dtype(accumulator)),
        outputs * parts,
        sample,
        {"ndim": ndim, "parts": parts, "mode": mode, "abreast": abreast},
    )
    REDUCE_END.launch(
        gpu,
        (numpy_dtype(accumulator), result),
        outputs if parts <= _FEW_PARTS else outputs * THREADS,
        {"parts": sums.addresses, "out": out.addresses, "total": outputs, "count": number},
        {"parts": parts, "mode": mode, "kind": _ENDS[kind], "abreast": abreast},
    )


def _merged(shapes: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Shapes with neighbouring axes as one where all of them are reduced or none, and which of the axes are."""
    reduced = np.zeros(shapes.shape[1], bool)
    reduced[list(axes)] = True
    if not len(reduced):
        return shapes, reduced
    starts = np.concatenate([[0], np.flatnonzero(np.diff(reduced)) + 1])
    merged = np.multiply.reduceat(shapes, starts, axis=1)
    return (merged, reduced[starts]) if merged.max(initial=0) <= MOST else (shapes, reduced)
