"""Chooses among values or tensors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.dense import flat, gathered, packed
from dali_lab.model.dtypes import INT64
from dali_lab.operators.random.drawing import SHAPE, SHAPE_LIKE, Drawing
from dali_lab.schema import Call, Case, ErrorCase, Input, numbers, register, samples
from dali_lab.schema.operator import PerSample


@register
class Choice(Drawing):
    """Chooses elements of a list, or rows of a tensor, or numbers from 0 to `a` − 1, with replacement."""

    name = "random.choice"
    devices = ("cpu",)
    inputs = (
        Input("a", kind="any", doc="A number of choices, or a tensor whose first axis is chosen from."),
        SHAPE_LIKE,
    )
    arguments = (
        numbers(
            "p", None, "Probability of each choice, or of all; all alike if not given.", tensor=True, important=True
        ),
        SHAPE,
    )
    example = ">>> scale = fn.random.choice([0.5, 1.0, 2.0], p=[0.25, 0.5, 0.25])"

    def run(self, call: Call, *inputs: Batch) -> Batch:
        from dali_lab.kernels.cpu import draws

        choices = inputs[0]
        drawn = self.shapes(call, inputs[1:])
        counts = drawn.prod(axis=1)
        sizes = self._sizes(call, choices)
        call.refuse(
            sizes < 1,
            "needs at least one choice. Expected positive number of elements for sampling, got: {} for sample: {}.",
            sizes,
            np.arange(len(sizes)),
        )
        indices = call.scratch(drawn, INT64)
        draws.fill_indices(
            self.stream(call),
            indices.addresses,
            counts,
            sizes,
            self._probabilities(call, sizes),
            in_sequence=choices.ndim > 1,
        )
        layout = choices.layout[1 - drawn.shape[1] :] if drawn.shape[1] < 2 else ""
        result = self._picked(call, choices, flat(indices), drawn, counts)
        if layout and len(layout) == result.ndim:
            result.layout = layout
        return result

    @staticmethod
    def _picked(
        call: Call,
        choices: Batch,
        indices: npt.NDArray[np.int64],
        drawn: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64],
    ) -> Batch:
        """The elements at the indices of all samples, in one row."""
        if choices.ndim == 0:
            return packed(indices, drawn, choices.dtype)
        if choices.ndim == 1:
            starts = np.cumsum(choices.sizes) - choices.sizes
            return packed(flat(gathered(choices))[np.repeat(starts, counts) + indices], drawn, choices.dtype)
        out = call.allocate(np.concatenate([drawn, choices.shapes[:, 1:]], axis=1), choices.dtype)
        from dali_lab.kernels.cpu.copy import copy

        owner, place = rows_of(counts)
        sizes = choices.shapes[owner, 1:].prod(axis=1)
        steps = sizes * choices.itemsize
        copy(choices.addresses[owner] + indices * steps, out.addresses[owner] + place * steps, sizes, choices.itemsize)
        return out

    def _sizes(self, call: Call, choices: Batch) -> npt.NDArray[np.int64]:
        if choices.ndim == 0:
            kind = choices.dtype.name
            if kind.startswith(("FLOAT", "BOOL")) or kind.endswith("_TYPE"):
                told = "DALI" + kind.title().replace("_", "") if kind.endswith("_TYPE") else kind.lower()
                raise call.problem(
                    f"a number of choices is an integer. Data type {told} is not supported for 0D inputs."
                    " Supported types are: uint8, uint16, uint32, uint64, int8, int16, int32, int64"
                )
            return choices.stacked().astype(np.int64).reshape(-1)
        return choices.shapes[:, 0].copy()

    def _probabilities(self, call: Call, sizes: npt.NDArray[np.int64]) -> list[npt.NDArray[np.float32]] | None:
        rows = call.lists("p")
        if rows is None:
            return None
        for index, (row, size) in enumerate(zip(rows, sizes.tolist(), strict=True)):
            if row.size not in (1, size):
                message = f"has {row.size} probabilities for {size} choices."
                message += f' Unexpected shape for argument "p". Expected {{{size}}}, but got {{{row.size}}}'
                raise call.problem(message, argument="p", sample=index)
            if not ((row >= 0) & (row <= 1)).all():
                place = int((~((row >= 0) & (row <= 1))).argmax())
                message = "is not in [0, 1]. Probabilities must be in range [0, 1],"
                message += f" but got: {row[place]:g} for sample: {index} at index {place}."
                raise call.problem(message, argument="p", sample=index)
            total = float(row.sum()) * (size if row.size == 1 else 1)
            if abs(total - 1) > 1e-4:
                message = f"Sum of probabilities must be 1.0, but got {total:g} for sample: {index}."
                raise call.problem(message, argument="p", sample=index)
        return [row.repeat(size) if row.size == 1 else row for row, size in zip(rows, sizes.tolist(), strict=True)]

    @classmethod
    def cases(cls) -> Iterable[Case]:
        five = [np.int32(5)] * 4
        table = [np.array([[1, 2], [3, 4], [5, 6]], np.int32)] * 4
        row = [np.array([1.5, 2.5, 9], np.float32)] * 4
        yield Case((five,), {}, batches=3)
        yield Case((five,), {"shape": (4, 2)}, batches=3)
        # Some words are drawn anew, lest small numbers be likelier.
        yield Case(([np.int32(1_500_000_000)] * 4,), {"shape": (50,)})
        yield Case((row,), {"shape": (6,)}, batches=3)
        yield Case((row,), {}, batches=2)
        yield Case((table,), {"shape": (2,)}, batches=3)
        yield Case((table,), {}, batches=2)
        yield Case((row,), {"p": (0.1, 0.2, 0.7), "shape": (9,)}, batches=3)
        yield Case(([np.int32(4)] * 4,), {"p": 0.25, "shape": (9,)})
        yield Case((table,), {"p": (0.5, 0.2, 0.3), "shape": (9,)}, batches=3)
        yield Case((five, [np.zeros((2, 3), np.float32)] * 4), {}, batches=2)
        chances = PerSample.of((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.25, 0.25))
        yield Case((row,), {"p": chances, "shape": (5,)}, batches=2)
        yield Case(([np.array([1, 2, 3], np.uint8)] * 4,), {"shape": (5,)}, batches=2)
        frames = (samples.sequences((4, 4, 4), ((5, 6),) * 3)[0], "FHWC")
        yield Case((frames,), {})
        yield Case((frames,), {"shape": (2,)})
        yield Case((five, ([np.zeros((2, 3), np.float32)] * 4, "HW")), {})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        three = [np.int32(3)] * 2
        yield ErrorCase((three,), {"p": (0.1, 0.2, 0.1)}, words=("p", "Sum of probabilities must be 1.0"))
        yield ErrorCase((three,), {"p": (-0.1, 0.4, 0.7)}, words=("p", "[0, 1]"))
        yield ErrorCase((three,), {"p": (0.5, 0.5)}, words=("p", "3 choices"))
        yield ErrorCase(([np.int32(0)] * 2,), words=("at least one",))
