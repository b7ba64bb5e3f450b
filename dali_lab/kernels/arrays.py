"""Names for what kernels take, so that a signature says what a parameter is."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = np.ndarray[Any, Any]
"""Elements of samples, or a table of numbers; where it matters, the docstring gives dtype and shape."""
Addresses: TypeAlias = npt.NDArray[np.int64]
"""``int64[N]``: where the first element of each sample lies in memory."""

Integer: TypeAlias = int | np.integer[Any]
"""A number of fixed point, or an element, in the width that the kernel computes with."""
Real: TypeAlias = float | np.floating[Any]
"""A coordinate, weight or element, float32 or float64 as the kernel computes."""
Number: TypeAlias = Integer | Real
"""An element of any type."""
Word: TypeAlias = np.uint64
"""A random word, or half of a Philox counter."""
Window: TypeAlias = tuple[int, int, int, int]
"""The part of a picture that is wanted: top, left, height and width."""
Extents: TypeAlias = tuple[int, ...]
"""Sizes along the axes of a sample."""


class IntegerType(Protocol):
    """Numba's type of an integer, for functions that choose code by it; Numba's own class does not declare these."""

    bitwidth: int
    signed: bool
    minval: int
    maxval: int
