"""Reciprocal square roots as NVIDIA DALI finds them: the processor's estimate, made better by Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Real
from dali_lab.kernels.cpu.machine.instructions import estimated_root
from dali_lab.kernels.cpu.memory import inner_part, kernel


@inner_part
def reciprocal_root(value: Real) -> Any:
    """``1 / sqrt(value)`` of a float32; NaN for 0 and infinity."""
    y = estimated_root(value)
    return (y * (np.float32(3) - (value * y) * y)) * np.float32(0.5)


@kernel
def reciprocal_roots(values: Array) -> None:
    """Put the reciprocal square roots in place of float32 values."""
    for k in range(values.shape[0]):
        values[k] = reciprocal_root(values[k])
