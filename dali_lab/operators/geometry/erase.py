"""Fills rectangles of each sample."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.axes import lettered_axes, numbered_axes
from dali_lab.schema.presets import flag, integers, numbers, pixel_value, string


@register
class Erase(Operator):
    """Fills one or more rectangles of each sample with a value.

    `anchor` and `shape` list the coordinates of one rectangle after the other, in the order of `axis_names`.
    """

    name = "erase"
    inputs = (Input("data", doc="Samples of any type and layout."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    on_gpu = True
    arguments = (
        numbers(
            "anchor",
            (),
            "Corner of each rectangle, or its centre with `centered_anchor`; in pixels, or as `normalized` says.",
            tensor=True,
            important=True,
        ),
        numbers(
            "shape", (), "Extent of each rectangle, in pixels, or as `normalized` says.", tensor=True, important=True
        ),
        pixel_value(
            "fill_value",
            (0.0,),
            "Filling, one value or one for each channel; a fraction is cut off for whole numbers, and what does not fit"
            " into the type wraps around.",
            vector=True,
            tensor=True,
        ),
        string(
            "axis_names",
            "HW",
            "Axes that the coordinates speak of, by letters of the layout; if not given, all but C, such as"
            " HW of HWC and FHW of FHWC.",
        ),
        integers("axes", (1, 0), "The same by numbers; used where `axis_names` is not given."),
        flag("centered_anchor", "The anchor is the centre of the rectangle."),
        flag("normalized", "Anchor and shape are shares of the extent."),
        flag("normalized_anchor", "The anchor is a share of the extent."),
        flag("normalized_shape", "The shape is a share of the extent."),
    )
    start = {"anchor": [0.3, 0.3], "shape": [0.4, 0.4], "normalized": True}
    example = ">>> fn.erase(images, anchor=(0.3, 0.3), shape=(0.4, 0.4), normalized=True, fill_value=128)"
    differs = "Data without a layout is taken as H and W where no axes are given."

    def run(self, call: Call, data: Batch) -> Batch:
        erase = call.kernels("erase")
        axes = self._axes(call, data)
        anchors, extents = self._rectangles(call, len(axes))
        normalized = self.value("normalized")
        starts, stops = erase.erase_regions(
            anchors,
            extents,
            tuple(axes),
            data.shapes,
            normalized_anchor=normalized or self.value("normalized_anchor"),
            normalized_shape=normalized or self.value("normalized_shape"),
            centered=self.value("centered_anchor"),
        )
        values, axis = self._values(call, data)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        erase.erase(data.addresses, out.addresses, data.shapes, starts, stops, values, data.kind, fill_axis=axis)
        return out

    def _axes(self, call: Call, data: Batch) -> list[int]:
        lettered = lettered_axes(call, data.layout) if "axis_names" in self.given else None
        if lettered is not None:
            return lettered
        if "axes" not in self.given:
            letters = data.layout or "HW"[: data.ndim]
            return [axis for axis, letter in enumerate(letters) if letter != "C"]
        axes: list[int] = numbered_axes(call, np.array(self.value("axes"), np.int64), data.ndim).tolist()
        return axes

    def _rectangles(self, call: Call, axes: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Anchors and extents, ``float32[N, R, A]`` both; samples of fewer rectangles get some of no extent."""
        if not axes:
            raise call.problem("names no axis to erase along", argument="axes")
        (anchors, offered), (extents, counts) = (_padded(self._rows(call, name)) for name in ("anchor", "shape"))
        for name, table in (("anchor", anchors), ("shape", extents)):
            call.refuse(~np.isfinite(table), "{} is not finite", table, argument=name)
        offered, counts = np.broadcast_arrays(offered, counts)
        wrong = (offered != 0) & (offered != counts)
        call.refuse(wrong, "has {} numbers, the anchor has {}", counts, offered, argument="shape")
        message = f"{{}} numbers do not make whole rectangles of {axes} axes"
        call.refuse(counts % axes != 0, message, counts, argument="shape")
        most = max(anchors.shape[1], extents.shape[1])
        full = []
        for table in (anchors, extents):
            wide = np.zeros((len(table), most), np.float32)
            wide[:, : table.shape[1]] = table
            full.append(np.broadcast_to(wide.reshape(len(table), -1, axes), (call.count, most // axes, axes)))
        return full[0], full[1]

    def _rows(self, call: Call, name: str) -> list[npt.NDArray[np.float32]]:
        """The numbers for each sample, or one array for all of them."""
        rows = call.lists(name, np.float32) or [np.zeros(0, np.float32)]
        return rows if name in self.connected else rows[:1]

    def _values(self, call: Call, data: Batch) -> tuple[npt.NDArray[np.float32], int]:
        rows = self._rows(call, "fill_value")
        most = max(row.size for row in rows) if rows else 1
        if most == 0:
            return np.zeros((len(rows), 1), np.float32), -1
        if most == 1:
            return np.array([row[:1] for row in rows], np.float32).reshape(len(rows), -1), -1
        axis = data.layout.find("C") if data.layout else data.ndim - 1
        if axis < 0:
            raise call.problem("has a value for each channel, but the layout has no axis 'C'", argument="fill_value")
        for index, channels in enumerate(data.shapes[:, axis].tolist()):
            row = rows[min(index, len(rows) - 1)]
            if row.size not in (1, channels):
                raise call.problem(f"takes 1 or {channels} values, got {row.size}", argument="fill_value", sample=index)
        return np.stack([np.broadcast_to(row, (most,)) for row in rows]), axis

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield Case((pictures,))
        yield from Case.each(
            (pictures,),
            {"anchor": (2, 3), "shape": (4, 5)},
            {"anchor": (2, 3, 7, 8), "shape": (2, 2, 3, 3), "fill_value": (9,)},
            {"anchor": (2, 3), "shape": (4, 5), "axis_names": "WH"},
            {"anchor": (2, 3), "shape": (4, 5), "axes": (0, 1)},
            {"anchor": (0.25, 0.35), "shape": (0.45, 0.55), "normalized": True},
            {"anchor": (0.25, 0.35), "shape": (4, 5), "normalized_anchor": True},
            {"anchor": (8, 6), "shape": (3, 4), "centered_anchor": True},
            {"anchor": (-2, 9), "shape": (4, 90), "fill_value": (1, 2, 3)},
            {"anchor": (2, 3), "shape": (4, 5), "fill_value": ()},
            {"anchor": (2.6, 3.4), "shape": (4.6, 5.4)},
            {"anchor": (3,), "shape": (2,), "axis_names": "W"},
            {"shape": (4, 5)},
        )
        yield Case(
            (samples.pictures(dtype=np.float32),), {"anchor": (2, 3), "shape": (4, 5), "fill_value": (0.25, 0.5, 1)}
        )
        yield Case((samples.planar(),), {"anchor": (2, 3), "shape": (4, 5), "fill_value": (1, 2, 3)})
        yield Case((samples.sequences(),), {"anchor": (2, 3), "shape": (4, 5), "axis_names": "HW"})
        yield Case((samples.sequences(),), {"anchor": (0, 2, 3), "shape": (1, 4, 5)})
        yield Case((samples.volumes(),), {"anchor": (1, 2, 3), "shape": (2, 4, 5), "fill_value": (9,)})
        yield Case(((samples.tensors(((9, 8), (4, 9), (7, 7))), "HC"),), {"anchor": (2,), "shape": (3,)})
        yield Case(((samples.tensors(((9, 8), (4, 9), (7, 7))), "AB"),), {"anchor": (2, 1), "shape": (3, 2)})
        boxes = PerSample.of((1, 2), (3, 4), (5, 0))
        yield Case((pictures,), {"anchor": boxes, "shape": (5, 6)})
        yield Case((pictures,), {"anchor": boxes, "shape": boxes, "centered_anchor": True})
        several = PerSample([np.arange(2 * n, dtype=np.float32) for n in (1, 3, 2)])
        yield Case((pictures,), {"anchor": several, "shape": several, "fill_value": (200, 0, 90)})
        yield Case(
            (samples.pictures(dtype=np.int16),), {"anchor": (-0.5, -1.5), "shape": (3.9, 9), "fill_value": (-7.8,)}
        )
        for dtype in (np.uint8, np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
            for value in (300.6, -1.5, 5e9, -3e9, 1e30):
                yield Case((samples.pictures(((5, 4),), dtype=dtype),), {"shape": (3, 2), "fill_value": (value,)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        good = {"anchor": (2, 3), "shape": (4, 5)}
        yield ErrorCase((samples.pictures(),), {**good, "fill_value": (7, 8)}, words=("fill_value", "3 values"))
        yield ErrorCase((samples.pictures(),), {"anchor": (2, 3), "shape": (4, 5, 6, 7)}, words=("shape", "sample 0"))
        yield ErrorCase((samples.pictures(),), {**good, "axis_names": "HX"}, words=("axis_names", "'X'"))


def _padded(rows: list[npt.NDArray[np.float32]]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Rows as a table, with 0 after the shorter ones, and how many numbers each had."""
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    table = np.zeros((len(rows), int(counts.max(initial=0))), np.float32)
    if rows:
        table[np.arange(table.shape[1]) < counts[:, None]] = np.concatenate(rows)
    return table, counts
