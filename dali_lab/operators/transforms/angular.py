"""Rotations and shears."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.operators.transforms.simple import MATRIX, per_sample
from dali_lab.operators.transforms.transforming import REVERSE, Matrices, Transforming, empty
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, OneOf, number, numbers, register

_DEGREE = np.float32(np.pi / 180)


@register
class Rotation(Transforming):
    """Makes rotations: of the plane, or in space about an axis.

    An angle turns x towards y. In space the formula is Rodrigues': ``cos I + sin [a] + (1 - cos) a aᵀ``.
    """

    name = "transforms.rotation"
    arguments = (
        number("angle", REQUIRED, "Angle.", per_frame=True, unit="deg", important=True, slider=(-180, 180)),
        numbers("axis", None, "Axis of a rotation in space, of any length but zero.", length=3, per_frame=True),
        numbers("center", None, "The point that stays where it is; the origin by default.", per_frame=True),
        REVERSE,
    )
    example = """
    >>> turn = fn.transforms.rotation(angle=fn.random.uniform(range=[-15.0, 15.0]), center=[112, 112])
    >>> fn.warp_affine(images, matrix=turn)
    """

    def dimensions(self, call: Call, given: int | None) -> int:
        return 3 if self.has("axis") else 2

    def matrices(self, call: Call, ndim: int) -> Matrices:
        from dali_lab.kernels.cpu.arithmetic import function
        from dali_lab.kernels.cpu.transforms import rotations

        angle = self.vector(call, "angle", 1)[:, 0] * _DEGREE
        axis, result = self.vector(call, "axis", 3), empty(call, ndim)
        center = self.vector(call, "center", ndim)
        rotations(angle, function("cos", angle), function("sin", angle), axis, center, result)
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield from Case.each(
            (),
            {"angle": 30},
            {"angle": -123.4, "center": [1, 2]},
            {"angle": 90},
            {"angle": 30, "axis": [0, 0, 2]},
            {"angle": 30, "axis": [1, 1, 1], "center": [1, 2, 3]},
            {"angle": 200, "axis": [-1, 2, 0.5], "center": [0.5]},
            {"angle": 45, "axis": [0, 0, 0]},
        )
        yield Case((MATRIX,), {"angle": 90})
        yield Case((MATRIX,), {"angle": 33, "reverse_order": True})
        yield Case((), {"angle": per_sample(90, 45, -10)})
        yield Case((), {"angle": 20, "axis": per_sample([1, 0, 0], [0, 1, 0], [3, 0, 4])})
        yield Case((), {"angle": per_sample([90, 45], [30], [0, 1, 2], layout="F")})
        yield Case((MATRIX,), {"angle": per_sample([90, 45], [30], [0, 1, 2], layout="F"), "center": [1, 1]})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {"angle": 30, "center": [1, 2, 3]}, ("center", "3"))
        yield ErrorCase((), {"angle": 30, "axis": [1, 0]}, ("axis", "expected shape 3"))
        yield ErrorCase((MATRIX,), {"angle": 30, "axis": [1, 0, 0]}, ("2 dimensions", "3"))


@register
class Shear(Transforming):
    """Makes shears: each axis is moved by multiples of the others.

    In the plane there are two factors, ``x`` by ``y`` and ``y`` by ``x``; in space six: ``xy, xz, yx, yz, zx, zy``.
    """

    name = "transforms.shear"
    arguments = (
        numbers("shear", None, "The factors; excludes `angles`.", per_frame=True, important=True),
        numbers(
            "angles",
            None,
            "Angles whose tangents are the factors; excludes `shear`.",
            per_frame=True,
            minimum=-90,
            maximum=90,
            unit="deg",
        ),
        numbers("center", None, "The point that stays where it is; the origin by default.", per_frame=True),
        REVERSE,
    )
    rules = (OneOf("shear", "angles", needed=True),)
    example = ">>> fn.transforms.shear(angles=[10, 0], center=[112, 112])"

    def dimensions(self, call: Call, given: int | None) -> int:
        name = "shear" if self.has("shear") else "angles"
        length = self.length(call, name)
        if length not in (2, 6):
            raise call.problem(f"takes 2 values for the plane or 6 for space, got {length}", argument=name)
        return 2 if length == 2 else 3

    def matrices(self, call: Call, ndim: int) -> Matrices:
        from dali_lab.kernels.cpu.arithmetic import function
        from dali_lab.kernels.cpu.transforms import shears

        count = ndim * (ndim - 1)
        if self.has("shear"):
            factors = self.vector(call, "shear", count)
        else:
            angles = self.vector(call, "angles", count)
            call.refuse(~(np.abs(angles) <= 90), "{} are not in [-90, 90] deg", angles, argument="angles")
            factors = function("tan", angles * _DEGREE)
        result = empty(call, ndim)
        shears(factors, self.vector(call, "center", ndim), result)
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield from Case.each(
            (),
            {"shear": [1, 2]},
            {"shear": [1, 2, 3, 4, 5, 6]},
            {"angles": [45, 30]},
            {"angles": [45, -30], "center": [1, 2]},
            {"angles": [10, 20, 30, 40, 50, 60], "center": [1, 2, 3]},
            {"shear": [0.5, 0], "center": [3]},
        )
        yield Case((MATRIX,), {"shear": [1, 2]})
        yield Case((MATRIX,), {"shear": [1, 2], "reverse_order": True})
        yield Case((), {"shear": per_sample([1, 2], [3, 4], [-1, 0.5])})
        yield Case((), {"angles": per_sample([[1, 2], [3, 4]], [[5, 6]], [[7, 8]], layout="F*")})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {}, ("shear", "must be given"))
        yield ErrorCase((), {"shear": [1, 2], "angles": [1, 2]}, ("shear", "angles"))
        yield ErrorCase((), {"shear": [1]}, ("shear", "2 values"))
        yield ErrorCase((), {"angles": per_sample([1, 2], [3, 95], [0, 0])}, ("angles", "sample 1"))
