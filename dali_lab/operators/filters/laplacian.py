"""Finds edges by second derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.filters.convolving import places, spatial_axes, volumes
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.presets import flag, integers, numbers

LARGEST = 31
_WINDOW = f"Window size must be an odd integer between 3 and {LARGEST}, not {{:g}}"
_SMOOTHING = f"Smoothing window size must be an odd integer between 1 and {LARGEST}, not {{:g}}"


@register
class Laplacian(Operator):
    """Sums the second derivatives of an image along each of its axes.

    A derivative is approximated by a separable convolution: a derivative window along its own axis and smoothing
    windows along the others, both made of binomial coefficients. Axes other than F and C are taken; beyond the edge
    the image is reflected about its first and last element.
    """

    name = "laplacian"
    inputs = (
        Input(
            "data",
            dtypes=(*INTEGERS, FLOAT16, FLOAT),
            doc="Images, volumes or sequences of one to three axes besides F and C, of {types}.",
        ),
    )
    outputs = (
        Output("data", doc="The sum of second derivatives, with the shape and layout of the input, of `dtype`."),
    )
    frames = True
    on_gpu = True
    arguments = (
        integers(
            "window_size",
            (3,),
            "Length of the derivative window, an odd number, one for all axes or one for each.",
            per_frame=True,
            unit="px",
            minimum=3,
            maximum=LARGEST,
            refused_as=_WINDOW,
            refused_above=_WINDOW,
            important=True,
            slider=(None, 15, 2),
        ),
        integers(
            "smoothing_size",
            None,
            "Length of the smoothing windows, an odd number, one for all axes or one for each; that of the derivative"
            " window if not given. With 1 nothing is smoothed.",
            per_frame=True,
            unit="px",
            minimum=1,
            maximum=LARGEST,
            refused_as=_SMOOTHING,
            refused_above=_SMOOTHING,
            important=True,
            slider=(None, 15, 2),
        ),
        numbers("scale", (1.0,), "Factor of the derivatives, one for all axes or one for each.", per_frame=True),
        flag(
            "normalized_kernel",
            "Scale each derivative by ``2^(n + 2 − s)``, n the number of axes and s the sum of its windows' lengths."
            " It excludes `scale`.",
        ),
        Arg("dtype", "dtype", None, "Type of the result: that of the input, or FLOAT.", or_no_type=True),
    )
    example = ">>> fn.laplacian(images, window_size=5, normalized_kernel=True, dtype=types.FLOAT)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if values.get("normalized_kernel") and ("scale" in values or "scale" in set(connected)):
            raise ArgumentError(
                "Parameter ``scale`` cannot be specified when ``normalized_kernel`` is set to True",
                argument="scale",
                operator=cls.name,
            )

    def run(self, call: Call, data: Batch) -> Batch:
        convolve = call.kernels("convolve")
        dtype = call.result_type(data, (FLOAT,))
        if not len(data):
            return call.allocate(data.shapes, dtype, data.layout)
        outer, spatial = spatial_axes(call, data)
        axes = len(spatial)
        derivative = self._sizes(call, "window_size", axes)
        smoothing = self._sizes(call, "smoothing_size", axes) if self.has("smoothing_size") else None
        scales = call.vectors("scale", axes)
        shapes, counts = volumes(data, outer, spatial)
        every = np.repeat(shapes, counts, axis=0)
        source = places(data, shapes, counts)
        out = call.allocate(data.shapes, dtype, data.layout)
        total = out if dtype == FLOAT else call.scratch(data.shapes, FLOAT)
        part = total
        halves = data.dtype == FLOAT16 and axes > 1
        for axis in range(axes):
            lengths = np.repeat(derivative[:, axis : axis + 1], axes, axis=1) if smoothing is None else smoothing.copy()
            lengths[:, axis] = derivative[:, axis]
            scale = scales[:, axis]
            if self.value("normalized_kernel"):
                scale = np.exp2(axes + 2 - lengths.sum(axis=1)).astype(np.float32)
            full, full_lengths = _windows(lengths, axis)
            if axis == 1:
                part = call.scratch(data.shapes, FLOAT)
            convolve.separable_convolution(
                source,
                places(part, shapes, counts),
                every,
                np.repeat(full, counts, axis=0),
                np.repeat(full_lengths, counts, axis=0),
                data.kind,
                np.float32,
            )
            if axis or halves or (scale != 1).any():
                convolve.add_scaled(part.addresses, total.addresses, data.sizes, scale, axis == 0, halves)
        if total is not out:
            call.kernels("convert").cast(total.addresses, out.addresses, data.sizes, np.float32, numpy_dtype(dtype))
        return out

    def _sizes(self, call: Call, name: str, axes: int) -> npt.NDArray[np.int64]:
        sizes = call.vectors(name, axes, np.int64)
        arg = self.argument_table[name]
        outside = arg.outside(sizes)
        wrong = sizes % 2 == 0 if outside is None else outside | (sizes % 2 == 0)
        first = sizes[np.arange(len(sizes)), wrong.argmax(axis=1)]
        call.refuse(wrong.any(axis=1), arg.refused_as, first, argument=name)
        return sizes

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        sizes = PerSample.of(3, 5, 9, dtype=np.int32)
        yield from Case.each(
            (pictures,),
            {},
            {"window_size": (5,)},
            {"window_size": (3, 7)},
            {"window_size": (3, 7), "smoothing_size": (1,)},
            {"window_size": (5,), "smoothing_size": (1, 3), "normalized_kernel": True},
            {"scale": (0.3,)},
            {"scale": (0.25, 2.0)},
            {"window_size": sizes, "normalized_kernel": True},
            {"smoothing_size": sizes},
            {"scale": PerSample.of(0.1, 2, -1)},
        )
        for arguments in ({"window_size": (3, 7)}, {"window_size": (23,), "normalized_kernel": True}):
            yield Case((pictures,), {**arguments, "dtype": FLOAT})
        yield Case((samples.pictures(dtype=np.float32),), {})
        yield Case((samples.pictures(dtype=np.int16),), {})
        for options in (
            {},
            {"window_size": (5, 3), "scale": (0.3, -0.7)},
            {"window_size": (7,), "smoothing_size": (1,)},
        ):
            for dtype in (FLOAT16, FLOAT):
                yield Case((samples.pictures(dtype=np.float16),), {**options, "dtype": dtype})
        yield Case((samples.volumes(dtype=np.float16),), {"scale": (0.3, 1.2, -0.7)})
        yield Case((samples.pictures(dtype=np.float32),), {"window_size": (9,), "scale": (0.3, -0.7)})
        yield Case((samples.planar(),), {"window_size": (3, 5)})
        yield Case((samples.sequences(),), {"window_size": sizes})
        frames = PerSample([np.array(rows, np.int32)[:, None] for rows in ((3, 5), (3, 7, 9), (5,))], "F*")
        yield Case((samples.sequences(),), {"window_size": frames})
        volumes_of = samples.volumes()
        in_depth: tuple[dict[str, Any], ...] = (
            {},
            {"window_size": (3, 5, 7)},
            {"smoothing_size": (1, 3, 5), "scale": (1.0, 0.5, 2.0)},
        )
        for options in in_depth:
            yield Case((volumes_of,), options)
        yield Case((samples.tensors(((30,), (41,), (5,))),), {"window_size": (5,)})
        yield Case((samples.pictures(((1, 1), (1, 9), (8, 2))),), {"window_size": (7,)})
        movies = samples.sequences((2, 2, 2))[0]
        channels_first = [np.ascontiguousarray(movie.transpose(3, 0, 1, 2)) for movie in movies]
        yield Case(
            ((channels_first, "CFHW"),),
            {"window_size": PerSample.of([[3], [5]], [[7], [3]], [[5], [9]], dtype=np.int32, layout="F*")},
        )

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"window_size": (4,)}, words=(_WINDOW.format(4),))
        yield ErrorCase((samples.pictures(),), {"window_size": (3, 33)}, words=(_WINDOW.format(33),))
        yield ErrorCase(
            (samples.pictures(),), {"window_size": PerSample.of(3, -1, 5, dtype=np.int32)}, words=(_WINDOW.format(-1),)
        )
        yield ErrorCase((samples.pictures(),), {"smoothing_size": (2,)}, words=(_SMOOTHING.format(2),))
        yield ErrorCase((samples.pictures(),), {"scale": (1.0, 2.0, 3.0)}, words=("a list of 2 elements. 3 given.",))
        yield ErrorCase(
            (samples.pictures(),),
            {"scale": PerSample([np.zeros(3, np.float32)] * 3)},
            words=("Argument scale for sample 0 is expected to have 1 or 2 elements, got: 3",),
        )
        yield ErrorCase(
            (samples.pictures(),), {"scale": 2.0, "normalized_kernel": True}, words=("cannot be specified when",)
        )
        yield ErrorCase((samples.pictures(),), {"dtype": INT16}, words=("INT16", "same as input, FLOAT or skipped"))


def _windows(lengths: npt.NDArray[np.int64], axis: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Windows of the derivative along `axis`, for a kernel of three axes: ``[N, 3, L]`` and ``[N, 3]``."""
    axes = lengths.shape[1]
    full = np.zeros((len(lengths), 3, int(lengths.max(initial=1))), np.float32)
    full[:, :, 0] = 1
    full_lengths = np.ones((len(lengths), 3), np.int64)
    full_lengths[:, 3 - axes :] = lengths
    for other in range(axes):
        for length in np.unique(lengths[:, other]):
            rows = lengths[:, other] == length
            full[rows, 3 - axes + other, :length] = _binomial(int(length), derivative=other == axis)
    return full, full_lengths


def _binomial(length: int, derivative: bool) -> npt.NDArray[np.float64]:
    """Binomial coefficients, or their second difference."""
    window = np.ones(1)
    for _ in range(length - 3 if derivative else length - 1):
        window = np.convolve(window, [1.0, 1.0])
    return np.convolve(window, [1.0, -2.0, 1.0]) if derivative else window
