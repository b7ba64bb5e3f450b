"""Cuts a window out of each sample, given by its coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.operators.geometry.crop import WINDOW, Cutting
from dali_lab.operators.geometry.windows import BORDERS, BOUNDS, SLICE, SLICING, Windows, is_region, slice_windows
from dali_lab.schema import Call, Case, ErrorCase, Input, Output, PerSample, register, samples


@register
class Slice(Cutting):
    """Cuts a window out of tensors of any shape.

    The window is given by the inputs `anchor` and `shape`, or by the arguments `start`, `end`, `shape` and their
    relative forms, along the axes that `axes` or `axis_names` name. Fractions of `fill_values` are cut off for whole
    numbers, and what is beyond the range of the type wraps around.
    """

    name = "slice"
    inputs = (
        Input("data", kind="any", doc="Tensors of any type and layout."),
        Input(
            "anchor",
            kind="tensor",
            device="either",
            doc="Start of the window in the order of the axes.",
            optional=True,
            replaces=BOUNDS,
        ),
        Input("shape", kind="tensor", device="either", doc="Extent of the window.", optional=True),
    )
    outputs = (Output("data", kind="any", doc="The window, of `dtype`, with the layout of the input."),)
    cpu_inputs = (1, 2)
    arguments = (*SLICE, *WINDOW)
    rules = SLICING
    start = {"rel_start": [0.25, 0.25], "rel_shape": [0.5, 0.5]}
    example = """
    >>> fn.slice(images, start=(10, 20), shape=(100, 200), axis_names="HW")
    >>> fn.slice(images, rel_start=(0.1, 0.1), rel_end=(0.9, 0.9))
    """

    @classmethod
    def region_decoder(cls, values: Mapping[str, Any], connected: Iterable[str]) -> str:
        """A region of a picture has height and width alone."""
        plane = "axes" not in connected and set(values.get("axes", (1, 0))) <= {0, 1}
        plane = plane and set(values.get("axis_names", "WH")) <= set("HW")
        return "decoders.image_slice" if plane and is_region(values) else ""

    def windows(self, call: Call, data: Batch, *place: Batch) -> Windows:
        return slice_windows(call, data.shapes, data.layout, *place)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield from Case.each(
            (pictures,),
            {"start": (1, 2), "end": (5, 7)},
            {"start": (1, 2), "shape": (3, 3)},
            {"rel_start": (0.1, 0.2), "rel_end": (0.55, 0.55)},
            {"rel_start": (0.11, 0.23), "rel_shape": (0.47, 0.53)},
            {"start": (1,), "shape": (3,), "axes": (0,)},
            {"start": (1, 1)},
            {"end": (3, 3)},
            {"rel_shape": (0.25, 0.25)},
            {"start": (-1, 0), "end": (3, 3), "out_of_bounds_policy": "pad", "fill_values": (9,)},
            {"start": (-1, 0), "end": (3, 3), "out_of_bounds_policy": "pad", "fill_values": (-9.7,)},
            {"start": (-1, 0), "end": (300, 3), "out_of_bounds_policy": "trim_to_shape"},
            {"start": (-1, 0), "end": (300, 3), "out_of_bounds_policy": "constant", "fill_values": (9,)},
            *({"start": (-70, 2), "end": (90, 9), "out_of_bounds_policy": policy} for policy in BORDERS),
            {"start": (2, 0, 0), "shape": (2, 2, 1), "axes": (0, 1, 2)},
            {"start": (2, 1), "shape": (2, 3), "axis_names": "HW"},
            {"start": (2, 1), "shape": (2, 3), "axes": (-2, -3)},
            {"start": (2, 1), "rel_end": (0.5, 0.7)},
            {"start": (2, 1), "shape": (5, 3), "dtype": FLOAT},
            {"start": (2, 1), "shape": (0, 3)},
        )
        floats = [np.array(row, np.float32) for row in ((0.1, 0.2), (0.123, 0.377), (0.5, 0.4))]
        extents = [np.array(row, np.float32) for row in ((0.5, 0.5), (0.411, 0.333), (0.5, 0.6))]
        whole = [np.array(row, np.int32) for row in ((1, 2), (3, 4), (5, 0))]
        size = [np.array(row, np.int32) for row in ((4, 5), (6, 7), (8, 9))]
        yield Case((pictures, floats, extents))
        yield Case((pictures, whole, size))
        yield Case((pictures, floats, extents), {"axis_names": "HW"})
        real = [row.astype(np.float32) for row in whole], [row.astype(np.float32) for row in size]
        yield Case((pictures, *real), {"normalized_anchor": False, "normalized_shape": False})
        yield Case((samples.tensors(((20,), (31,), (9,))),), {"start": (2,), "end": (8,), "axes": (0,)})
        yield Case(
            (samples.tensors(((6, 7, 8),) * 3, np.int64),), {"start": (1, 2, 3), "shape": (2, 2, 2), "axes": (0, 1, 2)}
        )
        yield Case((samples.sequences(),), {"start": (3, 4), "shape": (10, 11), "axis_names": "HW"})
        starts = PerSample.of((1, 2), (3, 4), (5, 0), dtype=np.int32)
        yield Case((pictures,), {"start": starts, "shape": (4, 6)})

        for data in (samples.planar(), samples.volumes(), samples.sequences()):
            yield Case((data,), {"start": (1, 2), "shape": (3, 4)})
            yield Case((data,), {"start": 1, "shape": 2})
        yield Case((samples.planar(), whole, [np.array((4, 5), np.int32)] * 3))
        yield Case((samples.pictures()[0],), {"start": 2, "shape": 4, "axis_names": "HW"})
        yield Case((pictures,), {"start": 2, "shape": 4, "axes": (0, 1)})
        # Widths at which products lie about half-way between two pixels.
        halves = samples.pictures(((3, 10), (3, 30), (3, 45)))
        for share in (0.35, 0.45, 0.65, 0.7):
            for relative in ("rel_start", "rel_end", "rel_shape"):
                yield Case((halves,), {relative: (share,), "axes": (1,)})
            yield Case((halves,), {"rel_start": (share / 2,), "rel_shape": (share / 2,), "axes": (1,)})
            yield Case((halves,), {"start": (1,), "rel_shape": (share / 2,), "axes": (1,)})
        yield Case((samples.pictures(),), {"start": (), "end": (2, 2)})
        yield Case((samples.pictures(),), {"start": (1, 1), "end": ()})
        yield Case((samples.pictures(),), {"rel_start": (0.2, 0.3), "shape": ()})
        yield Case((samples.pictures(),), {"rel_shape": ()})
        axes = PerSample.of([1], [], [-1, 0], dtype=np.int32)
        starts = PerSample.of([0.1], [0.1, 0.2, 0], [0, 0.3])
        shares = PerSample.of([0.5], [0.3, 0.2, 1], [1, 0.5])
        yield Case((samples.pictures(),), {"axes": axes, "rel_start": starts, "rel_shape": shares})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"axes": [0]}, words=("start", "named slice arguments"))
        yield ErrorCase(
            (samples.pictures(),), {"start": (-1, 0), "end": (3, 3)}, words=("sample 0", "leaves the sample")
        )
        yield ErrorCase((samples.pictures(),), {"start": (3, 3), "end": (2, 5)}, words=("ends before it starts",))
        yield ErrorCase((samples.pictures(),), {"start": (1, 1), "end": (3, 3), "shape": (2, 2)}, words=("shape",))
        yield ErrorCase(
            (samples.pictures(),), {"start": (1, 1), "end": (3, 3), "axis_names": "HX"}, words=("axis_names",)
        )
