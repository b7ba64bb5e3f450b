"""Base of reductions: the axes, shapes and layouts of results, and the loop over a chunk."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, is_contiguous, over_elements
from dali_lab.model.dtypes import BOOL, FLOAT, FLOAT16, FLOAT64, UINT8, DALIDataType
from dali_lab.model.promotion import is_float, is_integer
from dali_lab.schema import Call, Input, Operator, Output, flag
from dali_lab.schema.axes import ONE_WAY, axes_arguments, chosen_axes

Array = npt.NDArray[Any]
_SUMMED = {
    UINT8: UINT8, BOOL: UINT8, dtypes.INT8: dtypes.INT16, dtypes.INT16: dtypes.INT16, dtypes.UINT16: dtypes.INT32,
    dtypes.INT32: dtypes.INT32, FLOAT16: FLOAT, FLOAT: FLOAT,
}  # fmt: skip
"""Types of which a kernel forms sums, and the types that it takes in place of them."""
_LARGE = (dtypes.UINT16, dtypes.INT32, dtypes.UINT32, dtypes.INT64, dtypes.UINT64)
"""Types of which, or of the squares of which, FLOAT does not hold all numbers."""
DATA = Input("data", kind="tensor", doc="Any tensors.")
AXES = (
    *axes_arguments(
        "Axes to reduce; all by default, none for an empty list. Negative ones count from the end.", important=True
    ),
    flag("keep_dims", "Keep reduced axes with one element."),
)


class Reduction(Operator):
    """Base of the reductions."""

    inputs: ClassVar[tuple[Input, ...]] = (DATA,)
    outputs = (
        Output(
            "output",
            kind="tensor",
            doc="One number for each group of elements; the axes go, or stay with extent 1 where `keep_dims` says so.",
        ),
    )
    on_gpu = True
    rules = (ONE_WAY,)
    gpu_tolerance = (4e-3, "numbers add up in float64; a sum of 2**15 in float32, as on the CPU, has steps of 0.004")

    def axes_of(self, call: Call, data: Batch) -> tuple[int, ...]:
        """The axes to reduce, in order; raises the errors of :func:`~dali_lab.schema.axes.chosen_axes`."""
        axes = chosen_axes(call, data)
        return tuple(range(data.ndim)) if axes is None else tuple(sorted(axes))

    def reduced(
        self,
        call: Call,
        data: Batch,
        axes: tuple[int, ...],
        dtype: DALIDataType,
        others: tuple[Batch, ...] = (),
        **on_gpu: object,
    ) -> Batch:
        """A new batch whose reduced axes have one element, or are gone.

        The kernel of the GPU gets `on_gpu` and the operator's name.
        """
        kept_shapes = data.shapes.copy()
        kept_shapes[:, list(axes)] = 1
        keep = self.value("keep_dims")
        kept = [axis for axis in range(data.ndim) if keep or axis not in axes]
        layout = "".join(data.layout[axis] for axis in kept) if data.layout else ""
        out = call.allocate(np.ascontiguousarray(kept_shapes[:, kept]), dtype, layout)
        if not int(out.sizes.sum()):
            return out
        if call.gpu is not None:
            call.kernels("reductions").reduce(self.name.rpartition(".")[2], data, out, axes, **on_gpu)
            return out
        full = out.replaced(shapes=kept_shapes)
        with np.errstate(all="ignore"):
            if not axes or not self.in_one_pass(data, full, axes, *others):
                for index in range(len(data)):
                    self.reduce(full.array(index), data.array(index), axes, *(each.array(index) for each in others))
        return out

    def in_one_pass(self, data: Batch, out: Batch, axes: tuple[int, ...], *others: Batch) -> bool:
        """Fill `out`, whose reduced axes have one element, by one kernel over the chunk, if there is one for it."""
        raise NotImplementedError

    def reduce(self, out: Array, data: Array, axes: tuple[int, ...], *others: Array) -> None:
        """Fill the result of one sample, of any type; `axes` may be empty."""
        raise NotImplementedError


class Summing(Reduction):
    """Base of the reductions by sums: of numbers, squares, or squares of distances from a mean.

    FLOAT adds up in FLOAT and in NVIDIA DALI's order (:mod:`dali_lab.kernels.cpu.totals`), FLOAT64 as NumPy does it.
    """

    summand: ClassVar[str] = "SUM"

    def in_one_pass(self, data: Batch, out: Batch, axes: tuple[int, ...], *others: Batch) -> bool:
        from dali_lab.kernels.cpu import totals
        from dali_lab.kernels.cpu.memory import like, rows

        whole = is_integer(out.dtype)
        if not is_contiguous(out) or out.dtype in (BOOL, FLOAT64) or data.dtype == FLOAT64:
            return False
        if whole and (is_float(data.dtype) or data.dtype not in _SUMMED):
            return False
        kind = getattr(totals, self.summand)
        total = np.empty(int(out.sizes.sum()), np.int64 if whole else np.float32)
        few = totals.exact(kind, np.uint8 if data.dtype == BOOL else data.kind, total.dtype)
        if not whole and kind == totals.SQUARES and data.dtype in _LARGE:
            data = over_elements(lambda values: self.summands(values, total.dtype), data, FLOAT)
            kind, few = totals.SUM, totals.FEW
        summed = FLOAT if not whole and data.dtype in _LARGE else _SUMMED[data.dtype]
        if data.dtype == BOOL:
            data = data.replaced(dtype=UINT8)
        elif data.dtype != summed:
            data = over_elements(lambda values: values, data, summed)
        about = steps = out.sizes[:0]
        if others:
            about, steps = others[0].addresses, np.asarray(others[0].sizes != 1, np.int64)
        extents = totals.levels(data.shapes, axes)
        totals.accumulate(kind, rows(data.addresses), extents, few, rows(about), steps, total, like(data.kind))
        count = np.repeat(data.shapes[:, list(axes)].prod(axis=1), out.sizes)
        self.finish(flat(out), total.astype(accumulator(out.kind), copy=False), count)
        return True

    def reduce(self, out: Array, data: Array, axes: tuple[int, ...], *others: Array) -> None:
        kind = accumulator(out.dtype)
        total = np.add.reduce(self.summands(data, kind, *others), axis=axes, dtype=kind, keepdims=True)
        self.finish(out, total, np.asarray(np.prod([data.shape[axis] for axis in axes], dtype=np.int64)))

    def summands(self, data: Array, kind: np.dtype[Any], *others: Array) -> Array:
        """The summands, in the type `kind`."""
        return data

    def finish(self, out: Array, total: Array, count: Array) -> None:
        """Fill `out` from a sum of `count` elements, given in the type in which it was formed."""
        raise NotImplementedError


def accumulator(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The type in which numbers are added up, one sample at a time: floats in float64; integers wrap in their own."""
    kind = np.dtype(dtype)
    return np.dtype(np.float64) if kind.kind == "f" else kind
