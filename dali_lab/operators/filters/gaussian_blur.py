"""Blurs with a Gaussian window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, numpy_dtype
from dali_lab.operators.filters.convolving import places, spatial_axes, volumes
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.ports import NUMBERS
from dali_lab.schema.presets import integers, numbers


@register
class GaussianBlur(Operator):
    """Blurs images, volumes and sequences with a Gaussian window.

    Give `sigma`, `window_size`, or both; where one is zero it follows from the other:
    ``window_size = 2 · ceil(3 · sigma) + 1``, ``sigma = ((window_size − 1) / 2 − 1) · 0.3 + 0.8``.
    Axes other than F and C are blurred; beyond the edge the image is reflected about its first and last element.
    """

    name = "gaussian_blur"
    inputs = (
        Input(
            "data",
            dtypes=NUMBERS,
            doc="Images, volumes or sequences of one to three axes besides F and C, of numbers of any type.",
        ),
    )
    outputs = (Output("data", doc="The blurred input, with its shape and layout, of `dtype`."),)
    frames = True
    on_gpu = True
    arguments = (
        numbers(
            "sigma",
            (0.0,),
            "Standard deviation, one for all axes or one for each.",
            per_frame=True,
            unit="px",
            minimum=0.0,
            maximum=10000.0,
            refused_as="`sigma` must have non-negative values, got {:g} for sample: 0, axis: 0.",
            important=True,
            slider=(0.1, 10.0, 0.1),
        ),
        integers(
            "window_size",
            (0,),
            "Length of the window, an odd number, one for all axes or one for each.",
            per_frame=True,
            unit="px",
            minimum=0,
            maximum=65535,
            refused_as="`window_size` must have non-negative values, got {:g} for sample: 0, axis : 0.",
            important=True,
            slider=(None, 31),
        ),
        Arg("dtype", "dtype", None, "Type of the result: that of the input, or FLOAT.", or_no_type=True),
    )
    start = {"sigma": 2.0}
    example = ">>> fn.gaussian_blur(images, sigma=fn.random.uniform(range=(0.1, 2.0)))"

    def run(self, call: Call, data: Batch) -> Batch:
        dtype = call.result_type(data, (FLOAT,))
        outer, spatial = spatial_axes(call, data)
        windows, lengths = self._windows(call, len(spatial))
        out = call.allocate(data.shapes, dtype, data.layout)
        shapes, counts = volumes(data, outer, spatial)
        call.kernels("convolve").separable_convolution(
            places(data, shapes, counts),
            places(out, shapes, counts),
            np.repeat(shapes, counts, axis=0),
            np.repeat(windows, counts, axis=0),
            np.repeat(lengths, counts, axis=0),
            data.kind,
            numpy_dtype(dtype),
        )
        return out

    def _windows(self, call: Call, axes: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        from dali_lab.kernels.cpu import convolve

        sigma = call.vectors("sigma", axes)
        size = call.vectors("window_size", axes, np.int64)
        call.refuse((sigma < 0) | ~np.isfinite(sigma), "must not be negative, got {}", sigma, argument="sigma")
        wrong = (size < 0) | ((size > 0) & (size % 2 == 0))
        message = "must be odd. Kernel window should have odd length, got: {}."
        call.refuse(wrong.any(axis=1), message, np.where(wrong, size, 0).max(axis=1), argument="window_size")
        neither = np.argwhere((sigma == 0) & (size == 0))
        if len(neither):
            row, axis = neither[0].tolist()
            raise call.problem(
                f"`sigma` and `window_size` shouldn't be 0 at the same time for sample: {row}, axis: {axis}.",
                argument="sigma",
                sample=row,
            )
        windows, lengths = convolve.gaussian_windows(sigma, size)
        full = np.zeros((len(windows), 3, windows.shape[2]), np.float32)
        full[:, :, 0] = 1
        full[:, 3 - axes :] = windows
        counts = np.ones((len(windows), 3), np.int64)
        counts[:, 3 - axes :] = lengths
        return full, counts

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        sigmas = PerSample.of(0.5, 1.0, 3.3)
        yield from Case.each(
            (pictures,),
            {"sigma": (1.0,)},
            {"window_size": (5,)},
            {"sigma": (1.5,), "window_size": (3,)},
            {"sigma": (0.7, 2.0)},
            {"window_size": (3, 7)},
            {"sigma": (0.0, 2.0), "window_size": (3, 0)},
            {"sigma": sigmas},
            {"window_size": PerSample.of(3, 5, 11, dtype=np.int32)},
        )
        yield Case((pictures,), {"sigma": (1.0,), "dtype": FLOAT})
        yield Case((samples.pictures(dtype=np.float32),), {"sigma": (2.0,)})
        yield Case((samples.pictures(dtype=np.int16),), {"sigma": (2.0,)})
        for dtype in (FLOAT16, FLOAT):
            yield Case((samples.pictures(dtype=np.float16),), {"sigma": (1.3, 0.4), "dtype": dtype})
            yield Case((samples.volumes(dtype=np.float16),), {"window_size": (3, 7, 5), "dtype": dtype})
        yield Case((samples.planar(),), {"sigma": (1.2,)})
        yield Case((samples.sequences(),), {"sigma": (1.2,)})
        yield Case((samples.sequences(),), {"sigma": sigmas})
        yield Case((samples.volumes(),), {"sigma": (1.0, 0.5, 2.0)})
        yield Case((samples.tensors(((30,), (41,), (5,))),), {"sigma": (2.0,)})
        yield Case((samples.pictures(((1, 1), (1, 9), (8, 2))),), {"sigma": (2.0,)})
        movies = samples.sequences((2, 2, 2))[0]
        channels_first = [np.ascontiguousarray(movie.transpose(3, 0, 1, 2)) for movie in movies]
        by_frame: tuple[list[list[list[float]]], ...] = (
            [[[1], [2]], [[0.5], [3]], [[2], [1]]],
            [[[1]], [[0.5], [3]], [[2]]],
        )
        for rows in by_frame:
            sigmas = PerSample([np.array(row, np.float32) for row in rows], "F*")
            yield Case(((channels_first, "CFHW"),), {"sigma": sigmas})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), words=("sigma", "window_size"))
        yield ErrorCase((samples.pictures(),), {"window_size": (4,)}, words=("window_size", "odd", "4"))
        yield ErrorCase((samples.pictures(),), {"sigma": (1.0,), "dtype": INT16}, words=("dtype", "INT16"))
