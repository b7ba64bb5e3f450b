"""Sees the same memory in another shape, layout or type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import rows_of, stacked
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.model.promotion import is_integer
from dali_lab.operators.tensor.shapes_of_output import check_layout, integer_table
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, OneOf, Operator, Output, PerSample, register, samples
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.presets import integers, numbers

_INPUTS = (
    Input("data", kind="tensor", doc="Tensors to reshape."),
    Input(
        "shape_input",
        kind="tensor",
        device="cpu",
        doc="The wanted shapes, one-dimensional integers; excludes `shape`.",
        optional=True,
        replaces=("shape", "rel_shape"),
    ),
)
_ARGUMENTS = (
    integers(
        "shape",
        None,
        "Wanted shape; one extent may be negative and takes what is left of the elements.",
        tensor=True,
        fed=INTEGERS,
        important=True,
    ),
    numbers(
        "rel_shape",
        None,
        "Wanted shape relative to the input's; one factor may be negative and takes what is left. Excludes `shape`.",
        tensor=True,
    ),
    integers(
        "src_dims",
        None,
        "The input axis from which each output axis takes its extent; -1 inserts an axis of one element.",
        tensor=True,
    ),
    Arg("layout", "layout", None, "Axis names of the output; kept by default where the number of dimensions stays."),
)


class _Reshaping(Operator):
    differs = "Axes that a node gives as `src_dims` are heeded; NVIDIA DALI takes no notice of them."
    inputs = _INPUTS
    rules = (
        OneOf(
            "shape",
            "rel_shape",
            refused_as="Shape input, `shape` argument and `rel_shape` argument are mutually exclusive",
        ),
    )
    on_gpu = True
    cpu_inputs = (1,)

    def setup(self) -> None:
        if self.has("rel_shape") and "rel_shape" not in self.connected and not self.values["rel_shape"]:
            raise self.fail("cannot be empty", "rel_shape")

    def _reshaped(self, call: Call, inputs: tuple[Batch, ...], dtype: dtypes.DALIDataType) -> Batch:
        data = inputs[0]
        old, new = data.itemsize, numpy_dtype(dtype).itemsize
        source = self._source_extents(call, data)
        if len(inputs) > 1:
            if not is_integer(inputs[1].dtype):
                raise call.problem(f"the shape input must hold integers, not {inputs[1].dtype.name}")
            wanted = integer_table(call, inputs[1], "shape_input")
        elif self.has("shape"):
            wanted = self._integers(call, "shape")
        elif self.has("rel_shape"):
            wanted = self._relative(call, source)
        else:
            wanted = source.copy()
            if old != new:
                wanted = self._last_axis_adapted(call, wanted, old, new)
        shapes = self._fill_missing(call, data, wanted, old, new)
        layout = self.value("layout")
        if layout is None:
            kept = shapes.shape[1] == data.ndim
            layout = data.layout if kept else ""
        return data.replaced(shapes=shapes, dtype=dtype, layout=check_layout(call, layout, shapes.shape[1]))

    def _integers(self, call: Call, name: str) -> npt.NDArray[np.int64]:
        batch = call.batches.get(name)
        if batch is not None:
            return integer_table(call, batch, name)
        return np.tile(np.array(self.values[name], np.int64).reshape(1, -1), (call.count, 1))

    def _source_extents(self, call: Call, data: Batch) -> npt.NDArray[np.int64]:
        """The input's extents in the order of `src_dims`."""
        if not self.has("src_dims"):
            return data.shapes
        dims = self._integers(call, "src_dims")
        wrong = (dims < -1) | (dims >= data.ndim)
        call.refuse(
            wrong, f"{{}} are not all axes of {data.ndim}, or -1: one is out of bounds", dims, argument="src_dims"
        )
        if not data.ndim:
            return np.ones_like(dims)
        return np.where(dims < 0, 1, np.take_along_axis(data.shapes, np.maximum(dims, 0), axis=1))

    def _relative(self, call: Call, source: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        batch = call.batches.get("rel_shape")
        if batch is not None:
            if not batch.is_uniform():
                raise call.problem("must have as many elements in each sample", argument="rel_shape")
            factors = rows_of(stacked(batch)).astype(np.float32)
        else:
            factors = np.tile(np.array(self.values["rel_shape"], np.float32).reshape(1, -1), (call.count, 1))
        more = factors.shape[1] - source.shape[1]
        # Only the axis that takes the rest needs no axis of the input.
        beyond = more > 0 and (factors[:, source.shape[1] :] >= 0).any()
        if beyond or (self.has("src_dims") and more):
            given, axes = factors.shape[1], source.shape[1]
            message = f"has {given} factors for {axes} axes. "
            message += (
                f"`src_dims` and `rel_shape` have different lengths: {axes} vs {given}"
                if self.has("src_dims")
                else f"`rel_shape` has more elements ({given}) than there are dimensions in the input ({axes}); use"
                " `src_dims` to say which extents they scale"
            )
            raise call.problem(message, argument="rel_shape")
        source = np.pad(source, ((0, 0), (0, max(more, 0))), constant_values=1)
        scaled = np.floor(factors * source[:, : factors.shape[1]].astype(np.float32) + np.float32(0.5)).astype(np.int64)
        return np.where(factors < 0, -1, scaled)

    def _last_axis_adapted(
        self, call: Call, wanted: npt.NDArray[np.int64], old: int, new: int
    ) -> npt.NDArray[np.int64]:
        if not wanted.shape[1]:
            raise call.problem("a scalar cannot become elements of another size", argument="dtype")
        last = wanted[:, -1] * old
        message = (
            "The size, in bytes, of the innermost dimension is not divisible by the sizes of the requested output type:"
        )
        message += f" {{}} elements of {old} bytes do not divide into {new} bytes each"
        call.refuse(last % new != 0, message, wanted[:, -1], argument="dtype")
        wanted[:, -1] = last // new
        return wanted

    def _fill_missing(
        self, call: Call, data: Batch, wanted: npt.NDArray[np.int64], old: int, new: int
    ) -> npt.NDArray[np.int64]:
        argument = "rel_shape" if self.has("rel_shape") else "shape"
        open_ = wanted < 0
        if (open_.sum(axis=1) > 1).any():
            raise call.problem("Only one negative extent is allowed", argument=argument)
        size = data.sizes * old // new
        if open_.any():
            rest = np.where(open_, 1, wanted).prod(axis=1)
            message = "Cannot infer dimension {} when the volume of the remaining ones is 0. Input shape: {:x}"
            call.refuse(open_.any(axis=1) & (rest == 0), message, open_.argmax(axis=1), data.shapes, argument=argument)
            wanted = np.where(open_, (size // np.maximum(rest, 1))[:, None], wanted)
        wrong = wanted.prod(axis=1) * new != data.sizes * old
        call.refuse(wrong, _VOLUME, data.shapes, wanted, wanted.prod(axis=1), data.sizes, argument=argument)
        return wanted


_VOLUME = (
    "shape {:t} does not fit {:t}. The volume of the new shape should match the one of the original shape. Requested a"
    " shape with {} elements but the original shape has {} elements."
)


@register
class Reshape(_Reshaping):
    """Sees the elements of each tensor in another shape or layout; no data is moved."""

    name = "reshape"
    outputs = (Output("output", doc="The same elements in the new shape."),)
    arguments = _ARGUMENTS
    start = {"shape": [-1]}
    example = '>>> fn.reshape(images, shape=[-1, 3], layout="")'

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = {*connected, *values}
        if inputs == 1 and not given & {"shape", "rel_shape", "src_dims", "layout"}:
            raise ArgumentError(
                "must be given, or 'rel_shape', 'src_dims' or 'layout'", argument="shape", operator=cls.name
            )

    def run(self, call: Call, *inputs: Batch) -> Batch:
        return self._reshaped(call, inputs, inputs[0].dtype)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = (samples.tensors([(4, 6), (4, 6), (4, 6)], np.uint8), "HW")
        ragged = (samples.tensors([(4, 6), (2, 3), (8, 1)], np.int16), "HW")
        yield from Case.each(
            (data,),
            {"shape": [2, 12]},
            {"shape": [-1]},
            {"shape": [3, -1, 2]},
            {"shape": [6, 4], "layout": "AB"},
            {"shape": [2, 2, 6], "layout": "ABC"},
            {"layout": "XY"},
            {"layout": ""},
            {"rel_shape": [0.5, -1]},
            {"rel_shape": [0.3, -1]},
            {"rel_shape": [0.5, 2]},
            {"rel_shape": [-1]},
            {"rel_shape": [1, 0.5, -1]},
            {"src_dims": [1, 0]},
            {"src_dims": [1, 0], "rel_shape": [0.5, -1]},
            {"src_dims": [0, 1, -1], "rel_shape": [1, -1, 2]},
            {"src_dims": [0, -1, 1], "layout": "HXW"},
        )
        yield Case((ragged,), {"shape": [-1]})
        yield Case((samples.pictures(),), {"shape": [-1]}, name="benchmark")
        yield Case((ragged,), {"src_dims": [1, 0]})
        yield Case((ragged,), {"rel_shape": [-1, 1]})
        yield Case((ragged[0], [np.array([24], np.int32), np.array([6], np.int32), np.array([-1], np.int32)]))
        yield Case((data,), {"shape": PerSample([np.array([2, -1]), np.array([24, 1]), np.array([-1, 3])])})
        yield Case((data,), {"rel_shape": PerSample.of([2, -1], [-1, 2], [0.25, -1])})
        yield Case((samples.tensors([(), (), ()]),), {"shape": [1, 1]})
        yield Case((samples.tensors([(1, 1)] * 3),), {"shape": []})
        yield Case((samples.tensors([(0, 3)] * 3),), {"shape": [5, -1]})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        data = samples.tensors([(4, 6)] * 3)
        yield ErrorCase((data,), {}, ("shape", "must be given"))
        yield ErrorCase((data,), {"shape": [5, -1]}, ("shape", "(4, 6)"))
        yield ErrorCase((data,), {"shape": [-1, -1]}, ("shape", "one negative extent"))
        empty = samples.tensors([(4, 6), (4, 0), (4, 6)])
        yield ErrorCase((empty,), {"rel_shape": [-1, 1]}, ("rel_shape", "Cannot infer", "4 x 0", "sample 1"))
        yield ErrorCase((samples.tensors([(3, 0)] * 3),), {"shape": [0, -1]}, ("shape", "Cannot infer"))
        yield ErrorCase((data,), {"shape": [2, 12], "rel_shape": [1, 1]}, ("shape", "rel_shape"))
        yield ErrorCase((data,), {"shape": [2, 12], "layout": "ABC"}, ("layout", "ABC"))
        yield ErrorCase((data,), {"src_dims": [2, 0]}, ("src_dims", "2"))
        yield ErrorCase((data,), {"rel_shape": [1, 1, 1]}, ("rel_shape", "3 factors"))
        yield ErrorCase((data, samples.tensors([(2,)] * 3)), {}, ("integers", "FLOAT"))


@register
class Reinterpret(_Reshaping):
    """Sees the bytes of each tensor as elements of another type, shape or layout; no data is moved."""

    name = "reinterpret"
    outputs = (Output("output", doc="The same bytes in the new type and shape."),)
    arguments = (
        Arg(
            "dtype",
            "dtype",
            None,
            "Type of the output; the last axis adapts where no shape is given.",
            important=True,
            or_no_type=True,
        ),
        *_ARGUMENTS,
    )
    start = {"dtype": "UINT8"}
    example = ">>> words = fn.reinterpret(payload, dtype=types.INT16)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        given = {*connected, *values}
        if inputs == 1 and not given & {"shape", "rel_shape", "src_dims", "layout", "dtype"}:
            message = "the operator is no-op: arguments specify neither new shape, layout nor type"
            raise ArgumentError(message, argument="dtype", operator=cls.name)

    def run(self, call: Call, *inputs: Batch) -> Batch:
        dtype = self.value("dtype")
        return self._reshaped(call, inputs, inputs[0].dtype if dtype is None else dtype)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = (
            [np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((1, 4), np.float32), np.zeros((2, 4), np.float32)],
            "HW",
        )
        yield from Case.each(
            (data,),
            {"dtype": dtypes.INT32},
            {"dtype": dtypes.UINT8},
            {"dtype": dtypes.UINT16, "layout": "AB"},
            {"dtype": dtypes.INT64},
            {"dtype": dtypes.UINT8, "shape": [-1]},
            {"dtype": dtypes.UINT8, "shape": [-1, 8], "layout": "XY"},
            {"dtype": dtypes.UINT8, "rel_shape": [1, -1]},
            {"dtype": dtypes.UINT8, "rel_shape": [1, 4]},
            {"dtype": dtypes.UINT8, "src_dims": [1, 0]},
            {"shape": [-1]},
            {"layout": "XY"},
        )
        yield Case((samples.pictures(dtype=np.uint16),), {"dtype": dtypes.UINT8})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        data = samples.tensors([(3, 3)] * 3, np.uint8)
        yield ErrorCase((data,), {}, ("dtype", "neither new shape"))
        yield ErrorCase((data,), {"dtype": dtypes.INT32}, ("dtype", "divide"))
        yield ErrorCase((data,), {"dtype": dtypes.INT16, "shape": [9]}, ("shape", "(3, 3)"))
        yield ErrorCase((samples.tensors([()] * 3),), {"dtype": dtypes.UINT8}, ("scalar",))
