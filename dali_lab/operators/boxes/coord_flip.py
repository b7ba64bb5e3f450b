"""Mirrors points."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model import dtypes
from dali_lab.model.batch import Batch
from dali_lab.model.dense import flat, gathered
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import integer, number

_AXES = "xyz"


@register
class CoordFlip(Operator):
    """Mirrors points about a centre: a coordinate c becomes ``2 center - c``."""

    name = "coord_flip"
    repeatable = False  # a rare result depends on the other samples of the batch
    moves_points = True
    title = "Flip points"
    inputs = (
        Input(
            "points",
            dims=(2,),
            kind="tensor",
            doc="Points of one to three coordinates, ``[N, d]`` of {types}.",
            dtypes=(dtypes.FLOAT,),
        ),
    )
    outputs = (
        Output("points", kind="tensor", doc="The flipped points, with the shape, type and layout of the input."),
    )
    on_gpu = True
    arguments = (
        Arg(
            "layout",
            "layout",
            "",
            "Which coordinate comes where, of the letters x, y and z; `x`, `xy` or `xyz` by default. Those that the"
            " points do not have may be named as well.",
        ),
        integer("flip_x", 1, "Mirror left and right.", tensor=True, widget="switch", important=True),
        integer("flip_y", 0, "Mirror top and bottom.", tensor=True, widget="switch", important=True),
        integer("flip_z", 0, "Mirror front and back.", tensor=True, widget="switch"),
        number("center_x", 0.5, "The x coordinate that stays.", tensor=True),
        number("center_y", 0.5, "The y coordinate that stays.", tensor=True),
        number("center_z", 0.5, "The z coordinate that stays.", tensor=True),
    )
    example = '>>> fn.coord_flip(landmarks, layout="xy", flip_x=fn.random.coin_flip())'

    def run(self, call: Call, points: Batch) -> Batch:
        width = int(points.shapes[0, 1]) if len(points) else 1
        for known in call.note(width):
            have = points.shapes[:, 1]
            call.refuse(have != known, f"points of {{}} coordinates beside points of {known}", have)
        if width > len(_AXES):
            raise call.problem(f"takes points of 1 to 3 coordinates, got {width}")
        layout = self.value("layout") or _AXES[:width]
        for letter in _AXES[:width]:
            if letter not in layout:
                raise call.problem(f"'{letter}' is not in '{layout}'", argument="layout")
        for name in self.connected:
            call.numbers(name)  # those of other coordinates are checked too
        out = call.allocate(points.shapes, points.dtype, points.layout)
        if call.gpu is not None:
            flips, center = np.zeros((call.count, width), np.bool_), np.zeros((call.count, width), np.float32)
            for letter in _AXES[:width]:
                column = layout.index(letter)
                if column < width:
                    flips[:, column] = call.numbers(f"flip_{letter}", np.int64) != 0
                    center[:, column] = call.numbers(f"center_{letter}", np.float32)
            kernels = call.kernels("boxes")
            kernels.flip_points(points.addresses, out.addresses, points.shapes[:, 0], flips, center)
            return out
        source = flat(gathered(points))
        target = flat(out)
        np.copyto(target, source)
        if not width:
            return out
        source, target = source.reshape(-1, width), target.reshape(-1, width)
        counts = points.shapes[:, 0]
        for letter in _AXES[:width]:
            column = layout.index(letter)
            if column >= width:  # a coordinate that the points do not have
                continue
            flags = np.repeat(call.numbers(f"flip_{letter}", np.int64) != 0, counts)
            center = np.repeat(call.numbers(f"center_{letter}", np.float32), counts)
            np.copyto(target[:, column], 2 * center - source[:, column], where=flags)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        points = samples.tensors([(5, 2), (1, 2), (0, 2)])
        space = samples.tensors([(5, 3), (1, 3), (2, 3)])
        yield from Case.each(
            (points,),
            {},
            {"flip_y": 1},
            {"flip_x": 0, "flip_y": 1},
            {"center_x": 2},
            {"layout": "yx"},
            {"flip_z": 1},
            {"flip_x": PerSample.of(0, 1, 1, dtype=np.int32), "center_x": PerSample.of(1, 2, 3)},
        )
        yield Case((space,))
        yield Case((space,), {"flip_z": 1, "center_z": 3, "center_x": 0.25})
        yield Case((space,), {"layout": "zyx", "flip_y": 1})
        yield Case((samples.tensors([(5, 1), (1, 1), (2, 1)]),))
        for layout in ("xyz", "yxz", "zxy", "xxy", "wxyz"):
            yield Case((points,), {"layout": layout, "flip_y": 1, "flip_z": 1, "center_y": 2.0})
        yield Case((samples.tensors([(5, 1), (1, 1), (2, 1)]),), {"layout": "yx"})
        yield Case((space,), {"layout": "wxyz", "flip_y": 1, "flip_z": 1})
        yield Case((samples.tensors([(5, 0), (1, 0), (2, 0)]),))

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.tensors([(5, 4)] * 3),), {}, ("1 to 3", "4"))
        yield ErrorCase((samples.tensors([(5, 2), (5, 3)]),), {}, ("coordinates beside points",))
        two = PerSample([np.zeros(2, np.int32)] * 3)
        yield ErrorCase((samples.tensors([(5, 2)] * 3),), {"flip_z": two}, ("flip_z", "1 element, got: 2"))
        yield ErrorCase((samples.tensors([(5, 2)] * 3),), {"layout": "xz"}, ("layout", "'y'"))
