"""Rotates images."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.batch.batch import Batch
from dali_lab.operators.geometry.warping import IMAGES, SIZE, WARPING, Warping
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, register, samples
from dali_lab.schema.operator import PerSample
from dali_lab.types import FLOAT, INTERP_CUBIC, INTERP_NN


@register
class Rotate(Warping):
    """Rotates images about their centre, counter-clockwise.

    The canvas grows to hold the rotated image, unless `keep_size` or `size` say otherwise.
    """

    name = "rotate"
    title = "Rotate"
    inputs = (IMAGES,)
    arguments = (
        Arg(
            "angle",
            "float",
            REQUIRED,
            "Angle of the rotation.",
            tensor=True,
            per_frame=True,
            unit="deg",
            soft_minimum=-180.0,
            soft_maximum=180.0,
            step=1.0,
            important=True,
        ),
        Arg(
            "axis",
            "float",
            None,
            "Axis of the rotation of a volume; its length does not matter.",
            vector=True,
            length=3,
            tensor=True,
            per_frame=True,
        ),
        Arg("keep_size", "bool", False, "Keep the size of the canvas.", important=True),
        SIZE,
        *WARPING,
    )
    example = """
    >>> fn.rotate(images, angle=fn.random.uniform(range=(-15, 15)), fill_value=0, keep_size=True)
    """

    def run(self, call: Call, data: Batch) -> Batch:
        if "D" in data.layout:
            return self._volumes(call, data)
        from dali_lab.kernels.cpu import warp

        angles = call.numbers("angle")
        sizes = data.shapes[:, :2]
        canvas = sizes if self.value("keep_size") else warp.rotated_sizes(angles, sizes)
        if call.repeat is not None and len(canvas) and not self.value("keep_size"):
            # The frames of a sequence share the largest canvas that one of them needs.
            counts = call.repeat[call.repeat > 0]
            starts = np.cumsum(counts) - counts
            canvas = np.repeat(np.maximum.reduceat(canvas, starts, axis=0), counts, axis=0)
        canvas = self.sizes(call, canvas)
        return self.warp(call, data, warp.rotation_matrices(angles, sizes, canvas), canvas)

    def _volumes(self, call: Call, data: Batch) -> Batch:
        raise call.problem("takes images and sequences; volumes are not supported yet")

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        angles = PerSample([np.float32(v) for v in (10, 90, -133.3)])
        for arguments in (
            {"angle": 30.0},
            {"angle": 30.0, "fill_value": 0.0},
            {"angle": angles, "fill_value": 100.0},
            {"angle": angles, "keep_size": True},
            {"angle": 45.0, "size": (20, 50), "fill_value": 1.0},
            {"angle": 12.0, "interp_type": INTERP_NN},
            {"angle": 0.0},
            {"angle": 180.0},
            {"angle": -77.0, "dtype": FLOAT, "fill_value": -5.0},
        ):
            yield Case((pictures,), arguments)
        yield Case(
            (samples.pictures(dtype=np.float32),),
            {"angle": 20.0, "fill_value": 0.5},
            tolerance=1e-6,
            reason="one rounding in float32",
        )
        yield Case((samples.pictures(dtype=np.int16),), {"angle": 20.0})
        yield Case((samples.pictures(channels=1),), {"angle": 20.0})
        yield Case((samples.sequences(),), {"angle": 20.0})
        yield Case((samples.sequences(),), {"angle": angles, "keep_size": True})
        yield Case((samples.pictures(((1, 1), (1, 6), (5, 1))),), {"angle": 40.0})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), words=("angle", "must be given"))
        yield ErrorCase(
            (samples.pictures(),), {"angle": 3.0, "interp_type": INTERP_CUBIC}, words=("interp_type", "INTERP_CUBIC")
        )
        yield ErrorCase((samples.planar(),), {"angle": 3.0}, words=("CHW",))
        yield ErrorCase((samples.pictures(),), {"angle": 3.0, "size": (0, 5)}, words=("size",))
