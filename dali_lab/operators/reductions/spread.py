"""Variance and standard deviation about a given mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.operators.reductions.reducing import AXES, DATA, Summing
from dali_lab.operators.reductions.sums import over_count
from dali_lab.operators.tensor.cast import cast
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, integer, register, samples

Array = npt.NDArray[Any]


class _Spread(Summing):
    inputs = (
        DATA,
        Input("mean", kind="tensor", doc="The mean: a scalar, or of the shape that is left after the reduction."),
    )
    arguments: ClassVar[tuple[Arg, ...]] = (
        *AXES,
        integer("ddof", 0, "Subtracted from the number of elements in the divisor; 1 gives an unbiased variance."),
    )
    differs = "A mean of one element serves all results, also where some axes are left (NVIDIA DALI reads beyond it)."
    summand = "SPREAD"
    root = False

    def run(self, call: Call, data: Batch, mean: Batch) -> Batch:
        axes = self.axes_of(call, data)
        kept = data.shapes.copy()
        kept[:, list(axes)] = 1
        mean = cast(Call(self, call.start, call.count, gpu=call.gpu), mean, dtypes.FLOAT)
        if bool((mean.sizes == 1).all()):
            fitting = mean.replaced(shapes=np.ones_like(kept))
        else:
            message = "a mean of shape {:t} does not fit a result of shape {:t}"
            call.refuse(mean.sizes != kept.prod(axis=1), message, mean.shapes, kept)
            fitting = mean.replaced(shapes=kept)
        ddof = self.value("ddof")
        nothing = self._over_nothing(axes)
        return self.reduced(call, data, axes, dtypes.FLOAT, (fitting,), mean=fitting, ddof=ddof, over_nothing=nothing)

    def _over_nothing(self, axes: tuple[int, ...]) -> bool:
        """Whether no axes are reduced; all axes of a single number are none, too."""
        return not axes and (self.has("axes") or self.has("axis_names"))

    def reduce(self, out: Array, data: Array, axes: tuple[int, ...], *others: Array) -> None:
        if self._over_nothing(axes):
            out[...] = 0  # as in NVIDIA DALI, whatever the mean
        else:
            super().reduce(out, data, axes, *others)

    def summands(self, data: Array, kind: np.dtype[Any], *others: Array) -> Array:
        apart = np.asarray(np.subtract(data if data.dtype == np.float64 else data.astype(np.float32), others[0]))
        result: Array = np.multiply(apart, apart, out=apart)
        return result

    def finish(self, out: Array, total: Array, count: Array) -> None:
        variance = over_count(total, count - self.value("ddof"), out.dtype)
        np.copyto(out, np.sqrt(variance) if self.root else variance, casting="unsafe")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = samples.tensors([(3, 4), (1, 4), (6, 2)])
        columns = samples.tensors([(4,), (4,), (2,)])
        yield from Case.each(
            ((data, "HW"), columns),
            {"axes": 0},
            {"axes": 0, "ddof": 1},
            {"axes": [0], "keep_dims": True},
            {"axis_names": "H"},
        )
        numbers = [np.float32(0.5), np.float32(0.25), np.float32(1)]
        yield from Case.each(((data, "HW"), numbers), {}, {"axes": [0, 1]}, {"ddof": -1}, {"keep_dims": True})
        yield Case((samples.pictures(), numbers), {}, name="benchmark")
        whole = samples.tensors([(3, 4), (2, 4), (6, 2)], np.uint8)
        yield Case((whole, [row.mean(axis=0).astype(np.float32) for row in whole]), {"axes": 0})
        yield Case((data, [row.copy() for row in data]), {"axes": []})
        yield Case((data, numbers), {"axes": [], "ddof": 1})
        yield from Case.each(([row[0, 0] for row in data], numbers), {}, {"ddof": 1}, {"axes": []})
        large = [np.array([[2**24 + 1, 2**30 + 7]], np.int32)] * 3
        yield Case((large, [row[0].astype(np.float32) for row in large]), {"axes": 0, "ddof": 2})
        rows = [row.mean(axis=0, keepdims=True) for row in data]
        yield Case((data, rows), {"axes": 0})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        data = samples.tensors([(3, 4), (1, 4), (6, 2)])
        yield ErrorCase((data,), {}, ("2 inputs",))
        yield ErrorCase((data, samples.tensors([(3,)] * 3)), {"axes": 0}, ("(3,)", "(1, 4)"))
        yield ErrorCase((data, samples.tensors([()] * 3)), {"axes": 2}, ("axes", "2"))


@register
class Variance(_Spread):
    """Gives the mean square distance of elements from a mean, along axes."""

    name = "reductions.variance"
    example = """
    >>> mean = fn.reductions.mean(images, axis_names="HW", keep_dims=True)
    >>> spread = fn.reductions.variance(images, mean, axis_names="HW", keep_dims=True)
    """


@register
class StdDev(_Spread):
    """Gives the standard deviation of elements from a mean, along axes."""

    name = "reductions.std_dev"
    title = "Standard deviation"
    root = True
    example = """
    >>> mean = fn.reductions.mean(images, axis_names="HW", keep_dims=True)
    >>> spread = fn.reductions.std_dev(images, mean, axis_names="HW", keep_dims=True)
    """
