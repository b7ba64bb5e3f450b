"""The sample cases that a declaration carries: comparisons with NVIDIA DALI, and calls that must fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Case:
    """One comparison with NVIDIA DALI.

    Attributes
    ----------
    inputs
        One entry for each input: a list of arrays (one a sample) or ``(list, layout)``.
    arguments
        Constants, or for argument inputs a list of arrays wrapped in :class:`PerSample`.
    tolerance
        Largest allowed absolute difference; 0 asks for equality.
    reason
        Why the tolerance is what it is; needed when it is not 0.
    fraction
        Share of elements that may lie beyond the tolerance (for nearest-neighbour ties and the like).
    batches
        Number of batches to compare (for random operators more than one).
    name
        Its name in reports. ``"benchmark"`` is the case that the benchmark of single operators brings to the size of
        real data, where that can't be the first: its arguments must fit larger inputs and batches, too.
    """

    inputs: tuple[Any, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    reason: str = ""
    fraction: float = 0.0
    batches: int = 1
    batch_size: int = 3
    name: str = ""

    @classmethod
    def each(
        cls,
        inputs: tuple[Any, ...],
        *arguments: Mapping[str, Any],
        common: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> Iterator[Case]:
        """A case with the same inputs for each set of arguments, besides those that all have in `common`."""
        return (cls(inputs, {**common, **each}, **options) for each in arguments)


@dataclass(frozen=True)
class PerSample:
    """Values of a connected argument: one array for each sample of the batch, with a layout if they have one."""

    values: Sequence[Any]
    layout: str = ""

    @classmethod
    def of(cls, *rows: Any, dtype: npt.DTypeLike = np.float32, layout: str = "") -> PerSample:
        """A row of numbers, or one number, for each sample."""
        return cls([np.array(row, dtype) for row in rows], layout)


@dataclass(frozen=True)
class ErrorCase:
    """A case that must raise with all of `words` in the message."""

    inputs: tuple[Any, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    batch_size: int = 3
