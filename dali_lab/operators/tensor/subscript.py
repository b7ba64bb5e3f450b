"""Indexing of tensors, and their shapes: what ``node[...]`` and ``node.shape()`` record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.graph.expressions import MAX_SUBSCRIPTS
from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.promotion import is_integer
from dali_lab.operators.tensor.shapes_of_output import integer_table
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.presets import integer
from dali_lab.schema.rules import OneOf


def _arguments() -> tuple[Arg, ...]:
    rows = []
    for axis in range(MAX_SUBSCRIPTS):
        fed: dict[str, Any] = {"tensor": True, "fed": INTEGERS, "advanced": axis > 3}
        rows += [
            Arg(f"at_{axis}", "int", None, f"Index in axis {axis}, which is removed.", **fed),
            Arg(f"lo_{axis}", "int", None, f"First element in axis {axis}.", **fed),
            Arg(f"hi_{axis}", "int", None, f"End in axis {axis}, not included.", **fed),
            Arg(f"step_{axis}", "int", None, f"Step in axis {axis}.", **fed),
        ]
    return (*rows, integer("num_subscripts", None, "Number of indices, full ranges counted.", minimum=0))


@register
class TensorSubscript(Operator):
    """Takes a part of each tensor by indices and ranges, as ``node[1, 2:5, ::2]`` does."""

    name = "_tensor_subscript"
    syntax = "index"
    schema_name = "_TensorSubscript"
    title = "Index"
    inputs = (Input("data", kind="tensor", doc="Tensors to index."),)
    on_gpu = True
    arguments = _arguments()
    hidden = True
    rules = tuple(
        rule
        for axis in range(MAX_SUBSCRIPTS)
        for rule in (
            OneOf(f"at_{axis}", f"lo_{axis} hi_{axis}", refused_as=f"The axis {axis} is both as an index and a range"),
            OneOf(f"at_{axis}", f"step_{axis}", refused_as="An index cannot have a step"),
        )
    )

    def run(self, call: Call, data: Batch) -> Batch:
        ndim = data.ndim
        if not ndim:
            raise call.problem("a scalar cannot be indexed")
        used = [
            axis
            for axis in range(MAX_SUBSCRIPTS)
            if any(self.has(f"{key}_{axis}") for key in ("at", "lo", "hi", "step"))
        ]
        count = max(int(self.value("num_subscripts") or 0), *(axis + 1 for axis in used), 0)
        if count > ndim:
            raise call.problem(f"Too many indices ({count}) for a {ndim}D tensor")
        starts = np.zeros_like(data.shapes)
        steps = np.ones_like(data.shapes)
        sizes = data.shapes.copy()
        removed = []
        for axis in used:
            extent = data.shapes[:, axis]
            if self.has(f"at_{axis}"):
                starts[:, axis] = self._index(call, axis, extent)
                sizes[:, axis] = 1
                removed.append(axis)
            else:
                starts[:, axis], steps[:, axis], sizes[:, axis] = self._range(call, axis, extent)
        kept = [axis for axis in range(ndim) if axis not in removed]
        layout = "".join(data.layout[axis] for axis in kept) if data.layout else ""
        shapes = sizes[:, kept]
        if self._is_view(data, starts, steps, sizes):
            strides = np.cumprod(np.concatenate([np.ones((len(data), 1), np.int64), data.shapes[:, :0:-1]], 1), axis=1)[
                :, ::-1
            ]
            offsets = (starts * strides).sum(axis=1) * data.itemsize
            return Batch(data.addresses + offsets, shapes, data.dtype, layout, data.owners, data.sources)
        out = call.allocate(shapes, data.dtype, layout)
        call.kernels("copy").copy_window(
            data.addresses, out.addresses, data.shapes, starts, sizes, data.itemsize, steps=steps
        )
        return out

    @staticmethod
    def _is_view(
        data: Batch, starts: npt.NDArray[np.int64], steps: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
    ) -> bool:
        """Whether the part taken is contiguous in each sample."""
        if (steps != 1).any():
            return False
        whole = sizes == data.shapes
        for axis in range(data.ndim):
            if not whole[:, axis].all():
                return bool((sizes[:, :axis] == 1).all() and whole[:, axis + 1 :].all())
        return True

    def _numbers(self, call: Call, name: str) -> npt.NDArray[np.int64]:
        batch = call.batches.get(name)
        if batch is None:
            return np.full(call.count, int(self.values[name]), np.int64)
        if batch.ndim:
            raise call.problem(f"an index must be a scalar in each sample, got {batch.ndim} dimensions", argument=name)
        if not is_integer(batch.dtype):
            raise call.problem(f"an index must be an integer, got {batch.dtype.name}", argument=name)
        return integer_table(call, batch, name)[:, 0]

    def _index(self, call: Call, axis: int, extent: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        index = self._numbers(call, f"at_{axis}")
        position = np.where(index < 0, index + extent, index)
        wrong = (position < 0) | (position >= extent)
        call.refuse(wrong, f"Index {{}} is out of range for axis {axis} of length {{}}", index, extent)
        return position

    def _range(
        self, call: Call, axis: int, extent: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        step = self._numbers(call, f"step_{axis}") if self.has(f"step_{axis}") else np.ones_like(extent)
        call.refuse(step == 0, "a step cannot be zero", argument=f"step_{axis}")
        forward = step > 0
        least, most = np.where(forward, 0, -1), np.where(forward, extent, extent - 1)

        def bound(name: str, missing: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            if not self.has(name):
                return missing
            value = self._numbers(call, name)
            return np.clip(np.where(value < 0, value + extent, value), least, most)

        low = bound(f"lo_{axis}", np.where(forward, least, most))
        high = bound(f"hi_{axis}", np.where(forward, most, least))
        distance = np.where(forward, high - low, low - high)
        size = np.maximum(0, -(-distance // np.abs(step)))
        return low, step, size

    @classmethod
    def cases(cls) -> Iterable[Case]:
        data = samples.pictures()
        yield from Case.each(
            (data,),
            {"at_0": 3},
            {"at_0": -1, "at_2": 1},
            {"lo_0": 2, "hi_0": 10},
            {"lo_1": -5, "step_1": 2},
            {"step_0": -1, "step_1": -3},
            {"lo_0": 5, "hi_0": 2},
            {"lo_0": 10, "hi_0": 2, "step_0": -3, "at_1": 0},
            {"at_1": PerSample.of(1, -2, 7, dtype=np.int32), "num_subscripts": 2},
            {"lo_0": PerSample.of(1, 3, 0, dtype=np.uint8), "hi_0": PerSample.of(-1, 4, 9, dtype=np.int64)},
            {"step_1": PerSample.of(-1, 2, -4, dtype=np.int32), "num_subscripts": 3},
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"at_0": 24}, ("Index 24", "sample 1"))
        yield ErrorCase((samples.pictures(),), {"at_3": 0}, ("indices (4)", "3D tensor"))
        yield ErrorCase((samples.pictures(),), {"step_0": 0}, ("step_0",))


@register
class SubscriptDimCheck(Operator):
    """Passes tensors on if they have as many dimensions as an index of full ranges had."""

    name = "_subscript_dim_check"
    syntax = "whole index"
    schema_name = "_SubscriptDimCheck"
    title = "Check dimensions"
    inputs = (Input("data", kind="tensor", doc="Tensors to check."),)
    on_gpu = True
    arguments = (integer("num_subscripts", REQUIRED, "Number of indices.", minimum=0),)
    hidden = True

    def run(self, call: Call, data: Batch) -> Batch:
        count = int(self.value("num_subscripts") or 0)
        if count > data.ndim:
            raise call.problem(f"Too many indices ({count}) for a {data.ndim}D tensor")
        return data

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),), {"num_subscripts": 2})
        yield Case((samples.tensors([(), (), ()]),), {"num_subscripts": 0})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"num_subscripts": 4}, ("indices (4)",))


_SHAPE_TYPES = (dtypes.INT32, dtypes.UINT32, dtypes.INT64, dtypes.UINT64, dtypes.FLOAT, dtypes.FLOAT64)
_DTYPE = Arg("dtype", "dtype", dtypes.INT64, "Type of the numbers.", choices=_SHAPE_TYPES)


class _ShapeBase(Operator):
    inputs = (Input("data", kind="any", device="any", doc="Any tensors."),)
    on_gpu = True
    hidden = True

    def run(self, call: Call, data: Batch) -> Batch:
        return Batch.dense(np.ascontiguousarray(data.shapes.astype(dtypes.numpy_dtype(self.value("dtype")))))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((samples.pictures(),))
        yield Case((samples.tensors([(), (), ()]),))
        yield Case((samples.tensors([(0,), (3,), (2,)]),), {"dtype": dtypes.FLOAT})
        yield Case((samples.sequences(),), {"dtype": dtypes.INT32})


@register
class Shape(_ShapeBase):
    """Gives the shape of each tensor, as ``node.shape()`` does."""

    name = "_shape"
    syntax = "shape"
    schema_name = "_Shape"
    arguments = (_DTYPE,)


@register
class Shapes(_ShapeBase):
    """Gives the shape of each tensor."""

    name = "shapes"
    outputs = (Output("shape", kind="tensor", doc="One-dimensional: the extent of each axis, of `dtype`."),)
    deprecated = "Use ``node.shape()``."
    arguments = (_DTYPE, Arg("type", "dtype", None, "Old name of `dtype`.", renamed_to="dtype"))
