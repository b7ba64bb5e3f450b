"""Base of operators that make affine transforms: dimensions, frames, and composition."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import stacked
from dali_lab.model.errors import OperatorError
from dali_lab.schema import Call, Input, Operator, Output, flag

Matrices = npt.NDArray[np.float32]
LAYOUT = "**"
INPUT = Input("transforms", kind="tensor", doc="Transforms that come before (``[d, d + 1]``, FLOAT).", optional=True)
REVERSE = flag(
    "reverse_order",
    "Apply the transforms of the input after this one, instead of before it. Without an input it has no effect.",
)


class Transforming(Operator):
    """Base of the operators that make one affine transform for each sample, or for each frame."""

    inputs: ClassVar[tuple[Input, ...]] = (INPUT,)
    outputs = (
        Output(
            "transforms",
            kind="tensor",
            doc="Matrices ``[d, d + 1]`` of FLOAT: a linear part and an offset.",
            layout=LAYOUT,
        ),
    )
    sized_by: ClassVar[tuple[str, ...]] = ()
    """Arguments whose number of elements gives the number of dimensions."""

    def run(self, call: Call, *inputs: Batch) -> Batch:
        frames = self._frames(call, inputs)
        samples = call.count
        before = inputs[0] if inputs else None
        if before is not None:
            before = self._checked(call, before)
        if frames is not None:
            if before is not None:
                before = (
                    before.unfolded()
                    if before.layout.startswith("F")
                    else before.take(np.repeat(np.arange(samples), frames))
                )
            call.repeat, call.count = frames, int(frames.sum())
        ndim = self.dimensions(
            call, None if before is None else int(before.ndim and before.shapes[0, 0]) if len(before) else None
        )
        matrices = self.matrices(call, ndim)
        if before is not None and len(before):
            earlier = stacked(before)
            if earlier.shape[1] != ndim:
                raise call.problem(f"the input transforms {earlier.shape[1]} dimensions, the arguments {ndim}")
            matrices = combined(earlier, matrices) if not self.value("reverse_order") else combined(matrices, earlier)
        batch = Batch.dense(matrices, LAYOUT)
        if frames is not None:
            call.repeat, call.count = None, samples
            batch = batch.folded(frames, "F")
        return batch

    def dimensions(self, call: Call, given: int | None) -> int:
        """The number of dimensions: that of the input, else from the arguments."""
        sizes = [self.length(call, name) for name in self.sized_by if self.has(name)]
        most = max(sizes, default=1)
        return given if given is not None and most == 1 else most

    def matrices(self, call: Call, ndim: int) -> Matrices:
        """The transforms, ``float32[N, ndim, ndim + 1]``."""
        raise NotImplementedError

    def length(self, call: Call, name: str) -> int:
        """Number of elements of a vector argument."""
        batch = call.batches.get(name)
        if batch is None:
            return int(np.size(self.values[name]))
        if not len(batch):
            return 1
        extents = batch.shapes[0, 1:] if batch.layout.startswith("F") else batch.shapes[0]
        return int(extents.prod())

    def vector(self, call: Call, name: str, length: int, default: object = None) -> npt.NDArray[np.float32]:
        """A vector argument as ``float32[N, length]`` of its own; a single element stands for all.

        It is empty where neither the argument nor a default is given.
        """
        if not self.has(name):
            return np.full((call.count if default is not None else 0, length), default or 0, np.float32)
        batch = call.batches.get(name)
        if batch is not None and batch.dtype != dtypes.FLOAT:
            raise call.problem(f"takes FLOAT, got {batch.dtype.name}", argument=name)
        return np.array(call.vectors(name, length, np.float32))

    def _frames(self, call: Call, inputs: tuple[Batch, ...]) -> npt.NDArray[np.int64] | None:
        """Frames in each sample where an input or an argument has them."""
        found: npt.NDArray[np.int64] | None = None
        first = ""
        positional = [(f"input {index}", batch) for index, batch in enumerate(inputs)]
        for name, batch in (*positional, *((f"argument `{name}`", batch) for name, batch in call.batches.items())):
            if batch.layout.startswith("F"):
                counts = batch.shapes[:, 0]
                if found is None or (found == 1).all():
                    found, first = counts.copy(), name
                    continue
                wrong = (counts != found) & (counts != 1)
                if wrong.any():
                    raise _other_frames(call, int(wrong.argmax()), (first, found), (name, counts))
        return found

    @staticmethod
    def _checked(call: Call, before: Batch) -> Batch:
        inner = before.shapes[:, 1:] if before.layout.startswith("F") else before.shapes
        if inner.shape[1] != 2 or (len(inner) and not (inner[:, 1] == inner[:, 0] + 1).all()):
            shape = tuple(before.shapes[0].tolist()) if len(before) else ()
            raise call.problem(f"a transform is a matrix of d rows and d + 1 columns, got shape {shape}")
        if not (inner == inner[:1]).all():
            raise call.problem("the transforms of a batch must have the same number of dimensions")
        if before.dtype != dtypes.FLOAT:
            raise call.problem(f"a transform holds FLOAT, got {before.dtype.name}")
        return before


def _other_frames(
    call: Call, sample: int, first: tuple[str, npt.NDArray[np.int64]], other: tuple[str, npt.NDArray[np.int64]]
) -> OperatorError:
    """The error about a sample that has other numbers of frames in two inputs or arguments."""
    (name, frames), (which, counts) = first, other
    if which.startswith("input"):
        message = f"The {name} and the {which} have different number of frames for sample {call.start + sample}:"
        message += f" {frames[sample]} and {counts[sample]}"
    else:
        message = f"The sample {call.start + sample} of tensor {which} contains {counts[sample]} per-frame parameters,"
        message += f" but there are {frames[sample]} frames in the corresponding sample of {name}."
    return call.problem(message, sample=sample)


def combined(first: Matrices, second: Matrices) -> Matrices:
    """The transforms that do `first`, and then `second`."""
    from dali_lab.kernels.cpu.transforms import combine

    result: Matrices = np.empty_like(second)
    combine(np.array(first), np.array(second), result)
    return result


def empty(call: Call, ndim: int) -> Matrices:
    """Room for the transforms of a chunk."""
    return np.empty((call.count, ndim, ndim + 1), np.float32)
