"""Joins tensors along an axis of theirs, or along a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.schema import Call, Case, ErrorCase, Input, OneOf, Operator, Output, integer, register, samples, string
from dali_lab.schema.axes import lettered_axes, numbered_axes

_INPUTS = (Input("inputs", kind="tensor", doc="Tensors to join.", variadic=True),)


class _Joining(Operator):
    inputs = _INPUTS
    on_gpu = True
    repeatable = False  # a rare result depends on the other samples of the batch

    def setup(self) -> None:
        name = self.value("axis_name")
        if name is not None and len(name) != 1:
            raise self.fail(f"must be one letter, got {name!r}: Unsupported axis_name value", "axis_name")

    def _check_kinds(self, call: Call, batches: Sequence[Batch]) -> None:
        first = batches[0]
        for index, batch in enumerate(batches):
            if (batch.dtype, batch.ndim) != (first.dtype, first.ndim):
                raise call.problem(
                    "All inputs must have the same type and number of dimensions:"
                    f" input {index} holds {batch.dtype.name} of {batch.ndim} dimensions,"
                    f" input 0 {first.dtype.name} of {first.ndim}"
                )

    @staticmethod
    def _joined(call: Call, batches: Sequence[Batch], axis: int, layout: str) -> Batch:
        """The samples of all batches side by side along an axis that all of them have."""
        shapes = batches[0].shapes.copy()
        shapes[:, axis] = sum(batch.shapes[:, axis] for batch in batches)
        first = batches[0]
        out = call.allocate(shapes, first.dtype, layout)
        if not int(out.sizes.sum()):
            return out
        call.kernels("joining").join(
            [batch.addresses for batch in batches],
            out.addresses,
            [batch.shapes for batch in batches],
            axis,
            first.itemsize,
        )
        return out


@register
class Cat(_Joining):
    """Joins tensors along an axis that they have; their other extents must agree in each sample.

    An input that has no elements in the whole batch is left out, whatever its extents; of inputs that are all like
    this the first one is the result.
    """

    name = "cat"
    title = "Concatenate"
    outputs = (Output("output", doc="The inputs behind each other along the axis; the other extents are theirs."),)
    arguments = (
        integer("axis", 0, "Axis along which the inputs are joined; negative ones count from the end.", important=True),
        string("axis_name", None, "The same by its letter in the layout; excludes `axis`."),
    )
    rules = (OneOf("axis", "axis_name", refused_as="Arguments ``axis`` and ``axis_name`` cannot be used together"),)
    example = '>>> fn.cat(left, right, axis_name="W")'

    def run(self, call: Call, *inputs: Batch) -> Batch:
        batches: Sequence[Batch] = inputs
        self._check_kinds(call, batches)
        ndim = batches[0].ndim
        layout = batches[0].layout
        (axis,) = (
            lettered_axes(call, layout, "axis_name")
            or numbered_axes(call, np.array([self.value("axis")], np.int64), ndim, "axis").tolist()
        )
        others = [d for d in range(ndim) if d != axis]
        batches = self._filled(call, batches, axis, others)
        for index, batch in enumerate(batches):
            differs = (batch.shapes[:, others] != batches[0].shapes[:, others]).any(axis=1)
            message = f"input {index} has shape {{:t}}, input 0 {{:t}}: they may differ only in axis {axis}"
            call.refuse(differs, message, batch.shapes, batches[0].shapes)
        if len(batches) == 1:
            return batches[0].replaced(layout=layout)
        return self._joined(call, batches, axis, layout)

    @staticmethod
    def _filled(call: Call, batches: Sequence[Batch], axis: int, others: Sequence[int]) -> Sequence[Batch]:
        """The inputs that have elements, here or in other samples of the batch; the first one, if none has."""
        sizes = [int(batch.sizes.sum()) for batch in batches]
        notes = call.note(tuple(size > 0 for size in sizes))
        doubtful = [
            not size
            and (batch.shapes[:, axis].any() or (batch.shapes[:, others] != batches[0].shapes[:, others]).any())
            for batch, size in zip(batches, sizes, strict=True)
        ]
        if any(doubtful) or not sizes[0]:
            notes += call.gathered()
        filled = np.any(notes, axis=0)
        kept = [batch for batch, has in zip(batches, filled, strict=True) if has]
        return kept or batches[:1]

    @classmethod
    def cases(cls) -> Iterable[Case]:
        left = (samples.tensors([(2, 3), (1, 3), (4, 3)], np.uint8), "HW")
        right = (samples.tensors([(5, 3), (2, 3), (0, 3)], np.uint8), "HW")
        bare = samples.tensors([(2, 3), (1, 3), (4, 3)], np.uint8)
        yield Case((left, right))
        yield Case((left, left), {"axis": 1})
        yield Case((left, left, right), {"axis": -2})
        yield Case((left, bare), {"axis_name": "W"})
        yield Case((left,))
        empty = samples.tensors([(2, 0), (0, 0), (0, 5)], np.uint8)
        for axis in (0, 1):
            yield Case((left, (empty, "HW"), right), {"axis": axis} if axis == 0 else {"axis_name": "H"})
            yield Case((empty, (left[0], "HW")), {"axis": axis})
        yield Case((samples.tensors([(2, 0), (0, 0)]), samples.tensors([(3, 2), (0, 0)])))
        yield Case((left, (bare, "XY")))
        yield Case((samples.tensors([(0, 3)] * 3, np.uint8), left))
        yield Case(((samples.tensors([(0, 5)] * 3, np.uint8), "AB"), bare))
        rows, columns = samples.tensors([(3, 0), (2, 0)]), samples.tensors([(0, 4), (0, 2)])
        yield Case((rows, rows))
        yield Case((columns, columns), {"axis": 1})
        yield Case((samples.tensors([(3, 0), (2, 0)]), samples.tensors([(3, 1), (2, 4)])), {"axis": 1})
        yield Case((samples.tensors([(3, 1), (0, 4)]), samples.tensors([(3, 0), (0, 2)])), {"axis": 1})
        yield Case((samples.tensors([(0, 1), (3, 3)]), samples.tensors([(0, 4), (3, 3)])), {"axis": 1})
        yield Case((samples.pictures(), samples.pictures()), {"axis": 2})
        yield Case((samples.pictures(dtype=np.float32), samples.pictures(dtype=np.float32)), {"axis": 1})
        yield Case((samples.tensors([(3,), (1,), (2,)], np.int64), samples.tensors([(1,), (2,), (3,)], np.int64)))
        yield Case((samples.tensors([(2, 3)] * 3, np.float16), samples.tensors([(2, 1)] * 3, np.float16)), {"axis": 1})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        left = samples.tensors([(2, 3), (1, 3), (4, 3)])
        yield ErrorCase((left, left), {"axis": 2}, ("axis", "2"))
        yield ErrorCase((left, samples.tensors([(0, 4), (1, 3), (0, 3)])), {}, ("(0, 4)", "(2, 3)"))
        yield ErrorCase((left, samples.tensors([(2, 4), (1, 3), (4, 3)])), {}, ("(2, 4)", "(2, 3)"))
        yield ErrorCase((left, samples.tensors([(2, 3)] * 3, np.uint8)), {}, ("UINT8", "FLOAT"))
        yield ErrorCase((left, samples.tensors([(2,)] * 3)), {}, ("1 dimensions",))
        yield ErrorCase((left,), {"axis_name": "W"}, ("axis_name", "'W'"))
        yield ErrorCase((left,), {"axis_name": "WH"}, ("axis_name", "WH"))
        yield ErrorCase((left,), {"axis_name": "W", "axis": 1}, ("axis", "axis_name"))
        yield ErrorCase((samples.tensors([()] * 3),), {}, ("axis", "0 dimensions"))


@register
class Stack(_Joining):
    """Joins tensors of equal shapes along a new axis."""

    name = "stack"
    outputs = (Output("output", doc="The inputs beside each other along a new axis."),)
    arguments = (
        integer("axis", 0, "Place of the new axis in the output; negative ones count from the end.", important=True),
        string("axis_name", None, "Letter of the new axis; without it the output has no layout."),
    )
    example = '>>> fn.stack(before, after, axis_name="F")'

    def run(self, call: Call, *batches: Batch) -> Batch:
        self._check_kinds(call, batches)
        first = batches[0]
        ndim = first.ndim
        axis = self.value("axis")
        if not (-ndim if ndim else 0) <= axis <= ndim:
            raise call.problem(
                f"Invalid axis argument, {axis} for {ndim}-D tensors. Accepted range is [ -{ndim}, {ndim}]",
                argument="axis",
            )
        axis %= ndim + 1
        for index, batch in enumerate(batches):
            message = f"input {index} has shape {{:t}}, input 0 {{:t}}"
            call.refuse(batch.shapes != first.shapes, message, batch.shapes, first.shapes)
        layout = ""
        name = self.value("axis_name")
        if name is not None:
            if ndim and not first.layout:
                raise call.problem("a new axis can only be named where the input has a layout", argument="axis_name")
            layout = first.layout[:axis] + name + first.layout[axis:]
        widened = [batch.replaced(shapes=np.insert(batch.shapes, axis, 1, axis=1), layout=layout) for batch in batches]
        return widened[0] if len(widened) == 1 else self._joined(call, widened, axis, layout)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = (samples.tensors([(2, 3), (1, 3), (4, 0)], np.uint8), "HW")
        numbers = samples.tensors([(), (), ()])
        yield from Case.each(
            (data, data),
            {},
            {"axis_name": "C"},
            {"axis": 2, "axis_name": "C"},
            {"axis": -1, "axis_name": "C"},
            {"axis": -2},
            {"axis": 1},
        )
        yield Case((data,), {"axis": 1})
        yield Case((numbers, numbers, numbers))
        yield Case((numbers, numbers), {"axis_name": "X"})
        yield Case((samples.pictures(), samples.pictures()), {"axis_name": "F"})
        yield Case((data, samples.tensors([(2, 3), (1, 3), (4, 0)], np.uint8)))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        left = samples.tensors([(2, 3), (1, 3), (4, 3)])
        yield ErrorCase((left, left), {"axis": 3}, ("axis", "3"))
        yield ErrorCase((left, samples.tensors([(2, 4), (1, 3), (4, 3)])), {}, ("(2, 4)", "(2, 3)"))
        yield ErrorCase((left, left), {"axis_name": "C"}, ("axis_name", "layout"))
        yield ErrorCase((left, left), {"axis_name": "CD"}, ("axis_name", "CD"))
        yield ErrorCase((left, samples.tensors([(2, 3)] * 3, np.uint8)), {}, ("UINT8", "FLOAT"))
