"""Shared by convolutions: the spatial axes of an image, and its planes or volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch, rows_of
from dali_lab.schema import Call

Table = npt.NDArray[np.int64]


def spatial_axes(call: Call, data: Batch) -> tuple[list[int], list[int]]:
    """The outer axes, along which the operation is repeated, and the spatial axes, which are adjacent.

    Raises
    ------
    OperatorError
        If there are none or more than three, or others stand between them.
    """
    layout = data.layout or "?" * data.ndim
    spatial = [index for index, letter in enumerate(layout) if letter not in "CF"]
    if spatial and "F" in layout[spatial[0] :]:
        raise call.problem(f"For sequences, layout should begin with 'F' or 'C', got: {data.layout}.")
    if len(spatial) > 3:
        raise call.problem(f"Too many dimensions, found: {len(spatial)} data axes, maximum supported is: 3.")
    if not spatial:
        raise call.problem(f"No spatial axes found in the layout {data.layout!r}: takes 1 to 3 axes besides F and C")
    if spatial[-1] - spatial[0] != len(spatial) - 1 or spatial[-1] < data.ndim - 2:
        raise call.problem(
            f"the axes of layout {data.layout!r} that are filtered must follow each other."
            f" Only channel-first or channel-last layouts are supported, got: {data.layout}."
        )
    if any(layout.count(letter) > 1 for letter in "CF"):
        raise call.problem(f"Found more the one occurrence of 'F' or 'C' axes in layout: {data.layout}.")
    return list(range(spatial[0])), spatial


def volumes(data: Batch, outer: Sequence[int], spatial: Sequence[int]) -> tuple[Table, Table]:
    """Samples as volumes.

    Returns
    -------
    shapes
        ``int64[N, 4]``: depth, height, width and channels of a volume of each sample; missing axes have extent 1.
    counts
        ``int64[N]``: how many such volumes a sample holds, one after the other.
    """
    shapes = np.ones((len(data), 4), np.int64)
    for place, axis in zip(range(3 - len(spatial), 3), spatial, strict=True):
        shapes[:, place] = data.shapes[:, axis]
    if spatial[-1] + 1 < data.ndim:
        shapes[:, 3] = data.shapes[:, spatial[-1] + 1 :].prod(axis=1)
    counts = data.shapes[:, list(outer)].prod(axis=1) if outer else np.ones(len(data), np.int64)
    return shapes, counts


def places(data: Batch, shapes: Table, counts: Table) -> Table:
    """Address of each volume of each sample; see :func:`volumes`."""
    owner, place = rows_of(counts)
    return np.asarray(data.addresses[owner] + (shapes.prod(axis=1) * data.itemsize)[owner] * place, np.int64)
