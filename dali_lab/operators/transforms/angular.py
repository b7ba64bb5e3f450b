"""Rotations and shears."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dali_lab.operators.transforms.simple import MATRIX, per_sample
from dali_lab.operators.transforms.transforming import REVERSE, Matrices, Transforming, about, identities
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, register

_CLOSE: dict[str, Any] = {
    "tolerance": 2e-6,
    "reason": "sine, cosine and tangent of float32 differ in the last place between libraries",
}
_WIDER: dict[str, Any] = {"tolerance": 1e-5, "reason": "the same, multiplied by numbers up to 6"}


@register
class Rotation(Transforming):
    """Makes rotations: of the plane, or in space about an axis.

    An angle turns x towards y. In space the formula is Rodrigues': ``cos I + sin [a] + (1 - cos) a aᵀ``.
    """

    name = "transforms.rotation"
    title = "Rotation"
    differs = "Elements agree to within 2e-6 of their size: sine and cosine differ in the last place between libraries."
    arguments = (
        Arg(
            "angle",
            "float",
            REQUIRED,
            "Angle.",
            tensor=True,
            per_frame=True,
            unit="deg",
            soft_minimum=-180,
            soft_maximum=180,
            important=True,
        ),
        Arg(
            "axis",
            "float",
            None,
            "Axis of a rotation in space, of any length but zero.",
            vector=True,
            length=3,
            tensor=True,
            per_frame=True,
        ),
        Arg(
            "center",
            "float",
            None,
            "The point that stays where it is; the origin by default.",
            vector=True,
            tensor=True,
            per_frame=True,
        ),
        REVERSE,
    )
    example = """
    >>> turn = fn.transforms.rotation(angle=fn.random.uniform(range=[-15.0, 15.0]), center=[112, 112])
    >>> fn.warp_affine(images, matrix=turn)
    """

    def dimensions(self, call: Call, given: int | None) -> int:
        return 3 if self.has("axis") else 2

    def matrices(self, call: Call, ndim: int) -> Matrices:
        angle = np.deg2rad(self.vector(call, "angle", 1)[:, 0]).astype(np.float32)
        cosine, sine = np.cos(angle), np.sin(angle)
        if ndim == 2:
            linear = np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], 1)
        else:
            linear = self._in_space(call, cosine, sine)
        return about(linear, self.vector(call, "center", ndim) if self.has("center") else None)

    def _in_space(self, call: Call, cosine: Matrices, sine: Matrices) -> Matrices:
        axis = self.vector(call, "axis", 3)
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y, z = (axis / np.sqrt((axis * axis).sum(axis=1, keepdims=True))).T
        zero = np.zeros_like(x)
        cross = np.stack([np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], 1)
        unit = np.stack([x, y, z], -1)
        outer = unit[:, :, None] * unit[:, None, :]
        c, s = cosine[:, None, None], sine[:, None, None]
        result: Matrices = c * identities(call.count, 3) + s * cross + (1 - c) * outer
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        for arguments in (
            {"angle": 30},
            {"angle": -123.4, "center": [1, 2]},
            {"angle": 90},
            {"angle": 30, "axis": [0, 0, 2]},
            {"angle": 30, "axis": [1, 1, 1], "center": [1, 2, 3]},
            {"angle": 200, "axis": [-1, 2, 0.5], "center": [0.5]},
            {"angle": 45, "axis": [0, 0, 0]},
        ):
            yield Case((), arguments, **_WIDER)
        yield Case((MATRIX,), {"angle": 90}, **_WIDER)
        yield Case((MATRIX,), {"angle": 33, "reverse_order": True}, **_WIDER)
        yield Case((), {"angle": per_sample(90, 45, -10)}, **_CLOSE)
        yield Case((), {"angle": 20, "axis": per_sample([1, 0, 0], [0, 1, 0], [3, 0, 4])}, **_CLOSE)
        yield Case((), {"angle": per_sample([90, 45], [30], [0, 1, 2], layout="F")}, **_CLOSE)
        yield Case((MATRIX,), {"angle": per_sample([90, 45], [30], [0, 1, 2], layout="F"), "center": [1, 1]}, **_WIDER)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {}, ("angle", "must be given"))
        yield ErrorCase((), {"angle": 30, "center": [1, 2, 3]}, ("center", "3"))
        yield ErrorCase((), {"angle": 30, "axis": [1, 0]}, ("axis", "3 values"))
        yield ErrorCase((MATRIX,), {"angle": 30, "axis": [1, 0, 0]}, ("2 dimensions", "3"))


@register
class Shear(Transforming):
    """Makes shears: each axis is moved by multiples of the others.

    In the plane there are two factors, ``x`` by ``y`` and ``y`` by ``x``; in space six: ``xy, xz, yx, yz, zx, zy``.
    """

    name = "transforms.shear"
    title = "Shear"
    differs = "Elements agree to within 2e-6 of their size: the tangent differs in the last place between libraries."
    arguments = (
        Arg(
            "shear", "float", None, "The factors; excludes `angles`.",
            vector=True, tensor=True, per_frame=True, important=True,
        ),
        Arg(
            "angles", "float", None, "Angles whose tangents are the factors; excludes `shear`.",
            vector=True, tensor=True, per_frame=True, minimum=-90, maximum=90, unit="deg",
        ),
        Arg(
            "center", "float", None, "The point that stays where it is; the origin by default.",
            vector=True, tensor=True, per_frame=True,
        ),
        REVERSE,
    )  # fmt: skip
    example = """
    >>> fn.transforms.shear(angles=[10, 0], center=[112, 112])
    """

    def setup(self) -> None:
        if self.has("shear") == self.has("angles"):
            raise self.fail("must be given, or 'angles', but not both", "shear")

    def dimensions(self, call: Call, given: int | None) -> int:
        name = "shear" if self.has("shear") else "angles"
        length = self.length(call, name)
        if length not in (2, 6):
            raise call.problem(f"takes 2 values for the plane or 6 for space, got {length}", argument=name)
        return 2 if length == 2 else 3

    def matrices(self, call: Call, ndim: int) -> Matrices:
        count = ndim * (ndim - 1)
        if self.has("shear"):
            factors = self.vector(call, "shear", count)
        else:
            angles = self.vector(call, "angles", count)
            beyond = ~(np.abs(angles) <= 90)
            if beyond.any():
                sample = int(np.argmax(beyond.any(axis=1)))
                raise call.problem(
                    f"{angles[sample].tolist()} are not in [-90, 90] deg", argument="angles", sample=sample
                )
            factors = np.tan(np.deg2rad(angles)).astype(np.float32)
        linear = identities(call.count, ndim)
        places = [(row, column) for row in range(ndim) for column in range(ndim) if row != column]
        for index, (row, column) in enumerate(places):
            linear[:, row, column] = factors[:, index]
        return about(linear, self.vector(call, "center", ndim) if self.has("center") else None)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        for arguments in (
            {"shear": [1, 2]},
            {"shear": [1, 2, 3, 4, 5, 6]},
            {"angles": [45, 30]},
            {"angles": [45, -30], "center": [1, 2]},
            {"angles": [10, 20, 30, 40, 50, 60], "center": [1, 2, 3]},
            {"shear": [0.5, 0], "center": [3]},
        ):
            yield Case((), arguments, **_WIDER)
        yield Case((MATRIX,), {"shear": [1, 2]}, **_WIDER)
        yield Case((MATRIX,), {"shear": [1, 2], "reverse_order": True}, **_WIDER)
        yield Case((), {"shear": per_sample([1, 2], [3, 4], [-1, 0.5])}, **_CLOSE)
        yield Case((), {"angles": per_sample([[1, 2], [3, 4]], [[5, 6]], [[7, 8]], layout="F*")}, **_CLOSE)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {}, ("shear", "must be given"))
        yield ErrorCase((), {"shear": [1, 2], "angles": [1, 2]}, ("shear", "both"))
        yield ErrorCase((), {"shear": [1]}, ("shear", "2 values"))
        yield ErrorCase((), {"angles": [100, 0]}, ("angles", "100"))
        yield ErrorCase((), {"angles": per_sample([1, 2], [3, 95], [0, 0])}, ("angles", "sample 1"))
