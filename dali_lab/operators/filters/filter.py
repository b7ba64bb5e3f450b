"""Filters with a window given by a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT8, INT16, UINT8, UINT16
from dali_lab.operators.filters.convolving import spatial_axes
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import choice, integers

DTYPES = (UINT8, INT8, UINT16, INT16, FLOAT16, FLOAT)
BORDERS = ("reflect_101", "reflect_1001", "wrap", "clamp", "constant")
_SAME_BORDERS = {
    "reflect_101": ("101", "reflect101"),
    "reflect_1001": ("1001", "reflect1001", "reflect"),
    "clamp": ("edge",),
    "constant": ("const", "fill", "pad"),
}
FOURIER = "NVIDIA DALI takes windows as large as these to Fourier's domain, in float32"
Array = npt.NDArray[Any]
Table = npt.NDArray[np.int64]


@register
class Filter(Operator):
    """Filters images and volumes with a window: each result is the sum of a neighbourhood's products with it.

    The window is not turned round, so this is a correlation. Sums are formed in float32; whole-number results are
    rounded half to even and clamped.
    """

    name = "filter"
    inputs = (
        Input(
            "data",
            dtypes=DTYPES,
            doc="Images, volumes or sequences of whole numbers of 8 or 16 bits, FLOAT16 or FLOAT.",
        ),
        Input(
            "filter",
            kind="tensor",
            device="either",
            doc="The window of each sample: FLOAT, with two axes, for volumes three.",
        ),
        Input(
            "fill_value",
            kind="tensor",
            device="either",
            doc="For ``border='constant'``: the value outside, one number of the data's type for each sample.",
            optional=True,
        ),
    )
    outputs = (
        Output(
            "data", doc='Of `dtype`, with the layout of the input and its shape; ``mode="valid"`` leaves the edge out.'
        ),
    )
    frames = True
    on_gpu = True
    cpu_inputs = (2,)
    arguments = (
        integers(
            "anchor",
            (-1,),
            "Which element of the window lies on the result's place, one for each axis; −1 is the middle.",
            per_frame=True,
            minimum=-1,
        ),
        choice(
            "border",
            "reflect_101",
            BORDERS,
            "What is outside: the image mirrored without its edge or with it, repeated, its edge, or `fill_value`.",
            synonyms=tuple((other, border) for border, others in _SAME_BORDERS.items() for other in others),
        ),
        choice(
            "mode",
            "same",
            ("same", "valid"),
            "``valid`` gives only places where the window lies inside the image.",
            synonyms=(("same", "same"), ("valid", "valid")),
            important=True,
        ),
        Arg("dtype", "dtype", None, "Type of the result: that of the input, or FLOAT.", or_no_type=True),
    )
    example = """
    >>> sharpen = types.Constant([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], dtype=types.FLOAT)
    >>> fn.filter(images, sharpen)
    """
    differs = (
        "Volumes, INT8 and FLOAT16 are filtered on the CPU as well. Windows of more than 50 elements, which NVIDIA DALI"
        " takes to Fourier's domain, give FLOAT to within 1e-4, and integers to within one half-way between numbers;"
        " smaller windows give the same bits."
    )

    def run(self, call: Call, *inputs: Batch) -> Batch:
        data = inputs[0]
        dtype = call.result_type(data, (FLOAT,))
        _, spatial = spatial_axes(call, data)
        windows = inputs[1]
        fills = self._fills(call, data, inputs)
        axes = len(spatial)
        if windows.ndim != axes or axes not in (2, 3) or windows.dtype != FLOAT:
            raise call.problem(
                f"needs windows of FLOAT with {axes} axes for layout {data.layout!r},"
                f" got {windows.dtype.name} with {windows.ndim}"
            )
        anchors = self._anchors(call, windows)
        shapes = data.shapes.copy()
        if self.value("mode") == "valid":
            shapes[:, spatial] -= windows.shapes - 1
        call.refuse(data.sizes == 0, "takes images that are not empty")
        call.refuse(windows.shapes < 1, "the window is empty")
        call.refuse(
            shapes[:, spatial] < 1,
            "Filter for sample is bigger than the sample. This is not allowed if ``mode`` is set to ``valid``",
        )
        out = call.allocate(shapes, dtype, data.layout)
        self._filter(call, data, out, windows, anchors, fills, spatial)
        return out

    def _filter(
        self, call: Call, source: Batch, out: Batch, windows: Batch, anchors: Table, fills: Array | None,
        spatial: list[int],
    ) -> None:  # fmt: skip
        count, axes = len(source), len(spatial)
        shapes = np.ones((count, 5), np.int64)
        shapes[:, 0] = source.shapes[:, : spatial[0]].prod(axis=1)
        shapes[:, 4 - axes : 4] = source.shapes[:, spatial]
        shapes[:, 4] = source.shapes[:, spatial[-1] + 1 :].prod(axis=1)
        outs, lengths, places = np.ones((3, count, 3), np.int64)
        outs[:, 3 - axes :] = out.shapes[:, spatial]
        lengths[:, 3 - axes :] = windows.shapes
        places[:] = 0
        if self.value("mode") == "same":
            places[:, 3 - axes :] = anchors
        call.kernels("correlate").correlate(
            source.addresses, out.addresses, shapes, outs, windows.addresses, lengths, places,
            np.zeros(count, np.float32) if fills is None else fills.astype(np.float32),
            self.value("border"), source.kind, out.kind,
        )  # fmt: skip

    def _fills(self, call: Call, data: Batch, inputs: tuple[Batch, ...]) -> Array | None:
        if len(inputs) < 3 or self.value("border") != "constant":
            return None
        fills = inputs[2]
        if fills.dtype != data.dtype or (fills.sizes != 1).any():
            raise call.problem(
                f"needs one fill value of {data.dtype.name} for each sample, got {fills.dtype.name} of shape"
                f" {fills.shapes[0].tolist() if len(fills) else []}"
            )
        return fills.stacked().reshape(-1)

    def _anchors(self, call: Call, windows: Batch) -> Table:
        anchors = call.vectors("anchor", windows.ndim, np.int64)
        wrong = (anchors < -1) | (anchors >= windows.shapes)
        call.refuse(wrong, "{} lies outside the window of {:x}", anchors, windows.shapes, argument="anchor")
        return np.where(anchors < 0, windows.shapes // 2, anchors)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        windows = _windows(((3, 5), (3, 3), (1, 7)))
        fills = [np.uint8(value) for value in (0, 99, 255)]
        anchors = PerSample.of((2, 4), (0, -1), (0, 6), dtype=np.int32)
        options: tuple[dict[str, Any], ...] = (
            {},
            *({"border": border} for border in BORDERS),
            {"anchor": (0,)},
            {"anchor": (0, 2)},
            {"anchor": anchors},
            {"mode": "valid"},
            {"mode": "valid", "anchor": (0,)},
        )
        for arguments in options:
            yield Case((pictures, windows), arguments)
            yield Case((pictures, windows, fills), {**arguments, "border": "constant"})
        for border in ("Fill", "1001", "REFLECT101", "edge"):
            yield Case((pictures, windows), {"border": border, "mode": "SAME"})
        yield Case((samples.pictures(dtype=np.float32), windows), {"border": "wrap"})
        yield Case((pictures, windows), {"dtype": FLOAT})
        for dtype in (np.int16, np.uint16):
            yield Case((samples.pictures(dtype=dtype), windows), {})
            yield Case((samples.pictures(dtype=dtype), windows), {"dtype": FLOAT})
        yield Case((samples.planar(), windows), {"border": "clamp"})
        yield Case((([array[..., 0].copy() for array in pictures[0]], "HW"), windows), {})
        yield Case((samples.sequences(), windows), {"anchor": anchors})
        by_frame = ([np.stack([window] * count) for window, count in zip(windows, (2, 3, 1), strict=True)], "F**")
        yield Case((samples.sequences(), by_frame), {"border": "wrap"})
        large = _windows(((12, 13), (21, 4), (5, 31)))
        yield Case((samples.pictures(dtype=np.float32), large), {}, tolerance=1e-4, reason=FOURIER)
        yield Case((samples.pictures(((1, 1), (1, 9), (8, 2))), windows), {})
        halves = [np.full((1, 2), 0.5, np.float32)] * 3
        yield Case((([samples.noise((9, 10, 3), seed=seed) for seed in range(3)], "HWC"), halves), {})
        tenths = [np.round(np.linspace(-0.3, 0.5, 9), 1).astype(np.float32).reshape(3, 3)] * 3
        noises = [samples.noise((40, width, 3), seed=width) for width in (13, 26, 47)]
        yield Case((([*noises], "HWC"), tenths), {}, name="sums half-way between two numbers")

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        windows = _windows(((3, 5), (3, 3), (1, 7)))
        pictures = samples.pictures()
        yield ErrorCase((pictures, windows), {"anchor": (3, 0)}, words=("anchor", "[3, 0]", "sample 0"))
        yield ErrorCase((pictures, windows), {"dtype": INT16}, words=("dtype", "INT16"))
        yield ErrorCase((pictures, [window.astype(np.float64) for window in windows]), words=("FLOAT64", "2 axes"))
        small = samples.pictures(((2, 9),) * 3)
        yield ErrorCase((small, windows), {"mode": "valid"}, words=("bigger than the sample", "sample 0"))


def _windows(shapes: Iterable[tuple[int, int]]) -> list[Array]:
    rows = [samples.noise(shape, np.float32, seed) - np.float32(0.3) for seed, shape in enumerate(shapes)]
    return [np.asarray(row / np.abs(row).sum(), np.float32) for row in rows]
