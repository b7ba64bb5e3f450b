"""Moves, stretches and windows: the transforms without angles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.operators.transforms.transforming import REVERSE, Matrices, Transforming, empty
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, PerSample, flag, integer, numbers, register

MATRIX = [
    np.array([[1, 2, 3], [4, 5, 6]], np.float32),
    np.array([[0, 1, 2], [3, 0, 1]], np.float32),
    np.eye(2, 3, dtype=np.float32),
]


def per_sample(*rows: object, layout: str = "") -> PerSample:
    """FLOAT values of a connected argument."""
    return PerSample([np.array(row, np.float32) for row in rows], layout)


@register
class Translation(Transforming):
    """Makes transforms that move points."""

    name = "transforms.translation"
    arguments = (
        numbers("offset", REQUIRED, "How far to move along each axis.", per_frame=True, important=True),
        REVERSE,
    )
    sized_by = ("offset",)
    example = ">>> fn.warp_affine(images, matrix=fn.transforms.translation(offset=[20, -10]))"

    def dimensions(self, call: Call, given: int | None) -> int:
        return self.length(call, "offset")

    def matrices(self, call: Call, ndim: int) -> Matrices:
        from dali_lab.kernels.cpu.transforms import translations

        result = empty(call, ndim)
        translations(self.vector(call, "offset", ndim), result)
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield Case((), {"offset": [1, 2]})
        yield Case((), {"offset": [1, 2, 3]})
        yield Case((), {"offset": 5})
        yield Case((MATRIX,), {"offset": [1, 2]})
        yield Case((MATRIX,), {"offset": [1, 2], "reverse_order": True})
        yield Case((), {"offset": per_sample([1, 2], [3, 4], [-1, 0.5])})
        yield Case((MATRIX,), {"offset": per_sample([1, 2], [3, 4], [-1, 0.5]), "reverse_order": True})
        yield Case((), {"offset": per_sample([[1, 2], [3, 4]], [[5, 6]], [[7, 8], [0, 1]], layout="F*")})
        yield Case((MATRIX,), {"offset": per_sample([[1, 2], [3, 4]], [[5, 6]], [[7, 8], [0, 1]], layout="F*")})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((MATRIX,), {"offset": [1, 2, 3]}, ("2 dimensions", "3"))
        yield ErrorCase(([np.eye(3, dtype=np.float32)] * 3,), {"offset": [1, 2]}, ("(3, 3)",))
        yield ErrorCase(([np.eye(2, 3)] * 3,), {"offset": [1, 2]}, ("FLOAT64",))
        yield ErrorCase((), {"offset": PerSample([np.array([1, 2])] * 3)}, ("offset", "INT64"))


@register
class Scale(Transforming):
    """Makes transforms that stretch along the axes."""

    name = "transforms.scale"
    arguments = (
        numbers(
            "scale", REQUIRED, "Factor for each axis; a single one counts for all.", per_frame=True, important=True
        ),
        numbers("center", None, "The point that stays where it is; the origin by default.", per_frame=True),
        integer(
            "ndim",
            None,
            "Number of dimensions, where neither a list of factors nor an input tells it.",
            minimum=1,
            maximum=1024,
        ),
        REVERSE,
    )
    sized_by = ("scale",)
    example = ">>> fn.transforms.scale(scale=[1.5, 0.5], center=[112, 112])"

    def dimensions(self, call: Call, given: int | None) -> int:
        found = super().dimensions(call, given)
        wanted = self.value("ndim")
        return int(wanted) if found == 1 and wanted is not None and given is None else found

    def matrices(self, call: Call, ndim: int) -> Matrices:
        from dali_lab.kernels.cpu.transforms import scales

        result = empty(call, ndim)
        scales(self.vector(call, "scale", ndim), self.vector(call, "center", ndim), result)
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield from Case.each(
            (),
            {"scale": [2, 3]},
            {"scale": 2},
            {"scale": 2, "ndim": 3},
            {"scale": [2, 3], "center": [1, 2]},
            {"scale": [2, 3], "center": [1.5]},
            {"scale": [2, 3, 0.5], "center": [1, 2, 3]},
            {"scale": [2, 3], "ndim": 2},
        )
        yield Case((MATRIX,), {"scale": 2})
        yield Case(([np.array([[2, 1]], np.float32)] * 3,), {"scale": 2, "ndim": 3})
        yield Case((MATRIX,), {"scale": [2, 3], "center": [1, 2], "reverse_order": True})
        yield Case((), {"scale": per_sample([1, 2], [3, 4], [-1, 0.5]), "center": [1, 0.25]})
        yield Case((), {"scale": per_sample(1, 2, 3), "ndim": 2})
        yield Case(
            (MATRIX,),
            {
                "scale": per_sample([[1, 2], [3, 4]], [[5, 6]], [[7, 8]], layout="F*"),
                "center": per_sample([1, 2], [0, 1], [5, 5]),
            },
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {"scale": [2, 3], "center": [1, 2, 3]}, ("center", "3"))
        yield ErrorCase((MATRIX,), {"scale": [2, 3, 4]}, ("2 dimensions", "3"))


@register
class Crop(Transforming):
    """Makes transforms that take one window of coordinates to another, as after a crop."""

    name = "transforms.crop"
    title = "Crop window"
    arguments = (
        *(
            numbers(name, (default,), doc, per_frame=True, important=True)
            for name, default, doc in (
                ("from_start", 0.0, "Where the first window begins, along each axis."),
                ("from_end", 1.0, "Where the first window ends."),
                ("to_start", 0.0, "Where the second window begins."),
                ("to_end", 1.0, "Where the second window ends."),
            )
        ),
        flag("absolute", "Exchange beginning and end of a window where they are the other way round."),
        REVERSE,
    )
    sized_by = ("from_start", "from_end", "to_start", "to_end")
    example = """
    >>> fn.transforms.crop(from_start=[0.0, 0.0], from_end=[1.0, 1.0], to_start=[0.25, 0.25], to_end=[0.75, 0.75])
    """

    def matrices(self, call: Call, ndim: int) -> Matrices:
        from dali_lab.kernels.cpu.transforms import crops

        low, high, to_low, to_high = (self.vector(call, name, ndim, self.values[name]) for name in self.sized_by)
        result = empty(call, ndim)
        crops(low, high, to_low, to_high, self.value("absolute"), result)
        return result

    @classmethod
    def cases(cls) -> Iterable[Case]:
        yield from Case.each(
            (),
            {},
            {"from_start": [1, 2], "from_end": [3, 5]},
            {"from_start": [1, 2], "from_end": [3, 5], "to_start": [10, 20], "to_end": [1, 1]},
            {"from_start": 0.5, "from_end": 2},
            {"from_start": [3, 5], "from_end": [1, 2], "absolute": True},
            {"from_start": [3, 5], "from_end": [1, 2]},
            {"from_start": [0.1, 0.2, 0.3], "from_end": [0.8, 0.8, 0.9], "to_end": 3.0},
            {"to_start": [5, 5], "to_end": [1, 1], "absolute": True},
        )
        yield Case((MATRIX,), {"to_end": [2, 2]})
        yield Case((MATRIX,), {"from_start": [3, 5], "from_end": [1, 2], "reverse_order": True})
        yield Case((), {"from_start": per_sample([1, 2], [3, 4], [-1, 0.5]), "from_end": [8, 9]})
        yield Case(
            (), {"from_start": per_sample([[1, 2], [3, 4]], [[5, 6]], [[7, 8]], layout="F*"), "from_end": [18, 9]}
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((), {"from_start": [1, 2], "from_end": [3, 4, 5]}, ("from_start", "3"))
