"""Adds the artefacts of JPEG compression to an image."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, PerSample, integer, register, samples


@register
class JpegCompressionDistortion(Operator):
    """Encodes RGB images as JPEG and decodes them again, for the artefacts that leaves.

    Colours are kept at half the resolution; each block of 8 × 8 pixels loses the more detail the lower the quality.
    """

    name = "jpeg_compression_distortion"
    title = "JPEG compression"
    inputs = (Input("data", dtypes=(UINT8,), layouts=("HWC",), doc="RGB images or sequences of {types}."),)
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    frames = True
    on_gpu = True
    arguments = (
        integer(
            "quality",
            50,
            "Quality from 1 to 100; values beyond that are clamped.",
            tensor=True,
            important=True,
            slider=(1, 100),
        ),
    )
    example = ">>> fn.jpeg_compression_distortion(images, quality=fn.random.uniform(range=(5, 80), dtype=types.INT32))"

    def run(self, call: Call, data: Batch) -> Batch:
        wrong = (data.shapes[:, 2] != 3) | (data.sizes == 0)
        call.refuse(wrong, "takes RGB images that are not empty, got {:x}", data.shapes)
        out = call.allocate(data.shapes, UINT8, data.layout)
        quality = np.clip(call.numbers("quality", np.int64), 1, 100)
        kernels = call.kernels("jpeg_distortion")
        if call.gpu is not None or kernels.ready():
            kernels.jpeg_round_trip(data.addresses, out.addresses, data.shapes[:, :2], quality)
        else:
            self._by_library(call, data, out, quality)
        return out

    def _by_library(self, call: Call, data: Batch, out: Batch, quality: npt.NDArray[np.int64]) -> None:
        """Encode and decode by the library, with the same result, while the kernel is being compiled."""
        from dali_lab.codecs.encoded import CodecError
        from dali_lab.codecs.encoding import jpeg_round_trip

        sources, targets = data.arrays(), out.arrays()
        for index, level in enumerate(quality.tolist()):
            if call.cancelled():
                break
            try:
                targets[index][...] = jpeg_round_trip(sources[index], level)
            except CodecError as error:
                raise call.problem(str(error), sample=index) from None

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        for quality in (None, 1, 7, 25, 75, 90, 100, -5, 200):
            yield Case((pictures,), {} if quality is None else {"quality": quality})
        yield Case((pictures,), {"quality": PerSample.of(2, 50, 99, dtype=np.int32)})
        yield Case((samples.sequences(),), {"quality": 20})
        yield Case((samples.sequences(),), {"quality": PerSample.of(2, 50, 99, dtype=np.int32)})
        yield Case((samples.pictures(((1, 1), (1, 9), (17, 2))),), {"quality": 30})
        yield Case((([samples.noise((33, 47, 3), seed=seed) for seed in range(3)], "HWC"),), {"quality": 10})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(channels=1),), words=("RGB", "31 x 40 x 1"))
