"""Region of interest of array readers: its arguments, and the window on each array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.errors import ArgumentError
from dali_lab.operators.geometry.windows import OUT_OF_BOUNDS, Windows, half_away, named_bounds
from dali_lab.schema import Arg, Call, Operator, integers, number, numbers
from dali_lab.schema.axes import numbered_axes, refuse_repeated

_STARTS = ("roi_start", "rel_roi_start")
_ENDS = ("roi_end", "rel_roi_end", "roi_shape", "rel_roi_shape")


def _relative(name: str, meaning: str) -> Arg:
    return numbers(name, None, f"{meaning}, as a share of the extent.", tensor=True, slider=(0.0, 1.0))


REGION = (
    integers("roi_start", None, "First element of the region along each axis.", tensor=True),
    _relative("rel_roi_start", "First element of the region"),
    integers("roi_end", None, "Element after the last one of the region.", tensor=True),
    _relative("rel_roi_end", "Element after the last one of the region"),
    integers("roi_shape", None, "Extent of the region.", tensor=True),
    _relative("rel_roi_shape", "Extent of the region"),
    integers("roi_axes", (), "Axes that these speak of; all of them in order if not given."),
    OUT_OF_BOUNDS,
    number("fill_value", 0.0, "What is put where a region leaves the array, if it may."),
)


def wants_region(operator: Operator) -> bool:
    """Whether a region is given."""
    return any(operator.has(name) for name in (*_STARTS, *_ENDS))


def verify_region(values: Mapping[str, Any], connected: Iterable[str]) -> None:
    """Raise :class:`ArgumentError` if the arguments of the region contradict each other."""
    joined = set(connected)
    for names in (_STARTS, _ENDS):
        given = [name for name in names if name in joined or values.get(name) is not None]
        if len(given) > 1:
            raise ArgumentError(f"given together with '{given[0]}'; give one or the other", argument=given[1])
    axes = values.get("roi_axes", ())
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"an axis is given twice: {list(axes)}", argument="roi_axes")


def region_windows(call: Call, shapes: npt.NDArray[np.int64]) -> Windows:
    """Start and extent of the region of each array."""
    ndim = shapes.shape[1]
    chosen = np.array(call.operator.value("roi_axes") or range(ndim), np.int64)
    axes = numbered_axes(call, chosen, ndim, "roi_axes")
    refuse_repeated(call, axes[None], "roi_axes")
    extents = shapes[:, axes]
    first, last = named_bounds(call, extents, "roi_")
    low = np.zeros_like(extents) if first is None else half_away(first).astype(np.int64)
    high = extents if last is None else half_away(last).astype(np.int64)
    if (high < low).any():
        index = int((high < low).any(axis=1).argmax())
        raise call.problem(
            f"the region ends before it starts: {low[index].tolist()} to {high[index].tolist()}", sample=index
        )
    begin, extent = np.zeros_like(shapes), shapes.copy()
    begin[:, axes] = low
    extent[:, axes] = high - low
    return Windows(begin, extent)
