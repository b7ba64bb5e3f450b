"""Puts transforms one after another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dense import stacked
from dali_lab.operators.transforms.simple import MATRIX
from dali_lab.operators.transforms.transforming import LAYOUT, Transforming, combined
from dali_lab.schema import Call, Case, ErrorCase, Input, flag, register


@register
class Combine(Transforming):
    """Joins affine transforms into one that does them in the order of the inputs."""

    name = "transforms.combine"
    title = "Combine transforms"
    inputs = (
        Input("first", kind="tensor", doc="Transforms ``[d, d + 1]`` of FLOAT."),
        Input("second", kind="tensor", doc="Transforms that come after them."),
        Input("more", kind="tensor", doc="Further transforms.", optional=True, variadic=True),
    )
    arguments = (flag("reverse_order", "Do them in the opposite order."),)
    example = """
    >>> turn = fn.transforms.rotation(angle=30)
    >>> move = fn.transforms.translation(offset=[10, 5])
    >>> fn.warp_affine(images, matrix=fn.transforms.combine(turn, move))
    """

    def run(self, call: Call, *inputs: Batch) -> Batch:
        frames = self._frames(call, inputs)
        parts = []
        for index, batch in enumerate(inputs):
            batch = self._checked(call, batch)
            if frames is not None:
                same = np.repeat(np.arange(call.count), frames)
                batch = batch.unfolded() if batch.layout.startswith("F") else batch.take(same)
            if len(batch) and batch.shapes[0, 0] != inputs[0].shapes[0, -2]:
                raise call.problem(
                    f"input {index} transforms {batch.shapes[0, 0]} dimensions, input 0 {inputs[0].shapes[0, -2]}"
                )
            parts.append(stacked(batch))
        result = parts[0]
        for part in parts[1:]:
            result = combined(part, result) if self.value("reverse_order") else combined(result, part)
        made = Batch.dense(np.ascontiguousarray(result), LAYOUT)
        return made if frames is None else made.folded(frames, "F")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        other = MATRIX[::-1]
        solid = [np.arange(12, dtype=np.float32).reshape(3, 4)] * 3
        yield Case((MATRIX, other))
        yield Case((MATRIX, other), {"reverse_order": True})
        yield Case((MATRIX, other, MATRIX))
        yield Case((MATRIX, MATRIX, other, other), {"reverse_order": True})
        yield Case((solid, solid))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((MATRIX,), {}, ("2 or more inputs",))
        yield ErrorCase((MATRIX, [np.eye(3, 4, dtype=np.float32)] * 3), {}, ("3 dimensions",))
        yield ErrorCase((MATRIX, [np.eye(3, dtype=np.float32)] * 3), {}, ("(3, 3)",))
