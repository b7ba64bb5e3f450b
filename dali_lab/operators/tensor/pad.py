"""Pads samples to a common shape, or to extents that are multiples of a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.streams import truncated
from dali_lab.model.batch import Batch
from dali_lab.operators.tensor.shapes_of_output import Rows, integer_table, integer_tables
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.axes import ONE_WAY, axes_arguments, lettered_axes, numbered_axes, refuse_repeated
from dali_lab.schema.presets import integers, number

_NONE_GIVEN = {"shape": -1, "align": 1}
"""Values that mean "not given"."""


@register
class Pad(Operator):
    """Pads all samples at the end of their axes, to the largest extent in the batch or to a given one.

    Every chosen axis grows to the extent that `shape` gives, or to that of the largest sample, and then on to a
    multiple of `align`. Samples are never cut.
    """

    name = "pad"
    family = "geometry"
    outputs = (Output("output", doc="The input with `fill_value` behind it, with its type and layout."),)
    whole_batch = True
    inputs = (Input("data", kind="tensor", doc="Any tensors."),)
    on_gpu = True
    differs = "FLOAT64 is allowed."
    arguments = (
        number("fill_value", 0.0, "Value of the padding; integers drop fractions.", tensor=True, important=True),
        *axes_arguments("Axes to pad, all by default; −1 is the last.", tensor=True),
        integers("align", None, "Extents become multiples of these, or of the one.", tensor=True),
        integers(
            "shape",
            None,
            "Least extents of the chosen axes; -1 and 0 take that of the largest sample, 1 leaves the axis as it is.",
            tensor=True,
            important=True,
        ),
    )
    rules = (ONE_WAY,)
    start = {"axis_names": "HW"}
    example = '>>> fn.pad(images, axis_names="HW", align=[32, 32], fill_value=0)'

    def setup(self) -> None:
        shape = None if "shape" in self.connected else self.values["shape"]
        # Samples are compared with each other only where an extent is not given.
        object.__setattr__(self, "whole_batch", not shape or any(extent <= 0 for extent in shape))

    def run(self, call: Call, data: Batch) -> Batch:
        shapes = data.shapes.copy()
        for rows, axes in self._axes(call, data):
            chosen = shapes[rows]
            np.put_along_axis(chosen, axes, self._wanted(call, data, rows, axes), axis=1)
            shapes[rows] = chosen
        if np.array_equal(shapes, data.shapes):
            return data
        out = call.allocate(shapes, data.dtype, data.layout)
        kind = data.kind
        number = call.numbers("fill_value", np.float32).reshape(-1, 1)
        with np.errstate(over="ignore"):
            fill = truncated(number, kind)
        call.kernels("copy").copy_window(
            data.addresses,
            out.addresses,
            data.shapes,
            np.zeros_like(shapes),
            shapes,
            data.itemsize,
            fill=np.ascontiguousarray(fill).view(f"u{kind.itemsize}"),
        )
        return out

    def _wanted(self, call: Call, data: Batch, rows: Rows, axes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Extents that the axes of some samples grow to, ``int64[n, K]``."""
        count = axes.shape[1]
        extents = np.take_along_axis(data.shapes[rows], axes, axis=1)
        largest = np.asarray(data.shapes.max(axis=0, initial=0)[axes], np.int64)
        shape = self._table(call, "shape", rows, count)
        least = largest if shape is None else np.where(shape <= 0, largest, shape)
        wanted: npt.NDArray[np.int64] = np.maximum(extents, least)
        align = self._table(call, "align", rows, count)
        if align is not None:
            owners = np.arange(call.count)[rows]
            call.refuse(
                align < 1, "Values of `align` argument must be positive. Got {}", align, argument="align", owners=owners
            )
            wanted = -(-wanted // align) * align
        return wanted

    def _axes(self, call: Call, data: Batch) -> Iterator[tuple[Rows, npt.NDArray[np.int64]]]:
        """Axes to pad: sample indices, and their ``int64[n, K]``; an empty list stands for every axis."""
        batch = call.batches.get("axes")
        row = lettered_axes(call, data.layout)
        argument = "axis_names" if row else "axes"
        row = row or list(self.values["axes"] or range(data.ndim))
        if batch is None:
            yield slice(None), self._checked(call, data, np.tile(np.array(row, np.int64), (len(data), 1)), argument)
            return
        for rows, table in integer_tables(call, batch, argument):
            if not table.shape[1]:
                table = np.tile(np.arange(data.ndim), (len(table), 1))
            yield rows, self._checked(call, data, table, argument)

    @staticmethod
    def _checked(call: Call, data: Batch, table: npt.NDArray[np.int64], argument: str) -> npt.NDArray[np.int64]:
        table = numbered_axes(call, table, data.ndim)
        refuse_repeated(call, table, argument)
        return table

    def _table(self, call: Call, name: str, rows: Rows, count: int) -> npt.NDArray[np.int64] | None:
        """The values of `shape` or `align` for some samples; an empty one from a node counts as not given."""
        batch = call.batches.get(name)
        if batch is not None:
            part = batch.take(rows)
            given = np.flatnonzero(part.sizes)
            if not len(given):
                return None
            some = integer_table(call, part.take(given), name)
            table = np.full((len(part), some.shape[1]), _NONE_GIVEN[name], np.int64)
            table[given] = some
        elif self.values[name]:
            row = np.array(self.values[name], np.int64).reshape(1, -1)
            table = np.tile(row, (len(np.arange(call.count)[rows]), 1))
        else:
            return None
        if table.shape[1] == 1:
            table = np.repeat(table, count, axis=1)
        if table.shape[1] != count:
            raise call.problem(f"takes 1 or {count} values, got {table.shape[1]}", argument=name)
        return table

    @classmethod
    def cases(cls) -> Iterable[Case]:
        rows = samples.tensors([(5,), (2,), (3,)], np.int16)
        table = (samples.tensors([(5, 2), (2, 7), (3, 3)]), "HW")
        yield from Case.each(
            (rows,),
            {"fill_value": -1},
            {"fill_value": -1, "axes": 0, "shape": 7},
            {"fill_value": -1, "axes": [0], "align": 4},
            {"axes": [0], "shape": 1, "align": 2},
            {"shape": 2},
            {"fill_value": 1e6},
        )
        yield from Case.each(
            (table,),
            {},
            {"axes": [1]},
            {"axes": [-1], "fill_value": 0.5},
            {"axis_names": "H"},
            {"axis_names": "WH", "shape": [4, 6]},
            {"axes": [1, 0], "shape": [4, -1], "align": [3, 4]},
            {"align": 4},
            {"shape": [1, 1], "align": [4, 2]},
            {"axes": [], "align": 3},
            {"shape": 0},
            {"shape": [6, 0]},
            {"axes": [0], "shape": 0},
        )
        yield Case((samples.pictures(),), {"axis_names": "HW", "align": 16, "fill_value": 7})
        yield Case((samples.pictures(),), {"axis_names": "C", "shape": 4, "fill_value": 255})
        yield Case((samples.sequences(),), {"axes": [0]})
        yield Case((table,), {"fill_value": PerSample.of(1, 2.5, -1)})
        yield Case((table,), {"shape": PerSample.of([6, 7], [9, -1], [1, 1], dtype=np.int32)})
        yield Case((table,), {"axes": [0], "align": PerSample.of([2], [3], [4], dtype=np.int32)})
        varied = PerSample.of([1], [], [-1, 0], dtype=np.int32)
        extents = PerSample.of([9], [4, -1], [5, 6], dtype=np.int32)
        yield Case((table,), {"axes": varied})
        yield Case((table,), {"axes": varied, "shape": extents})
        some = PerSample.of([9, 8], [], [5, 6], dtype=np.int32)
        steps = PerSample.of([], [4, 4], [], dtype=np.int32)
        yield Case((table,), {"shape": some})
        yield Case((table,), {"shape": some, "align": steps, "axes": [1, 0]})
        yield Case((table,), {"shape": PerSample([np.array([], np.int32)] * 3)})
        yield Case((samples.tensors([(0, 2), (3, 1), (2, 2)], np.uint8),), {"fill_value": 9})
        for dtype in (np.uint8, np.int32, np.int64, np.float16, bool):
            yield Case((samples.tensors([(2, 2), (1, 3), (3, 1)], dtype),), {"fill_value": 2.5})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        table = (samples.tensors([(5, 2), (2, 7), (3, 3)]), "HW")
        yield ErrorCase((table,), {"axes": [2]}, ("axes", "2"))
        yield ErrorCase((table,), {"axes": [0, 0]}, ("axes", "Duplicate"))
        yield ErrorCase((table,), {"axis_names": "Z"}, ("axis_names", "'Z'"))
        yield ErrorCase((table,), {"axes": [0], "axis_names": "H"}, ("axes", "axis_names"))
        yield ErrorCase((table,), {"axes": [0], "shape": [1, 2]}, ("shape", "2"))
        yield ErrorCase((table,), {"align": 0}, ("align", "0"))
