"""A chain of crops, slices and flips fused into one copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.fused.parts import Chain
from dali_lab.operators.geometry.crop import Crop
from dali_lab.operators.geometry.flip import Flip
from dali_lab.operators.geometry.windows import LAYOUTS, Windows, crop_windows, slice_windows, within
from dali_lab.schema import Call, Input, Operator, Output, register


@register
class WindowChain(Chain):
    """A chain of crops, slices and flips; inputs of other layouts go through them in turn."""

    name = "_window_chain"
    schema_name = "_WindowChain"
    tested_elsewhere = "tests/unit/graph/test_window_chain.py"
    family = "geometry"
    inputs = (Input("data", kind="any"),)
    outputs = (Output("data", kind="any"),)

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        super().__init__(values, connected, node, device)
        flips = [operator for operator in self.operators if isinstance(operator, Flip)]
        self._layouts = (Flip.inputs[0].layouts or ()) if flips else LAYOUTS

    def run_fused(self, call: Call, data: Batch) -> Batch:
        # A flip of a sequence is one of all its frames, unless each has arguments of its own.
        per_frame = any(batch.layout.startswith("F") for batch in call.batches.values())
        layout = data.layout if per_frame else data.layout.removeprefix("F")
        known = data.layout in LAYOUTS and layout in self._layouts
        if not known or any(self._converts(each, data) for each in self.operators):
            return self.in_turn(call, data)
        return self._copied(call, data)

    @staticmethod
    def _converts(operator: Operator, data: Batch) -> bool:
        return operator.values.get("dtype") not in (None, data.dtype)

    def _copied(self, call: Call, data: Batch) -> Batch:
        start, size = np.zeros_like(data.shapes), data.shapes
        backwards = np.zeros(data.shapes.shape, bool)
        for operator, its in zip(self.operators, self.calls(call), strict=True):
            if isinstance(operator, Flip):
                backwards = backwards ^ operator.flips(its, data.layout)
                continue
            find = crop_windows if isinstance(operator, Crop) else slice_windows
            window, _ = within(its, Windows(*find(its, size, data.layout)), size)
            # Seen from the other end, the part cut off behind the window comes first.
            start = start + np.where(backwards, size - window.start - window.shape, window.start)
            size = window.shape
        out = call.allocate(size, data.dtype, data.layout)
        call.kernels("copy").copy_window(
            data.addresses, out.addresses, data.shapes, start, size, data.itemsize, flips=backwards
        )
        return out
