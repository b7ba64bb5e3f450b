"""Shared by operators on boxes: all boxes of a chunk as one table, and checks of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered
from dali_lab.model.dtypes import FLOAT, INT32, to_dali_type
from dali_lab.schema import Call, Input, Output, flag

Boxes = npt.NDArray[np.float32]

BOXES = Input("boxes", dtypes=(FLOAT,), kind="boxes", doc="Boxes of {types}, ``(n, 4)``, in coordinates from 0 to 1.")
LABELS = Input(
    "labels",
    dims=(1, 2),
    dtypes=(INT32,),
    kind="tensor",
    doc="Labels of {types}, ``(n,)`` or ``(n, 1)``.",
    optional=True,
)
LABELS_LEFT = Output("labels", kind="tensor", doc="With labels: those of the boxes that are left.", dtype=INT32)
LTRB = flag("ltrb", "Boxes are left, top, right, bottom, rather than left, top, width, height.")


def box_table(call: Call, boxes: Batch, name: str = "boxes") -> tuple[Boxes, npt.NDArray[np.int64]]:
    """The boxes of all samples, ``float32[M, 4]``, and the number of boxes of each sample.

    Raises
    ------
    OperatorError
        If they are not float32, or a sample does not hold a multiple of four numbers.
    """
    counts = box_counts(call, boxes, name)
    return flat(gathered(boxes)).reshape(-1, 4), counts


def box_counts(call: Call, boxes: Batch, name: str = "boxes") -> npt.NDArray[np.int64]:
    """The number of boxes of each sample, ``int64[N]``.

    Raises
    ------
    OperatorError
        If they are not float32, or a sample does not hold a multiple of four numbers.
    """
    sizes = boxes.sizes
    call.refuse(sizes % 4 != 0, "takes {} of 4 numbers, got shape {:t}", name, boxes.shapes)
    counts: npt.NDArray[np.int64] = sizes // 4
    return counts


def per_box(values: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """One value a sample, repeated for each of its boxes."""
    return np.repeat(values, counts, axis=0)


def corners_of(table: Boxes, ltrb: bool) -> tuple[Boxes, Boxes]:
    """Upper left and lower right corners of boxes given by two corners, or by corner and size."""
    low = table[:, :2]
    return low, table[:, 2:] if ltrb else low + table[:, 2:]


def store(out: Batch, table: npt.NDArray[Any]) -> None:
    """Copy a table of all boxes into the samples of a batch."""
    if len(table):
        rows = np.ascontiguousarray(table)
        from dali_lab.kernels.cpu.copy import copy

        sizes = out.sizes
        addresses = rows.ctypes.data + (np.cumsum(sizes) - sizes) * rows.itemsize
        copy(addresses, out.addresses, sizes, rows.itemsize)


def table_out(
    call: Call, table: npt.NDArray[Any], counts: npt.NDArray[np.int64], layout: str, output: int = 0
) -> Batch:
    """An output with `counts` of the rows of a table in each sample."""
    shapes = np.stack([counts, np.full(len(counts), table.shape[1])], axis=1)
    out = call.allocate(shapes, to_dali_type(table.dtype), layout, output=output)
    store(out, table)
    return out


def labels_out(
    call: Call, labels: Batch, chosen: npt.NDArray[Any], counts: npt.NDArray[np.int64], output: int
) -> Batch:
    """An output with the chosen ones of all labels, `counts` of them in each sample."""
    shapes = labels.shapes.copy()
    shapes[:, 0] = counts
    out = call.allocate(shapes, labels.dtype, labels.layout, output=output)
    store(out, flat(gathered(labels))[chosen])
    return out


def sample_boxes() -> list[npt.NDArray[np.float32]]:
    """Boxes by two corners, from 0 to 1, for cases: several, one, none."""
    rows = []
    for seed, count in enumerate((5, 1, 0, 12)):
        rng = np.random.default_rng(seed)
        low = rng.random((count, 2)) * 0.8
        size = 0.05 + rng.random((count, 2)) * (0.95 - low)
        rows.append(np.concatenate([low, np.minimum(low + size, 1)], axis=1).astype(np.float32))
    return rows


def sample_boxes_by_size() -> list[npt.NDArray[np.float32]]:
    """The boxes of :func:`sample_boxes` by corner and size."""
    return [np.concatenate([row[:, :2], row[:, 2:] - row[:, :2]], axis=1) for row in sample_boxes()]
