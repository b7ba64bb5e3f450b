"""NVIDIA DALI as the reference, and arrays as the tables that kernels take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the reference of these tests")

from nvidia.dali import Pipeline, fn

Array = np.ndarray[Any, Any]


def repeat(values: Sequence[Array]) -> Callable[[], list[Array]]:
    """A source that gives the same batch again and again."""

    def source() -> list[Array]:
        return list(values)

    return source


def dali(
    build: Callable[..., Any], batch: Sequence[Array], layout: str | None = None, **inputs: Sequence[Array]
) -> Any:
    """Run ``build(data, **inputs)`` on a batch in NVIDIA DALI; a list of arrays, or one list per output."""
    pipe = Pipeline(batch_size=len(batch), num_threads=1, device_id=None, prefetch_queue_depth=1)
    with pipe:
        data = fn.external_source(source=repeat(batch), layout=layout, batch=True)
        more = {name: fn.external_source(source=repeat(values), batch=True) for name, values in inputs.items()}
        outputs = build(data, **more)
        pipe.set_outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    pipe.build()
    results = [[np.array(out.at(i)) for i in range(len(batch))] for out in pipe.run()]
    return results[0] if len(results) == 1 else results


def addresses(arrays: Sequence[Array]) -> Array:
    """The table of addresses of contiguous arrays (which the caller keeps alive)."""
    for array in arrays:
        assert array.flags.c_contiguous
    return np.array([array.ctypes.data for array in arrays], np.int64)


def table(rows: Sequence[Sequence[Any]]) -> Array:
    """Rows of integers as a kernel takes them."""
    return np.array(rows, np.int64)


def difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    """The largest absolute difference, after checking that types and shapes are the same."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.size:
            worst = max(worst, float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max()))
    return worst
