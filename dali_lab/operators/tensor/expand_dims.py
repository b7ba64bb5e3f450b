"""Inserts axes of one element."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, integers, register, samples


@register
class ExpandDims(Operator):
    """Inserts axes of one element into the shape of each tensor; no data is moved."""

    name = "expand_dims"
    title = "Expand dimensions"
    outputs = (Output("output", doc="The same elements, with axes of extent 1 more."),)
    inputs = (Input("data", kind="tensor", doc="Tensors to expand."),)
    on_gpu = True
    arguments = (
        integers(
            "axes",
            REQUIRED,
            "Places of the new axes in the output.",
            minimum=0,
            refused_as="Axis value can't be negative, got {:g}",
            important=True,
        ),
        Arg(
            "new_axis_names",
            "layout",
            "",
            "Letters of the new axes, one for each; without them the output has no layout.",
        ),
    )
    start = {"axes": [0], "new_axis_names": "F"}
    example = '>>> fn.expand_dims(masks, axes=2, new_axis_names="C")'

    def setup(self) -> None:
        axes, names = self.value("axes"), self.value("new_axis_names") or ""
        if names and len(names) != len(axes):
            raise self.fail(
                f"'{names}': Specified {len(axes)} new dimensions, but layout contains only {len(names)} new dimension"
                " names",
                "new_axis_names",
            )
        if len(set(axes)) != len(axes):
            raise self.fail(f"Duplicate axis index found: {list(axes)}", "axes")

    def run(self, call: Call, data: Batch) -> Batch:
        axes, names = self.value("axes"), self.value("new_axis_names") or ""
        order = sorted(range(len(axes)), key=lambda index: axes[index])
        shapes, layout = data.shapes, data.layout
        if names and not layout and data.ndim:
            raise call.problem(
                "Specifying ``new_axis_names`` requires an input with a proper layout.", argument="new_axis_names"
            )
        for index in order:
            axis = axes[index]
            if axis > shapes.shape[1]:
                raise call.problem(
                    f"there is no place {axis} for a new axis in {data.ndim} dimensions."
                    " Data has not enough dimensions to add new axes at specified indices.",
                    argument="axes",
                )
            shapes = np.insert(shapes, axis, 1, axis=1)
            layout = layout[:axis] + names[index] + layout[axis:] if names else layout
        if axes and not names:
            layout = ""
        return data.replaced(shapes=shapes, layout=layout)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"axes": 0})
        yield Case((samples.pictures(),), {"axes": [0, 4]})
        yield Case((samples.pictures(),), {"axes": [4, 0], "new_axis_names": "XF"})
        yield Case((samples.pictures(),), {"axes": [0], "new_axis_names": "F"})
        yield Case((samples.tensors([(), (), ()]),), {"axes": [0], "new_axis_names": "X"})
        yield Case((samples.tensors([(2,), (0,), (1,)]),), {"axes": [1]})
        yield Case((samples.tensors([(2,), (0,), (1,)]),), {"axes": []})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"axes": [0, 0]}, ("axes", "Duplicate"))
        yield ErrorCase((samples.pictures(),), {"axes": [5]}, ("axes", "5"))
        yield ErrorCase((samples.pictures(),), {"axes": [0], "new_axis_names": "AB"}, ("new_axis_names", "AB"))
        yield ErrorCase((samples.tensors([(2,)] * 3),), {"axes": [0], "new_axis_names": "A"}, ("new_axis_names",))
