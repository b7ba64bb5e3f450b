"""A chain of colour operators fused into one pass over the pixels."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.operators.fused.parts import Chain
from dali_lab.schema import Call, Input, Output, register

Array = npt.NDArray[Any]
_IDENTITY = np.array([1, 0, 0, 0, 1, 0, 0, 0, 1], np.float32)
_EXCHANGE = np.array([0, 0, 1, 0, 1, 0, 1, 0, 0], np.float32)


class LinearColors(Protocol):
    """An operator that is a matrix and an offset for UINT8 pixels of three channels."""

    def linear_map(self, call: Call) -> tuple[Array, Array]:
        """``float32[N, 9]``, row by row, and ``float32[N, 3]``."""


@register
class ColorChain(Chain):
    """A chain of colour operators, with the rounding of each; data other than UINT8 RGB goes through them in turn."""

    name = "_color_chain"
    schema_name = "_ColorChain"
    tested_elsewhere = "tests/unit/graph/test_color_chain.py"
    family = "color"
    frames = True
    inputs = (Input("data"),)
    outputs = (Output("data"),)

    def run_fused(self, call: Call, data: Batch) -> Batch:
        pixels = data.dtype == UINT8 and (data.layout in ("HWC", "DHWC") or (not data.layout and data.ndim == 3))
        if not pixels or not len(data) or (data.shapes[:, -1] != 3).any() or (data.shapes == 0).any():
            return self.in_turn(call, data)
        maps = [self._map(operator, its) for operator, its in zip(self.operators, self.calls(call), strict=True)]
        matrices = np.stack([matrix for matrix, _ in maps], axis=1)
        offsets = np.stack([offset for _, offset in maps], axis=1)
        kinds = _kinds(matrices, offsets)
        out = call.allocate(data.shapes, UINT8, data.layout or "HWC")
        if call.gpu is not None:
            call.kernels("color").chain(data.addresses, out.addresses, data.sizes // 3, matrices, offsets, kinds)
            return out
        from dali_lab.kernels.cpu.color_chain import chain
        from dali_lab.kernels.cpu.memory import like, rows

        chain(
            rows(data.addresses), rows(out.addresses), rows(data.sizes // 3), matrices, offsets, kinds, like(np.uint8)
        )
        return out

    @staticmethod
    def _map(operator: Any, call: Call) -> tuple[Array, Array]:
        linear: LinearColors = operator
        return linear.linear_map(call)


def _kinds(matrices: Array, offsets: Array) -> Array:
    """The kernel's code for each step of ``[N, steps, 9]`` and ``[N, steps, 3]``, the same for all samples."""
    from dali_lab.kernels.cpu.color_chain import EXCHANGE, MATRIX, SCALE

    scales = (matrices == matrices[:, :, :1] * _IDENTITY).all(axis=(0, 2)) & (offsets == offsets[:, :, :1]).all(
        axis=(0, 2)
    )
    exchanges = (matrices == _EXCHANGE).all(axis=(0, 2)) & (offsets == 0).all(axis=(0, 2))
    return np.where(exchanges, EXCHANGE, np.where(scales, SCALE, MATRIX))
