"""Removes axes of one element."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.tensor.shapes_of_output import integer_table
from dali_lab.schema import Call, Case, ErrorCase, Input, OneOf, Operator, Output, register, samples
from dali_lab.schema.axes import axes_arguments, lettered_axes, refuse_repeated


@register
class Squeeze(Operator):
    """Removes axes of one element from the shape of each tensor; no data is moved."""

    name = "squeeze"
    outputs = (Output("output", doc="The same elements, without the axes."),)
    inputs = (Input("data", kind="tensor", doc="Tensors to squeeze."),)
    on_gpu = True
    arguments = (
        *axes_arguments(
            "Axes to remove; indices beyond the last axis are passed over, and with a negative one nothing is removed.",
            tensor=True,
            important=True,
        ),
    )
    rules = (
        OneOf(
            "axes",
            "axis_names",
            needed=True,
            refused_as="Provided both ``axes`` and ``axis_names`` arguments",
            lacking_as="Missing argument ``axes`` or ``axis_names``",
        ),
    )
    example = '>>> fn.squeeze(gray, axis_names="C")'

    def run(self, call: Call, data: Batch) -> Batch:
        axes = self._axes(call, data)
        named_by = "axes" if self.has("axes") else "axis_names"
        why = ". Specified at least twice same dimension to remove."
        refuse_repeated(call, np.array([axes], np.int64), named_by, why)
        # In NVIDIA DALI a negative index hides those after it in order: nothing is removed then.
        gone = set() if axes and min(axes) < 0 else {axis for axis in axes if axis < data.ndim}
        kept = [axis for axis in range(data.ndim) if axis not in gone]
        shapes = data.shapes[:, kept]
        message = (
            f"axes {sorted(gone)} of shape {{:t}} have more than one element. Requested a shape with {{}} elements"
        )
        message += " but the original shape has {} elements."
        left = shapes.prod(axis=1)
        call.refuse(left != data.sizes, message, data.shapes, left, data.sizes, argument=named_by)
        return data.replaced(shapes=shapes, layout="".join(data.layout[axis] for axis in kept) if data.layout else "")

    def _axes(self, call: Call, data: Batch) -> list[int]:
        lettered = lettered_axes(call, data.layout)
        if lettered is not None:
            return lettered
        batch = call.batches.get("axes")
        if batch is None:
            return list(self.value("axes"))
        table = integer_table(call, batch, "axes")
        if not (table == table[:1]).all():
            raise call.problem("must be the same in all samples", argument="axes")
        return [int(axis) for axis in table[0]] if len(table) else []

    @classmethod
    def cases(cls) -> Iterable[Case]:
        thin = (samples.tensors([(1, 3, 1), (1, 5, 1), (1, 0, 1)]), "HWC")
        for axes in (0, [0, 2], [2], [], [-1], [0, -1], [7], [0, 7]):
            yield Case((thin,), {"axes": axes})
        yield Case((thin,), {"axis_names": "C"})
        yield Case((thin,), {"axis_names": "HC"})
        yield Case((samples.tensors([(0, 3, 1), (0, 3, 1)]),), {"axes": [1]})
        yield Case(((samples.tensors([(4, 3, 1), (2, 5, 1)]), "HWC"),), {"axes": [2]}, name="benchmark")

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"axes": [0]}, ("axes", "more than one"))
        yield ErrorCase((samples.pictures(),), {"axis_names": "Z"}, ("axis_names", "'Z'"))
        yield ErrorCase((samples.pictures(),), {}, ("axes", "must be given"))
        yield ErrorCase((samples.pictures(),), {"axes": [0], "axis_names": "H"}, ("axes", "excludes"))
        yield ErrorCase((samples.pictures(),), {"axes": [0, 0]}, ("axes", "Duplicate"))
