"""What reductions share: the axes, the shapes and layouts that are left, and the way through a chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.batch.dense import is_contiguous, is_small, stacked
from dali_lab.schema import Arg, Call, Input, Operator, Output
from dali_lab.types import DALIDataType

Array = npt.NDArray[Any]
DATA = Input("data", kind="tensor", doc="Any tensors.")
AXES = (
    Arg(
        "axes",
        "int",
        None,
        "Axes to reduce; all by default, none for an empty list. Negative ones count from the end.",
        vector=True,
        important=True,
    ),
    Arg("axis_names", "layout", None, "The same by their letters in the layout; excludes `axes`."),
    Arg("keep_dims", "bool", False, "Keep reduced axes with one element."),
)


class Reduction(Operator):
    """Base of the reductions."""

    family = "reductions"
    inputs: ClassVar[tuple[Input, ...]] = (DATA,)
    outputs = (Output("output", kind="tensor"),)
    devices = ("cpu", "gpu")
    on_gpu = True
    gpu_tolerance = (4e-3, "numbers add up in float64 on both, in another order; a sum of 2**15 has steps of 0.004")

    def setup(self) -> None:
        if self.has("axes") and self.has("axis_names"):
            raise self.fail("excludes 'axis_names'; give one of them", "axes")

    def axes_of(self, call: Call, data: Batch) -> tuple[int, ...]:
        """The axes to reduce, in order.

        Raises
        ------
        OperatorError
            If one does not exist or is given twice.
        """
        names = self.value("axis_names")
        if names is not None:
            for letter in names:
                if letter not in data.layout:
                    raise call.problem(f"'{letter}' is not in the layout '{data.layout}'", argument="axis_names")
            axes = [data.layout.index(letter) for letter in names]
        elif self.value("axes") is None:
            return tuple(range(data.ndim))
        else:
            axes = []
            for axis in self.value("axes"):
                if not -data.ndim <= axis < data.ndim:
                    raise call.problem(f"{axis} is not an axis of {data.ndim} dimensions", argument="axes")
                axes.append(axis % data.ndim)
        if len(set(axes)) != len(axes):
            raise call.problem(
                f"an axis is given twice: {axes}", argument="axis_names" if names is not None else "axes"
            )
        return tuple(sorted(axes))

    def reduced(
        self,
        call: Call,
        data: Batch,
        axes: tuple[int, ...],
        dtype: DALIDataType,
        function: Callable[..., None],
        others: tuple[Batch, ...] = (),
        **on_gpu: Any,
    ) -> Batch:
        """A new batch whose reduced axes have one element (or are gone), filled by `function`.

        ``function(out, data, axes, *others)`` gets arrays, of the whole chunk or of one sample; reduced axes are
        still there in `out`, with one element. The kernel of the GPU gets `on_gpu` and the operator's name.
        """
        kept_shapes = data.shapes.copy()
        kept_shapes[:, list(axes)] = 1
        keep = self.value("keep_dims")
        kept = [axis for axis in range(data.ndim) if keep or axis not in axes]
        layout = "".join(data.layout[axis] for axis in kept) if data.layout else ""
        out = call.allocate(np.ascontiguousarray(kept_shapes[:, kept]), dtype, layout)
        full = out.replaced(shapes=kept_shapes)
        if not int(out.sizes.sum()):
            return out
        if call.gpu is not None:
            call.kernels("reductions").reduce(self.name.rpartition(".")[2], data, out, axes, **on_gpu)
            return out
        batches = (data, *others)
        with np.errstate(all="ignore"):
            if all(each.is_uniform() and (is_contiguous(each) or is_small(each)) for each in batches) and is_contiguous(
                full
            ):
                inner = tuple(axis + 1 for axis in axes)
                function(stacked(full), stacked(data), inner, *(stacked(other) for other in others))
            else:
                for index in range(len(data)):
                    function(full.array(index), data.array(index), axes, *(other.array(index) for other in others))
        return out
