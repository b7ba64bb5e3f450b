"""Takes some of the polygons of segmentation masks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, register
from dali_lab.types import INT32


@register
class SelectMasks(Operator):
    """Takes the polygons of the given masks, in the order of `mask_ids`, and the vertices that belong to them.

    Of several polygons with the same id the last one counts.
    """

    name = "segmentation.select_masks"
    family = "boxes"
    title = "Select masks"
    inputs = (
        Input("mask_ids", kind="tensor", doc="Ids of the wanted masks, INT32 ``(n,)``, each but once."),
        Input("polygons", kind="tensor", doc="Id, first vertex and end of the vertices of each, INT32 ``(m, 3)``."),
        Input("vertices", kind="tensor", doc="Coordinates of any type, ``(k, dimensions)``."),
    )
    outputs = (
        Output("polygons", kind="tensor", doc="The polygons taken, INT32 ``(n, 3)``.", dtype=INT32),
        Output("vertices", kind="tensor", doc="Their vertices, one polygon after the other."),
    )
    arguments = (Arg("reindex_masks", "bool", False, "Replace ids by their places in `mask_ids`.", important=True),)
    example = """
    >>> polygons, vertices = fn.segmentation.select_masks(mask_ids, polygons, vertices, reindex_masks=True)
    """

    def run(self, call: Call, mask_ids: Batch, polygons: Batch, vertices: Batch) -> tuple[Batch, Batch]:
        for name, batch, ndim in (("mask_ids", mask_ids, 1), ("polygons", polygons, 2)):
            if batch.dtype != INT32 or batch.ndim != ndim:
                raise call.problem(
                    f"takes '{name}' of INT32 with {ndim} dimensions, got {batch.dtype.name} with {batch.ndim}"
                )
        if vertices.ndim != 2:
            raise call.problem(f"takes 'vertices' with 2 dimensions, got {vertices.ndim}")
        rows = zip(mask_ids.arrays(), polygons.arrays(), vertices.arrays(), strict=True)
        taken = [self._select(call, index, *row) for index, row in enumerate(rows)]
        return Batch.of([row[0] for row in taken], "", INT32), Batch.of([row[1] for row in taken], "", vertices.dtype)

    def _select(
        self, call: Call, index: int, ids: npt.NDArray[Any], polygons: npt.NDArray[Any], vertices: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        if polygons.shape[1] != 3:
            raise call.problem(f"takes 'polygons' of 3 columns, got {polygons.shape[1]}", sample=index)
        order = {int(row[0]): place for place, row in enumerate(polygons)}
        wanted = ids.tolist()
        if len(set(wanted)) != len(wanted):
            repeated = next(mask for mask in wanted if wanted.count(mask) > 1)
            raise call.problem(f"'mask_ids' holds {repeated} more than once", sample=index)
        lost = [mask for mask in wanted if mask not in order]
        if lost:
            raise call.problem(f"there is no polygon with the mask id {lost[0]}", sample=index)
        chosen = polygons[[order[mask] for mask in wanted]].reshape(-1, 3)
        starts, ends = chosen[:, 1].astype(np.int64), chosen[:, 2].astype(np.int64)
        wrong = (starts < 0) | (ends > len(vertices)) | (ends < starts)
        if wrong.any():
            mask, start, end = chosen[int(wrong.argmax())].tolist()
            raise call.problem(
                f"the vertices {start} to {end} of mask {mask} are not a range of the {len(vertices)} there are",
                sample=index,
            )
        result = np.empty((len(wanted), 3), np.int32)
        result[:, 0] = np.arange(len(wanted)) if self.value("reindex_masks") else chosen[:, 0]
        result[:, 2] = np.cumsum(ends - starts)
        result[:, 1] = result[:, 2] - (ends - starts)
        parts = [vertices[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        return result, np.concatenate(parts) if parts else vertices[:0]

    @classmethod
    def cases(cls) -> Iterable[Case]:
        polygons = [np.array([[0, 0, 3], [1, 3, 7], [2, 7, 10]], np.int32), np.array([[9, 2, 6], [4, 0, 3]], np.int32)]
        ids = [np.array(row, np.int32) for row in ([2, 0], [4])]
        none = [np.array(row, np.int32) for row in ([1], [])]
        for dtype in (np.float32, np.int16, np.float64, np.float16, np.uint8, np.bool_, np.int64):
            vertices = [np.arange(20).reshape(10, 2).astype(dtype), np.arange(18).reshape(6, 3).astype(dtype)]
            yield Case((ids, polygons, vertices), {})
            yield Case((none, polygons, vertices), {"reindex_masks": True})
        vertices = [np.arange(20, dtype=np.float32).reshape(10, 2)] * 2
        repeated = [np.array([[1, 3, 6], [0, 4, 9], [1, 0, 3]], np.int32)] * 2
        yield Case(([np.array([1, 0], np.int32)] * 2, repeated, vertices), {"reindex_masks": True})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        polygons = [np.array([[0, 0, 3], [1, 3, 7], [2, 8, 7]], np.int32)]
        vertices = [np.zeros((6, 2), np.float32)]

        def ids(*values: int) -> list[npt.NDArray[Any]]:
            return [np.array(values, np.int32)]

        yield ErrorCase((ids(7), polygons, vertices), words=("mask id 7", "sample 0"))
        yield ErrorCase((ids(0, 0), polygons, vertices), words=("more than once", "0"))
        yield ErrorCase((ids(1), polygons, vertices), words=("3 to 7", "mask 1"))
        yield ErrorCase((ids(2), polygons, vertices), words=("8 to 7", "mask 2"))
        yield ErrorCase((ids(0), [np.zeros((2, 2), np.int32)], vertices), words=("3 columns", "2"))
        yield ErrorCase(([np.zeros(1, np.int64)], polygons, vertices), words=("mask_ids", "INT64"))
        yield ErrorCase((ids(0), polygons, [np.zeros((6, 2, 1), np.float32)]), words=("vertices", "3"))
