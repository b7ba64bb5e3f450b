"""Another sample rate for sound."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, numpy_dtype
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import integer, number
from dali_lab.schema.rules import Needs, OneOf

TYPES = (INT8, UINT8, INT16, UINT16, INT32, UINT32, FLOAT)


_RATES = "The parameters ``in_rate`` and ``out_rate`` must be specified together"


@register
class AudioResample(Operator):
    """Resamples sound with a sinc filter under a Hann window.

    Say how by `scale` (target rate through present rate), by `in_rate` and `out_rate`, or by `out_length`. Integers
    are taken as parts of their range, so that the sound keeps its loudness where `dtype` changes.
    """

    name = "audio_resample"
    title = "Resample sound"
    inputs = (
        Input(
            "sound",
            dims=(1, 2),
            dtypes=TYPES,
            kind="audio",
            doc="``(n,)`` or ``(n, channels)``, FLOAT or integers of 8 to 32 bits.",
        ),
    )
    outputs = (
        Output(
            "sound",
            kind="audio",
            doc="The resampled sound, of `dtype`; the axis of time is longer or shorter by the factor.",
        ),
    )
    on_gpu = True
    arguments = (
        number("scale", None, "Target rate through present rate.", tensor=True, minimum=0.0, important=True),
        number("in_rate", None, "Present rate, in the unit of `out_rate`.", tensor=True, unit="Hz"),
        number("out_rate", None, "Target rate, in the unit of `in_rate`.", tensor=True, minimum=0.0, unit="Hz"),
        integer("out_length", None, "Number of elements of the result.", tensor=True, fed=(INT64,), minimum=0),
        number(
            "quality",
            50.0,
            "Quality: lobes of the filter go from 3 at 0 over 16 at 50 to 64 at 100.",
            minimum=0.0,
            maximum=100.0,
        ),
        Arg("dtype", "dtype", None, "Type of the result; that of the input if not given."),
    )
    rules = (
        OneOf(
            "scale",
            "in_rate out_rate",
            "out_length",
            needed=True,
            refused_as="The sampling rates, ``scale`` and ``out_length`` cannot be used together",
            lacking_as="No resampling factor specified!",
        ),
        Needs("in_rate", "out_rate", _RATES),
        Needs("out_rate", "in_rate", _RATES),
    )
    start = {"scale": 0.5}
    example = ">>> fn.audio_resample(sound, in_rate=44100, out_rate=16000)"

    def run(self, call: Call, sound: Batch) -> Batch:
        wanted = call.result_type(sound, TYPES)
        scales, lengths = self._scales(call, sound.shapes[:, 0])
        shapes = sound.shapes.copy()
        shapes[:, 0] = lengths
        out = call.allocate(shapes, wanted, sound.layout)
        call.refuse((sound.sizes == 0) & (out.sizes > 0), "an empty sound cannot get longer")
        some = np.flatnonzero(out.sizes)
        kernels = call.kernels("audio_resample")
        kernels.resample_samples(sound.take(some), out.take(some), 1.0 / scales[some], self.value("quality"))
        return out

    def _scales(self, call: Call, lengths: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Ratio of the rates and the length of each result."""
        if self.has("out_length"):
            wanted = call.numbers("out_length", np.int64)
            self._at_least(call, "out_length", wanted, 0)
            return wanted / np.maximum(lengths, 1), wanted
        if self.has("scale"):
            scales = call.numbers("scale").astype(np.float64)
            self._at_least(call, "scale", scales, 0)
        else:
            present = call.numbers("in_rate").astype(np.float64)
            target = call.numbers("out_rate").astype(np.float64)
            self._at_least(call, "in_rate", present, 1e-30)
            self._at_least(call, "out_rate", target, 0)
            scales = target / present
        return scales, np.ceil(lengths * scales).astype(np.int64)

    @staticmethod
    def _at_least(call: Call, name: str, values: npt.NDArray[Any], limit: float) -> None:
        word = "must not be negative" if limit == 0 else "must be positive"
        call.refuse(~(values >= limit) | ~np.isfinite(values), word + ", got {:g}", values, argument=name)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        waves = samples.waves((400, 251, 90))
        stereo = [np.stack([row, row[::-1]], axis=1) for row in waves]
        for arguments in (
            {"scale": 2.0},
            {"scale": 0.37},
            {"scale": 1.0},
            {"in_rate": 3.0, "out_rate": 7.0},
            {"in_rate": 44100.0, "out_rate": 16000.0, "quality": 0.0},
            {"in_rate": 16000.0, "out_rate": 44100.0, "quality": 100.0},
            {"out_length": 111},
            {"out_length": 0},
            {"scale": 0.0},
            {"scale": PerSample.of(0.5, 1.7, 3.0)},
            {"out_length": PerSample.of(90, 300, 0, dtype=np.int64)},
        ):
            yield Case((waves,), arguments)
            yield Case(((stereo, "tc"),), arguments)
        for dtype in TYPES:
            yield Case((waves,), {"scale": 1.3, "dtype": dtype})
            rows = samples.tensors(((40,), (31,), (7,)), numpy_dtype(dtype))
            yield Case((rows,), {"scale": 1.3})
            yield Case((rows,), {"scale": 0.8, "dtype": FLOAT})
            yield Case((rows,), {"scale": 0.8, "dtype": UINT16})
        yield Case((samples.tensors(((0,), (5,))),), {"scale": 2.0})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        waves = samples.waves((40, 25))
        yield ErrorCase((waves,), words=("scale", "in_rate"))
        yield ErrorCase((waves,), {"in_rate": 3.0}, words=("in_rate", "out_rate"))
        yield ErrorCase((waves,), {"in_rate": 0.0, "out_rate": 2.0}, words=("in_rate", "positive", "0"))
        yield ErrorCase((waves,), {"scale": 2.0, "out_length": 9}, words=("out_length", "scale"))
        yield ErrorCase((waves,), {"scale": 2.0, "dtype": INT64}, words=("dtype", "INT64"))
        yield ErrorCase((samples.tensors(((0,),)),), {"out_length": 5}, words=("empty", "sample 0"))
