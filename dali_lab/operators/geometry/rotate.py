"""Rotates images and volumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INTERP_NN
from dali_lab.operators.geometry.warping import IMAGES, SIZE, WARPING, Warping
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, PerSample, degrees, flag, numbers, register, samples


@register
class Rotate(Warping):
    """Rotates images about their centre, counter-clockwise, and volumes about an axis through it.

    The canvas grows to hold the rotated image, unless `keep_size` or `size` say otherwise. Seen against the `axis` of
    a volume, whose x, y and z go along width, height and depth, a positive angle turns x towards y.
    """

    name = "rotate"
    inputs = (IMAGES,)
    arguments = (
        degrees("angle", REQUIRED, "Angle of the rotation.", per_frame=True, important=True),
        numbers(
            "axis",
            None,
            "Axis of the rotation of a volume, as x, y and z; its length does not matter.",
            length=3,
            per_frame=True,
        ),
        flag("keep_size", "Keep the size of the canvas.", important=True),
        SIZE,
        *WARPING,
    )
    start = {"angle": 15.0, "fill_value": 0.0}
    example = ">>> fn.rotate(images, angle=fn.random.uniform(range=(-15, 15)), fill_value=0, keep_size=True)"

    def run(self, call: Call, data: Batch) -> Batch:
        angles = call.numbers("angle")
        call.refuse(~np.isfinite(angles), "{} is not finite", angles, argument="angle")
        if "D" in data.layout:
            return self._volumes(call, data)
        from dali_lab.kernels.cpu import warp

        angles = call.numbers("angle")
        sizes = data.shapes[:, :2]
        canvas = sizes if self.value("keep_size") else warp.rotated_sizes(angles, sizes, call.repeat)
        canvas = self.sizes(call, canvas)
        return self.warp(call, data, warp.rotation_matrices(angles, sizes, canvas), canvas)

    def _volumes(self, call: Call, data: Batch) -> Batch:
        from dali_lab.kernels.cpu import warp_volume

        if not self.has("axis"):
            raise call.problem("must be given for volumes", argument="axis")
        angles, axes = call.numbers("angle"), call.vectors("axis", 3)
        wrong = ~(np.isfinite(axes).all(axis=1) & (axes != 0).any(axis=1))
        call.refuse(wrong, "{} is not a direction", axes, argument="axis")
        sizes = data.shapes[:, :3]
        canvas = sizes if self.value("keep_size") else warp_volume.rotated_sizes(axes, angles, sizes, call.repeat)
        canvas = self.sizes(call, canvas)
        return self.warp_volumes(call, data, warp_volume.rotation_matrices(axes, angles, sizes, canvas), canvas)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        angles = PerSample.of(10, 90, -133.3)
        yield from Case.each(
            (pictures,),
            {"angle": 30.0},
            {"angle": 30.0, "fill_value": 0.0},
            {"angle": angles, "fill_value": 100.0},
            {"angle": angles, "keep_size": True},
            {"angle": 45.0, "size": (20, 50), "fill_value": 1.0},
            {"angle": 45.0, "size": (20.5, 49.7), "fill_value": 1.0},
            {"angle": 12.0, "interp_type": INTERP_NN},
            {"angle": 0.0},
            {"angle": 180.0},
            {"angle": -77.0, "dtype": FLOAT, "fill_value": -5.0},
        )
        yield Case((samples.pictures(dtype=np.float32),), {"angle": 20.0, "fill_value": 0.5})
        yield Case((samples.pictures(dtype=np.int16),), {"angle": 20.0})
        yield Case((samples.pictures(channels=1),), {"angle": 20.0})
        yield Case((samples.sequences(),), {"angle": 20.0})
        yield Case((samples.sequences(),), {"angle": angles, "keep_size": True})
        yield Case((samples.pictures(((1, 1), (1, 6), (5, 1))),), {"angle": 40.0})
        turning = PerSample([np.array(row, np.float32)[:, None] for row in ((3, 80), (-50, 10, 100), (44,))], "F*")
        yield Case((samples.sequences(),), {"angle": turning, "fill_value": 9.0})
        volumes = samples.volumes(channels=2)
        directions = PerSample.of((1, 0, 0), (0.3, -2, 1), (0, 0, -5))
        deep: tuple[dict[str, Any], ...] = (
            {"axis": (0.0, 0.0, 1.0)},
            {"axis": (0.0, 1.0, 0.0), "fill_value": 0.0},
            {"axis": (1.0, 2.0, -3.0), "fill_value": 99.0},
            {"axis": (1.0, 1.0, 1.0), "keep_size": True},
            {"axis": (1.0, 1.0, 0.0), "size": (6, 14, 9), "fill_value": 3.0},
            {"axis": (1.0, 1.0, 0.3), "interp_type": INTERP_NN, "fill_value": 3.0},
            {"axis": (1.0, 1.0, 0.3), "interp_type": INTERP_NN},
            {"axis": directions, "dtype": FLOAT, "fill_value": 3.5},
            {"axis": directions, "angle": angles},
            {"axis": (0.0, 1.0, 0.0), "angle": 0.0},
            {"axis": (0.0, 1.0, 0.0), "angle": 180.0},
        )
        for options in deep:
            yield Case((volumes,), {"angle": 33.0, **options})
        # The C library rounds the sine of the second angle and the cosine of the third one wrongly.
        for angle in (20.0, 151.65076, -56.838226):
            yield Case((samples.pictures(dtype=np.float32),), {"angle": angle})
            for axis in ((1.0, 2.0, 0.5), (-0.387, 0.0, 0.0)):
                yield Case((samples.volumes(dtype=np.float32),), {"angle": angle, "axis": axis})
        yield Case((samples.volumes(dtype=np.int16),), {"angle": 20.0, "axis": (1.0, 2.0, 0.5)})
        several = [np.stack([array, array[::-1]]) for array in volumes[0]]
        yield Case(((several, "FDHWC"),), {"angle": angles, "axis": directions})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"angle": float("nan")}, words=("angle", "not finite"))
        yield ErrorCase((samples.volumes(),), {"angle": 3.0}, words=("axis", "volumes"))
        yield ErrorCase((samples.volumes(),), {"angle": 3.0, "axis": (0.0, 0.0, 0.0)}, words=("axis", "direction"))
        yield ErrorCase((samples.pictures(),), {"angle": 3.0, "size": (0, 5)}, words=("size",))
