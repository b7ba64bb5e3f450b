"""Fills rectangles of each sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.batch.conversion import elements
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, register, samples
from dali_lab.schema.operator import PerSample


@register
class Erase(Operator):
    """Fills one or more rectangles of each sample with a value.

    `anchor` and `shape` list the coordinates of one rectangle after the other, in the order of `axis_names`.
    """

    name = "erase"
    family = "geometry"
    title = "Erase"
    inputs = (Input("data", doc="Samples of any type and layout."),)
    outputs = (Output("data"),)
    devices = ("cpu", "gpu")
    arguments = (
        Arg(
            "anchor",
            "float",
            (),
            "Corner of each rectangle, or its centre with `centered_anchor`.",
            vector=True,
            tensor=True,
            important=True,
        ),
        Arg("shape", "float", (), "Extent of each rectangle.", vector=True, tensor=True, important=True),
        Arg(
            "fill_value",
            "float",
            (0.0,),
            "Filling, one value or one for each channel.",
            vector=True,
            tensor=True,
            soft_minimum=0,
            soft_maximum=255,
        ),
        Arg("axis_names", "string", "HW", "Axes that the coordinates speak of, by layout letters."),
        Arg("axes", "int", (1, 0), "The same by numbers; used where `axis_names` is not given.", vector=True),
        Arg("centered_anchor", "bool", False, "The anchor is the centre of the rectangle."),
        Arg("normalized", "bool", False, "Anchor and shape are shares of the extent."),
        Arg("normalized_anchor", "bool", False, "The anchor is a share of the extent."),
        Arg("normalized_shape", "bool", False, "The shape is a share of the extent."),
    )
    example = """
    >>> fn.erase(images, anchor=(0.3, 0.3), shape=(0.4, 0.4), normalized=True, fill_value=128)
    """

    def run(self, call: Call, data: Batch) -> Batch:
        from dali_lab.kernels.cpu import copy, fill

        out = call.allocate(data.shapes, data.dtype, data.layout)
        copy.copy(data.addresses, out.addresses, data.sizes, data.itemsize)
        axes = self._axes(call, data)
        owner, low, high = self._boxes(call, data.shapes, axes)
        values, axis = self._values(call, data)
        fill.fill_boxes(out.addresses, out.shapes, owner, low, high, values, axis, data.itemsize)
        return out

    def _axes(self, call: Call, data: Batch) -> list[int]:
        by_number = "axes" in self.given and "axis_names" not in self.given
        if by_number or not data.layout:
            axes = list(self.value("axes"))
            for axis in axes:
                if not -data.ndim <= axis < data.ndim:
                    raise call.problem(f"{axis} lies outside the {data.ndim} dimensions", argument="axes")
            return [axis % data.ndim for axis in axes]
        names = self.value("axis_names")
        for name in names:
            if name not in data.layout:
                raise call.problem(f"there is no axis {name!r} in layout {data.layout!r}", argument="axis_names")
        return [data.layout.index(name) for name in names]

    def _boxes(
        self, call: Call, shapes: npt.NDArray[np.int64], axes: list[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        anchors = call.lists("anchor", np.float32) or []
        extents = call.lists("shape", np.float32) or []
        normalized = self.value("normalized")
        owners: list[int] = []
        starts: list[npt.NDArray[Any]] = []
        sizes: list[npt.NDArray[Any]] = []
        for index, (anchor, extent) in enumerate(zip(anchors, extents, strict=True)):
            if anchor.size == 0:
                anchor = np.zeros_like(extent)
            if anchor.size != extent.size:
                raise call.problem(
                    f"has {extent.size} numbers, the anchor has {anchor.size}", argument="shape", sample=index
                )
            if anchor.size % len(axes):
                raise call.problem(
                    f"{anchor.size} coordinates do not make whole rectangles of {len(axes)} axes",
                    argument="anchor",
                    sample=index,
                )
            count = anchor.size // len(axes)
            owners.extend([index] * count)
            scale = shapes[index, axes].astype(np.float32)
            first = anchor.reshape(count, len(axes))
            size = extent.reshape(count, len(axes))
            starts.append(first * scale if normalized or self.value("normalized_anchor") else first)
            sizes.append(size * scale if normalized or self.value("normalized_shape") else size)
        owner = np.asarray(owners, np.int64)
        low = np.zeros((len(owner), shapes.shape[1]), np.int64)
        high = shapes[owner].copy()
        if len(owner):
            start = np.concatenate(starts)
            size = np.concatenate(sizes)
            if self.value("centered_anchor"):
                start = start - size / np.float32(2)
            extents_of = shapes[owner][:, axes]
            low[:, axes] = np.clip(np.trunc(start).astype(np.int64), 0, extents_of)
            high[:, axes] = np.clip(np.trunc(start + size).astype(np.int64), 0, extents_of)
        return owner, low, high

    def _values(self, call: Call, data: Batch) -> tuple[npt.NDArray[Any], int]:
        rows = call.lists("fill_value", np.float32) or []
        most = max((row.size for row in rows), default=1)
        if most == 1:
            return np.stack([elements(row, data.dtype) for row in rows]) if rows else np.zeros((0, 1)), -1
        axis = data.layout.find("C") if data.layout else data.ndim - 1
        if axis < 0:
            raise call.problem("has a value for each channel, but the layout has no axis 'C'", argument="fill_value")
        channels = data.shapes[:, axis]
        for index, row in enumerate(rows):
            if row.size not in (1, channels[index]):
                raise call.problem(
                    f"takes 1 or {channels[index]} values, got {row.size}", argument="fill_value", sample=index
                )
        table = [elements(np.broadcast_to(row, (most,)) if row.size == 1 else row, data.dtype) for row in rows]
        return np.stack(table), axis

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        for arguments in (
            {"anchor": (2, 3), "shape": (4, 5)},
            {"anchor": (2, 3, 7, 8), "shape": (2, 2, 3, 3), "fill_value": (9,)},
            {"anchor": (2, 3), "shape": (4, 5), "axis_names": "WH"},
            {"anchor": (2, 3), "shape": (4, 5), "axes": (0, 1)},
            {"anchor": (0.25, 0.35), "shape": (0.45, 0.55), "normalized": True},
            {"anchor": (0.25, 0.35), "shape": (4, 5), "normalized_anchor": True},
            {"anchor": (8, 6), "shape": (3, 4), "centered_anchor": True},
            {"anchor": (-2, 9), "shape": (4, 90), "fill_value": (1, 2, 3)},
            {"anchor": (2.6, 3.4), "shape": (4.6, 5.4)},
            {"anchor": (3,), "shape": (2,), "axis_names": "W"},
            {"shape": (4, 5)},
        ):
            yield Case((pictures,), arguments)
        yield Case(
            (samples.pictures(dtype=np.float32),), {"anchor": (2, 3), "shape": (4, 5), "fill_value": (0.25, 0.5, 1)}
        )
        yield Case((samples.planar(),), {"anchor": (2, 3), "shape": (4, 5), "fill_value": (1, 2, 3)})
        yield Case((samples.sequences(),), {"anchor": (2, 3), "shape": (4, 5), "axis_names": "HW"})
        boxes = PerSample([np.array(row, np.float32) for row in ((1, 2), (3, 4), (5, 0))])
        yield Case((pictures,), {"anchor": boxes, "shape": (5, 6)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        good = {"anchor": (2, 3), "shape": (4, 5)}
        yield ErrorCase((samples.pictures(),), {**good, "fill_value": (7, 8)}, words=("fill_value", "3 values"))
        yield ErrorCase((samples.pictures(),), {"anchor": (2, 3), "shape": (4, 5, 6, 7)}, words=("shape", "sample 0"))
        yield ErrorCase((samples.pictures(),), {**good, "axis_names": "HX"}, words=("axis_names", "'X'"))
