"""The least and the largest element along axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INT32, UINT8
from dali_lab.operators.reductions.reducing import AXES, Reduction
from dali_lab.schema import Arg, Call, Case, ErrorCase, register, samples

Array = npt.NDArray[Any]


_COMPILED = (UINT8, INT16, INT32, FLOAT)
"""Types for which there is a kernel over samples of different shapes."""


def limit(kind: np.dtype[Any], *, lowest: bool) -> Any:
    """The lowest or the highest number of a type."""
    if kind.kind == "b":
        return not lowest
    limits: Any = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    return limits.min if lowest else limits.max


class _Extreme(Reduction):
    arguments: ClassVar[tuple[Arg, ...]] = AXES
    differs = "bool, float16 and FLOAT64 are taken too."
    pick: ClassVar[Callable[..., Array]]
    of_nothing_is_lowest: ClassVar[bool]

    def run(self, call: Call, data: Batch) -> Batch:
        start = limit(data.kind, lowest=self.of_nothing_is_lowest)
        return self.reduced(call, data, self.axes_of(call, data), data.dtype, start=start)

    def in_one_pass(self, data: Batch, out: Batch, axes: tuple[int, ...], *others: Batch) -> bool:
        from dali_lab.kernels.cpu import extremes
        from dali_lab.kernels.cpu.memory import like, rows
        from dali_lab.kernels.cpu.totals import levels

        kind = data.kind
        if data.dtype not in _COMPILED:
            return False
        start = kind.type(limit(kind, lowest=self.of_nothing_is_lowest))
        which = extremes.LARGEST if self.of_nothing_is_lowest else extremes.LEAST
        extents = levels(data.shapes, axes)
        extremes.extremes(which, rows(data.addresses), rows(out.addresses), extents, start, like(kind))
        return True

    def reduce(self, out: Array, data: Array, axes: tuple[int, ...], *others: Array) -> None:
        # NaN is passed over; of nothing, the result is the type's own limit.
        start = limit(out.dtype, lowest=self.of_nothing_is_lowest)
        np.copyto(out, type(self).pick(data, axis=axes, keepdims=True, initial=start))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = (samples.tensors([(3, 4), (1, 4), (6, 2)], np.int16), "HW")
        yield from Case.each(
            (data,),
            {},
            {"axes": 0},
            {"axes": [-1], "keep_dims": True},
            {"axes": []},
            {"axis_names": "W"},
            {"keep_dims": True},
        )
        yield Case((samples.pictures(),), {"axis_names": "HW"})
        for dtype in (np.uint8, np.int8, np.uint16, np.uint32, np.int32, np.uint64, np.int64, np.float32):
            yield Case((samples.tensors([(3, 5), (2, 2), (9, 1)], dtype),), {"axes": 1})
        holes = [
            np.array([[np.nan, 1], [2, np.nan]], np.float32),
            np.array([[np.nan, -np.inf], [np.nan, 5]], np.float32),
        ]
        yield Case((holes,), {"axes": 0})
        yield Case((samples.tensors([(0, 3), (0, 1), (2, 2)], np.int32),), {"axes": 0})
        yield Case((samples.tensors([(), (), ()]),))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        data = (samples.tensors([(3, 4), (1, 4), (6, 2)]), "HW")
        yield ErrorCase((data,), {"axes": [2]}, ("axes", "2"))
        yield ErrorCase((data,), {"axis_names": "Z"}, ("axis_names", "'Z'"))


@register
class Max(_Extreme):
    """Gives the largest element along axes."""

    name = "reductions.max"
    title = "Maximum along axes"
    pick = np.fmax.reduce
    of_nothing_is_lowest = True
    example = '>>> brightest = fn.reductions.max(images, axis_names="HW")'


@register
class Min(_Extreme):
    """Gives the least element along axes."""

    name = "reductions.min"
    title = "Minimum along axes"
    pick = np.fmin.reduce
    of_nothing_is_lowest = False
    example = '>>> darkest = fn.reductions.min(images, axis_names="HW")'
