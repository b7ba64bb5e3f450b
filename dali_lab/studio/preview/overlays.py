"""Overlays of a picture: boxes, points and masks that other nodes give for the same samples."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.graph.graph import Edge, Graph, bare
from dali_lab.model.batch import Batch
from dali_lab.schema.registry import find_operator, has_operator
from dali_lab.studio.protocol.previews import ShapesOverlay

Array = npt.NDArray[Any]
_MOST = 200
_RELATIVE = 1.5
"""Coordinates up to this are parts of the size: boxes may reach a little over the edge."""


@dataclass(frozen=True)
class Overlay:
    """An output that is drawn over a picture; `kind` is ``"boxes"``, ``"points"`` or ``"mask"``."""

    kind: str
    edge: Edge


def overlays_of(graph: Graph, kinds: dict[str, list[str]], tap: Edge) -> list[Overlay]:
    """For each kind the output that fits the picture at `tap` best.

    Boxes follow their picture: the same node crops both, or crops one and gives the other its window. So the best ones
    have most nodes in common with the picture, and fewest of their own.
    """
    if _kind(kinds, tap) not in ("image", "any"):
        return []
    picture = graph.ancestors([tap.node])
    best: dict[str, tuple[int, Overlay]] = {}
    for overlay in _candidates(graph, kinds):
        own = graph.ancestors([overlay.edge.node])
        common = own & picture
        if not common or overlay.edge == tap:
            continue
        score = len(common) - len(own - picture)
        if overlay.kind not in best or score >= best[overlay.kind][0]:
            best[overlay.kind] = score, overlay
    return [overlay for _, overlay in best.values()]


def _candidates(graph: Graph, kinds: dict[str, list[str]]) -> list[Overlay]:
    found: dict[Overlay, None] = {}
    for name in graph.order():
        node = graph.nodes[name]
        if not has_operator(node.op):
            continue
        operator = find_operator(node.op)
        # An edge to an input for boxes carries boxes, whatever its source declares.
        for edge, entry in zip(node.inputs, operator.inputs, strict=False):
            if entry.kind in ("boxes", "mask"):
                found[Overlay(entry.kind, bare(edge))] = None
        for index, kind in enumerate(kinds.get(name, ())):
            if kind in ("boxes", "mask"):
                found[Overlay(kind, Edge(name, index))] = None
        if operator.moves_points:
            found[Overlay("points", Edge(name))] = None
    return list(found)


def _kind(kinds: dict[str, list[str]], edge: Edge) -> str:
    every = kinds.get(edge.node, [])
    return every[edge.output] if edge.output < len(every) else ""


def corners_first(graph: Graph, edge: Edge) -> bool:
    """Whether boxes are left, top, right, bottom; otherwise width and height come after the corner."""
    node = graph.nodes.get(edge.node)
    while node is not None and has_operator(node.op):
        declared = {argument.name: argument.default for argument in find_operator(node.op).arguments}
        if "ltrb" in declared:
            return bool(node.arguments.get("ltrb", declared["ltrb"]))
        if "bbox_layout" in declared:
            return bool(node.arguments.get("bbox_layout", declared["bbox_layout"]) == "xyXY")
        boxes = [
            e for e, entry in zip(node.inputs, find_operator(node.op).inputs, strict=False) if entry.kind == "boxes"
        ]
        node = graph.nodes.get(boxes[0].node) if boxes else None
    return True


def shapes_overlay(
    overlay: Overlay,
    batch: Batch,
    rows: Collection[int | None],
    size_of: Callable[[int], tuple[int, int] | None],
    corners: bool,
) -> ShapesOverlay:
    """Boxes or points of some samples, from 0 to 1.

    Parameters
    ----------
    rows
        Rows of the batch, `None` for a sample that failed.
    size_of
        Width and height of a sample's picture, for coordinates in pixels.
    corners
        Boxes are two corners.
    """
    items: list[list[list[float]] | None] = []
    for sample, row in enumerate(rows):
        found = None if row is None else _relative(np.asarray(batch.array(row)), overlay.kind, size_of(sample), corners)
        items.append(None if found is None else np.round(found[:_MOST], 5).tolist())
    return ShapesOverlay(overlay.kind, overlay.edge.node, overlay.edge.output, items)


def _relative(given: Array, kind: str, size: tuple[int, int] | None, corners: bool) -> Array | None:
    width = 4 if kind == "boxes" else 2
    if given.ndim != 2 or given.shape[1] != width or not np.issubdtype(given.dtype, np.number):
        return None
    table = given.astype(np.float64)
    if kind == "boxes" and not corners:
        table = np.concatenate([table[:, :2], table[:, :2] + table[:, 2:]], axis=1)
    if table.size and np.nanmax(np.abs(table)) > _RELATIVE:
        if size is None:
            return None
        table = table / np.tile(np.asarray(size, np.float64), width // 2)
    return table[np.isfinite(table).all(axis=1)]
