"""Takes some of the polygons of segmentation masks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.dense import flat, gathered
from dali_lab.model.dtypes import INT32
from dali_lab.operators.boxes.coordinates import table_out
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, flag, register


@register
class SelectMasks(Operator):
    """Takes the polygons of the given masks, in the order of `mask_ids`, and the vertices that belong to them.

    Of several polygons with the same id the last one counts.
    """

    name = "segmentation.select_masks"
    inputs = (
        Input(
            "mask_ids",
            dims=(1,),
            dtypes=(INT32,),
            kind="tensor",
            doc="Ids of the wanted masks, INT32 ``(n,)``, each but once.",
        ),
        Input(
            "polygons",
            dims=(2,),
            dtypes=(INT32,),
            kind="tensor",
            doc="Id, first vertex and end of the vertices of each, INT32 ``(m, 3)``.",
        ),
        Input("vertices", dims=(2,), kind="tensor", doc="Coordinates of any type, ``(k, dimensions)``."),
    )
    outputs = (
        Output("polygons", kind="tensor", doc="The polygons taken, INT32 ``(n, 3)``.", dtype=INT32),
        Output("vertices", kind="tensor", doc="Their vertices, one polygon after the other."),
    )
    arguments = (flag("reindex_masks", "Replace ids by their places in `mask_ids`.", important=True),)
    example = ">>> polygons, vertices = fn.segmentation.select_masks(mask_ids, polygons, vertices, reindex_masks=True)"

    def run(self, call: Call, mask_ids: Batch, polygons: Batch, vertices: Batch) -> tuple[Batch, Batch]:
        columns = "``mask_id, start_idx, end_idx``"
        message = (
            f"takes 'polygons' of 3 columns. ``polygons`` is expected to contain 2D tensors with 3 columns: {columns}."
        )
        call.refuse(polygons.shapes[:, 1] != 3, message + " Got {} columns.", polygons.shapes[:, 1])
        counts = mask_ids.sizes
        owner, place = rows_of(counts)
        chosen = self._chosen(call, mask_ids, polygons, owner)
        starts, ends = chosen[:, 1].astype(np.int64), chosen[:, 2].astype(np.int64)
        self._check_ranges(call, chosen, vertices.shapes[owner, 0], owner)
        # Places of the polygons among the vertices that are taken of their sample.
        stops = np.cumsum(ends - starts)
        before = np.concatenate([[0], stops])[np.cumsum(counts) - counts][owner]
        result = np.empty((len(chosen), 3), np.int32)
        result[:, 0] = place if self.value("reindex_masks") else chosen[:, 0]
        result[:, 2] = stops - before
        result[:, 1] = result[:, 2] - (ends - starts)
        taken = np.bincount(owner, ends - starts, call.count).astype(np.int64)
        polygons_out = table_out(call, result, counts, "")
        width = vertices.shapes[:, 1]
        vertices_out = call.allocate(np.stack([taken, width], axis=1), vertices.dtype, output=1)
        row = (width * vertices.itemsize)[owner]
        from dali_lab.kernels.cpu.copy import copy

        copy(
            vertices.addresses[owner] + starts * row,
            vertices_out.addresses[owner] + result[:, 1] * row,
            (ends - starts) * width[owner],
            vertices.itemsize,
        )
        return polygons_out, vertices_out

    @staticmethod
    def _chosen(call: Call, mask_ids: Batch, polygons: Batch, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The polygon of each wanted mask, ``int32[M, 3]``: of several with its id in its sample the last one."""
        table = flat(gathered(polygons)).reshape(-1, 3)
        ids = flat(gathered(mask_ids))
        of_polygon = np.repeat(np.arange(call.count), polygons.shapes[:, 0])
        wanted = (owner << 32) + ids.astype(np.int64)
        known = (of_polygon << 32) + table[:, 0].astype(np.int64)
        ordered = np.sort(wanted)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(repeated):
            index = int(np.flatnonzero(wanted == repeated[0])[0])
            raise call.problem(f"'mask_ids' holds {ids[index]} more than once", sample=int(owner[index]))
        order = np.argsort(known, kind="stable")
        place = np.searchsorted(known[order], wanted, side="right") - 1
        lost = (place < 0) | (known[order[place]] != wanted) if len(known) else np.ones(len(wanted), bool)
        message = "there is no polygon with the mask id {}. Selected mask_id {} is not present in the input."
        call.refuse(lost, message, ids, ids, owners=owner)
        return np.asarray(table[order[place]], np.int32).reshape(-1, 3)

    @staticmethod
    def _check_ranges(
        call: Call, chosen: npt.NDArray[np.int32], limits: npt.NDArray[np.int64], owner: npt.NDArray[np.int64]
    ) -> None:
        mask, start, end = chosen.T
        message = "the vertices {} to {} of mask {} are not a range of the {} there are. "
        message += "Vertex index range for mask id {} is out of bounds. "
        message += "Expected to be within the range of available vertices [0, {}]."
        call.refuse(
            (start < 0) | (end > limits) | (end < start), message, start, end, mask, limits, mask, limits, owners=owner
        )

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
