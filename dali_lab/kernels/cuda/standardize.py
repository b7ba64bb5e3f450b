"""Elements less their mean, over their deviation, as :mod:`dali_lab.operators.tensor.normalize` has it."""

from __future__ import annotations

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.copy import AXES, padded
from dali_lab.kernels.cuda.kernel import NUMBERS, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.reductions import Kind, reduce
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT64, numpy_dtype

STANDARDIZE = Kernel(
    "standardize.cu",
    "standardize",
    sample=(
        "u8 data mean inverse out",
        "i8 total",
        f"i4 shape[{AXES}]",
        f"i8 mean_stride[{AXES}] inverse_stride[{AXES}]",
    ),
    param=("i4 ndim", "f4 scale shift"),
    types=(NUMBERS, NUMBERS),
)
INVERSE_DEVIATION = Kernel(
    "standardize.cu",
    "inverse_deviation",
    sample=("u8 data out", "i8 total divisor"),
    param=("i4 found", "f4 epsilon"),
)


@launches
def standardize(
    gpu: Launcher, data: Batch, out: Batch, axes: tuple[int, ...], *, mean: Batch | Array | None,
    deviation: Batch | Array | None, together: bool, ddof: int, epsilon: float, scale: float, shift: float,
) -> None:  # fmt: skip
    """Fill `out` with ``(data - mean) / deviation * scale + shift``.

    Parameters
    ----------
    axes
        Axes along which a mean or a deviation that is `None` is found.
    mean, deviation
        FLOAT on the CPU: one number for all, or a batch that can be stretched over the samples.
    together
        Find them over the whole batch.
    ddof, epsilon
        As the operator has them.
    """
    kept = data.shapes.copy()
    kept[:, list(axes)] = 1
    lengths = data.shapes[:, list(axes)].prod(axis=1)
    divisor = np.full(len(data), lengths.sum()) if together else lengths
    if mean is None:
        means = _found(gpu, "mean", data, kept, axes, together, divisor)
        mean_stride = _strides(kept, data.shapes)
    else:
        means, mean_stride = _given(gpu, mean, data)
    if deviation is None:
        # A deviation is found about what has the shape of what is left, or is one number.
        if bool((means.sizes == kept.prod(axis=1)).all() or (means.sizes == 1).all()):
            spread = _found(gpu, "spread", data, kept, axes, together, divisor, means)
        else:
            apart = _apart(gpu, data, means, mean_stride)
            zero = _given(gpu, np.zeros(1, np.float32), data)[0]
            spread = _found(gpu, "spread", apart, kept, axes, together, divisor, zero)
        spread_stride = _strides(kept, data.shapes)
    else:
        spread, spread_stride = _given(gpu, deviation, data)
    inverse = gpu.batch(spread.shapes, FLOAT)
    INVERSE_DEVIATION.launch(
        gpu,
        (),
        spread.sizes,
        {"data": spread.addresses, "out": inverse.addresses, "divisor": divisor - ddof},
        {"found": deviation is None, "epsilon": epsilon},
    )
    _launch(gpu, data, out, (means, mean_stride), (inverse, spread_stride), scale, shift)


def _launch(
    gpu: Launcher, data: Batch, out: Batch, mean: tuple[Batch, Array], inverse: tuple[Batch, Array],
    scale: float = 1.0, shift: float = 0.0,
) -> None:  # fmt: skip
    sample = {
        "data": data.addresses,
        "mean": mean[0].addresses,
        "inverse": inverse[0].addresses,
        "out": out.addresses,
        "shape": padded(data.shapes),
        "mean_stride": padded(mean[1]),
        "inverse_stride": padded(inverse[1]),
    }
    types = numpy_dtype(data.dtype), numpy_dtype(out.dtype)
    STANDARDIZE.launch(gpu, types, data.sizes, sample, {"ndim": data.ndim, "scale": scale, "shift": shift})


def _apart(gpu: Launcher, data: Batch, means: Batch, stride: Array) -> Batch:
    """Distances of elements from means that are stretched over the samples, as FLOAT."""
    out = gpu.batch(data.shapes, FLOAT)
    _launch(gpu, data, out, (means, stride), _given(gpu, np.ones(1, np.float32), data))
    return out


def _found(
    gpu: Launcher, kind: Kind, data: Batch, kept: Array, axes: tuple[int, ...], together: bool, divisor: Array,
    mean: Batch | None = None,
) -> Batch:  # fmt: skip
    """Means in FLOAT, or sums of squared distances from them in FLOAT64; of a whole batch the same memory in each."""
    result = FLOAT if kind == "mean" else FLOAT64
    if not together:
        out = gpu.batch(kept, result)
        reduce(gpu, kind, data, out, axes, mean=mean)
        return out
    size = int(kept[0].prod())
    rows = gpu.batch([[len(data), size]], FLOAT64)
    parts = Batch(rows.addresses[0] + np.arange(len(data)) * size * 8, kept, FLOAT64, "", rows.owners)
    reduce(gpu, "sum" if kind == "mean" else kind, data, parts, axes, mean=mean)
    total = gpu.batch([[size]], result)
    reduce(gpu, "mean" if kind == "mean" else "sum", rows, total, (0,), count=divisor[:1])
    return Batch(np.repeat(total.addresses, len(data)), kept, result, "", total.owners)


def _given(gpu: Launcher, values: Batch | Array, data: Batch) -> tuple[Batch, Array]:
    """A given mean or deviation on the device, and its steps along the axes of the samples."""
    if isinstance(values, Batch):
        moved = gpu.upload(values)
        return moved, _strides(values.shapes, data.shapes)
    address = gpu.constant(np.asarray(values, np.float32).reshape(1))
    ones = np.ones_like(data.shapes)
    return Batch(np.full(len(data), address), ones, FLOAT), np.zeros_like(ones)


def _strides(shapes: Array, full: Array) -> Array:
    """Steps along each axis of samples of these shapes, 0 where they are stretched over `full`."""
    steps = np.ones_like(shapes)
    if shapes.shape[1] > 1:
        steps[:, :-1] = np.cumprod(shapes[:, :0:-1], axis=1)[:, ::-1]
    return np.where((shapes == 1) & (full != 1), 0, steps)
