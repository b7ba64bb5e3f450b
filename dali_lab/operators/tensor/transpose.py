"""Reorders the axes of tensors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, flag, integers, register, samples


@register
class Transpose(Operator):
    """Reorders the axes of each tensor: output axis i is input axis ``perm[i]``."""

    name = "transpose"
    outputs = (Output("output", doc="The axes in their new order, and the layout's letters with them."),)
    inputs = (Input("data", kind="tensor", doc="Any tensors."),)
    on_gpu = True
    arguments = (
        integers("perm", None, "The input axis of each output axis; by default the axes are reversed.", important=True),
        flag("transpose_layout", "Reorder the layout too; otherwise it is kept.", default=True),
        Arg("output_layout", "layout", None, "Axis names of the output; goes before `transpose_layout`."),
    )
    example = ">>> fn.transpose(images, perm=[2, 0, 1])"

    def setup(self) -> None:
        perm = self.value("perm")
        if perm is not None and sorted(perm) != list(range(len(perm))):
            raise self.fail(f"Invalid permutation: sorted `perm` is not equal to [0, ..., n-1]: {list(perm)}", "perm")

    def run(self, call: Call, data: Batch) -> Batch:
        perm = self.value("perm")
        order = tuple(range(data.ndim))[::-1] if perm is None else perm
        if len(order) != data.ndim:
            raise call.problem(
                f"Input has different dimensionality ({data.ndim}) than the length of the permutation ({len(order)})",
                argument="perm",
            )
        layout = self.value("output_layout")
        if layout is None:
            layout = (
                "".join(data.layout[axis] for axis in order)
                if data.layout and self.value("transpose_layout")
                else data.layout
            )
        elif len(layout) != data.ndim:
            raise call.problem(f"'{layout}' has {len(layout)} letters for {data.ndim} axes", argument="output_layout")
        shapes = np.ascontiguousarray(data.shapes[:, list(order)])
        if tuple(order) == tuple(range(data.ndim)):
            return data.replaced(layout=layout)
        out = call.allocate(shapes, data.dtype, layout)
        call.kernels("copy").transpose(data.addresses, out.addresses, data.shapes, tuple(order), data.itemsize)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        for dtype in (np.uint8, np.int16, np.float32, np.float64):
            yield Case(
                (
                    samples.pictures(dtype=dtype)
                    if dtype != np.int16
                    else (samples.tensors([(5, 4, 3)] * 3, dtype), "HWC"),
                ),
                {"perm": [2, 0, 1]},
            )
        yield Case((samples.pictures(),))
        yield Case((samples.pictures(),), {"perm": [1, 0, 2], "transpose_layout": False})
        yield Case((samples.pictures(),), {"perm": [1, 0, 2], "output_layout": "ABC"})
        yield Case((samples.pictures(),), {"perm": [0, 1, 2], "output_layout": "ABC"})
        yield Case((samples.planar(),), {"perm": [1, 2, 0]})
        yield Case((samples.sequences(),), {"perm": [0, 3, 1, 2]})
        yield Case((samples.volumes(),), {"perm": [3, 2, 1, 0]})
        yield Case((samples.tensors([(2, 3), (4, 1), (1, 1)]),), {"perm": [1, 0]})
        yield Case((samples.tensors([(0, 3), (4, 0), (1, 1)]),), {"perm": [1, 0]})
        yield Case((samples.tensors([(3,), (4,), (0,)]),))
        yield Case((samples.tensors([()] * 3),))
        yield Case((samples.tensors([(2, 3, 1, 4, 2)] * 3, bool),), {"perm": [4, 2, 0, 3, 1]})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"perm": [0, 1]}, ("perm", "permutation (2)"))
        yield ErrorCase((samples.pictures(),), {"perm": [0, 0, 1]}, ("perm", "[0, 0, 1]"))
        yield ErrorCase((samples.pictures(),), {"perm": [0, 1, 5]}, ("perm", "5"))
        yield ErrorCase((samples.pictures(),), {"output_layout": "AB"}, ("output_layout", "AB"))
