"""From a spectrogram to a mel spectrogram."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, choice, flag, register, samples
from dali_lab.schema.presets import integer, number

Array = npt.NDArray[Any]
_LINEAR_STEP = np.float32(200 / 3)
_LOG_START = np.float32(1000)
_LOG_MEL = _LOG_START / _LINEAR_STEP
_LOG_STEP = np.float32(math.log(6.4) / 27)
_700, _1127 = np.float32(700), np.float32(1127)


@register
class MelFilterBank(Operator):
    """Sums the frequencies of a spectrogram under triangles that are evenly spaced on the mel scale.

    The axis of frequencies is ``f`` of the layout; without a layout it is the last but one (the only one of one).
    It becomes `nfilter` long. The ``n`` frequencies of the input are those of a transform of length ``2 (n − 1)``.
    """

    name = "mel_filter_bank"
    inputs = (Input("spectrogram", dtypes=(FLOAT,), doc="FLOAT with an axis of frequencies."),)
    outputs = (Output("mels", doc="The mel spectrogram, FLOAT, with the layout of the input.", dtype=FLOAT),)
    on_gpu = True
    gpu_tolerance = (1e-6, "products are added to the sum one by one, and on the CPU at times together")
    arguments = (
        integer("nfilter", 128, "Number of mel filters.", minimum=1, maximum=65536, important=True, slider=(None, 256)),
        number(
            "sample_rate",
            44100.0,
            "Sample rate of the sound.",
            minimum=0.0,
            exclusive_minimum=True,
            maximum=1e9,
            unit="Hz",
            important=True,
        ),
        number("freq_low", 0.0, "Lowest frequency.", minimum=0.0, unit="Hz"),
        number("freq_high", 0.0, "Highest frequency; 0 is half of the sample rate.", minimum=0.0, unit="Hz"),
        choice(
            "mel_formula",
            "slaney",
            ("slaney", "htk"),
            "``slaney`` is linear below 1 kHz and logarithmic above, ``htk`` is 2595 · log10(1 + f / 700).",
        ),
        flag("normalize", "Give triangles an area of 1, rather than a height of 1.", default=True),
    )
    example = ">>> fn.mel_filter_bank(fn.spectrogram(sound, nfft=512), sample_rate=16000, nfilter=80)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        rate, low = values.get("sample_rate", 44100.0), values.get("freq_low", 0.0)
        high = values.get("freq_high", 0.0) or rate / 2
        if not low < high <= rate:
            raise ArgumentError(
                f"{high:g} Hz is not above 'freq_low' ({low:g} Hz) and at most the sample rate ({rate:g} Hz)",
                argument="freq_high",
            )

    def setup(self) -> None:
        self._tables: dict[int, tuple[Array, Array, Array]] = {}

    def _table(self, length: int) -> tuple[Array, Array, Array]:
        """Range of frequencies, weights and their factor for each filter, given `length` frequencies."""
        if length not in self._tables:
            rate = self.value("sample_rate")
            high = self.value("freq_high") or rate / 2
            scale = _Scale(self.value("mel_formula"))
            count, normalize = self.value("nfilter"), self.value("normalize")
            self._tables[length] = _triangles(length, rate, self.value("freq_low"), high, count, scale, normalize)
        return self._tables[length]

    def run(self, call: Call, spectrogram: Batch) -> Batch:
        from dali_lab.kernels.cpu.memory import like

        data = spectrogram
        axis = data.layout.find("f") if data.layout else max(data.ndim - 2, 0)
        if axis < 0 or not data.ndim:
            raise call.problem(f"there is no axis of frequencies ('f') in the layout {data.layout!r}")
        call.refuse(data.shapes[:, axis] == 0, "the axis of frequencies is empty")
        # NVIDIA DALI multiplies weights by their factors, but sums where every spectrum lies by itself.
        inner = data.shapes[:, axis + 1 :].prod(axis=1)
        kinds, which = np.unique(np.stack([data.shapes[:, axis], inner == 1], axis=1), axis=0, return_inverse=True)
        which = which.reshape(-1)
        lengths = kinds[:, 0]
        tables = [self._table(length) for length in lengths.tolist()]
        count = self.value("nfilter")
        bounds = np.empty((len(tables), count, 2), np.int64)
        weights = np.zeros((len(tables), count, int(lengths.max()) if len(lengths) else 0), np.float32)
        factors = np.ones((len(tables), count), np.float32)
        for index, (range_, row, areas) in enumerate(tables):
            bounds[index] = range_
            if kinds[index, 1]:
                factors[index] = areas
            else:
                row = row * areas[:, None]
            weights[index, :, : row.shape[1]] = row
        shapes = np.stack([data.shapes[:, :axis].prod(axis=1), data.shapes[:, axis], inner], axis=1)
        result_shapes = data.shapes.copy()
        result_shapes[:, axis] = count
        out = call.allocate(result_shapes, FLOAT, data.layout)
        call.kernels("audio").filter_bank(
            data.addresses, out.addresses, shapes, which.astype(np.int64), bounds, weights, factors, like(np.float32)
        )
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        spectra = samples.tensors(((129, 20), (129, 7), (65, 3)))
        high = samples.tensors(((187, 2), (187, 1)))
        yield Case((high,), {"nfilter": 59, "sample_rate": 16000.0, "mel_formula": "htk"})
        yield from Case.each(
            (spectra,),
            {},
            {"nfilter": 20, "sample_rate": 16000.0},
            {"nfilter": 20, "sample_rate": 16000.0, "normalize": False},
            {"nfilter": 20, "sample_rate": 16000.0, "mel_formula": "htk", "normalize": False},
            {"nfilter": 33, "mel_formula": "htk", "freq_low": 100.0, "freq_high": 15000.0},
            {"nfilter": 5, "sample_rate": 8000.0, "freq_low": 900.0, "freq_high": 1100.0, "normalize": False},
            {"nfilter": 128, "sample_rate": 16000.0, "normalize": False},
            {"nfilter": 64, "sample_rate": 8000.0, "mel_formula": "htk", "freq_low": 20.0, "freq_high": 3999.0},
        )
        few = {"nfilter": 8}
        yield Case(((spectra, "ft"),), few)
        yield Case(((samples.tensors(((20, 65), (7, 65))), "tf"),), few)
        yield Case((samples.tensors(((65,), (33,))),), few)
        yield Case((samples.tensors(((2, 65, 3), (1, 33, 4))),), few)
        yield Case(((samples.tensors(((65, 2, 3), (33, 1, 4))), "fxy"),), few)
        yield Case((samples.tensors(((1, 3), (2, 4), (3, 3))),), few)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        spectra = samples.tensors(((17, 5),))
        yield ErrorCase((spectra,), {"freq_low": 2000.0, "freq_high": 1000.0}, words=("freq_high", "1000"))
        yield ErrorCase(((spectra, "xy"),), words=("'f'", "xy"))


class _Scale:
    """Frequencies as mels and back, in float32 as NVIDIA DALI has them."""

    def __init__(self, formula: str) -> None:
        self.is_htk = formula == "htk"

    def mels(self, hertz: float) -> np.float32:
        """Mels of a frequency."""
        given = np.float32(hertz)
        if self.is_htk:
            return _1127 * _of_library("log", np.float32(1) + given / _700)
        if given < _LOG_START:
            return given / _LINEAR_STEP
        return _LOG_MEL + _of_library("log", given / _LOG_START) / _LOG_STEP

    def hertz(self, mels: float) -> np.float32:
        """The frequency of mels."""
        given = np.float32(mels)
        if self.is_htk:
            return _700 * (_of_library("exp", given / _1127) - np.float32(1))
        if given < _LOG_MEL:
            return given * _LINEAR_STEP
        return _LOG_START * _of_library("exp", _LOG_STEP * (given - _LOG_MEL))


def _of_library(name: str, value: np.float32) -> np.float32:
    """A function of the C library, whose results are not all correctly rounded."""
    from dali_lab.kernels.cpu import libm

    values = np.full(1, value, np.float32)
    return np.float32(values[0] if libm.apply(name, values) else getattr(math, name)(value))


def _triangles(
    length: int, rate: float, low: float, high: float, count: int, scale: _Scale, normalize: bool
) -> tuple[Array, Array, Array]:
    """Range of frequencies ``int64[count, 2]``, weights ``float32[count, length]`` and their factor, for each filter.

    Edges are found in float32 and the rest in float64, as in NVIDIA DALI: the edges of many filters lie close together.
    A frequency at the upper end itself counts for nothing.
    """
    bounds = np.zeros((count, 2), np.int64)
    weights = np.zeros((count, length), np.float32)
    if length == 1:
        return bounds, weights, np.ones(count, np.float32)
    begin, end = float(scale.mels(low)), float(scale.mels(high))
    steps = itertools.repeat((end - begin) / (count + 1), count + 1)
    places_in_mels = list(itertools.accumulate(steps, initial=begin))
    # Areas go by the last edge as it is counted, triangles by the upper end itself.
    counted = [float(scale.hertz(place)) for place in places_in_mels]
    edges = [*counted[:-1], float(scale.hertz(end))]
    step = float(np.float32(rate)) / (2 * (length - 1))
    first, last = (math.ceil(float(np.float32(hertz)) * (1 / step)) for hertz in (low, high))
    places = np.arange(min(last, length)) * step
    first = min(first, len(places))
    cuts = np.maximum(np.searchsorted(places, np.array(edges, np.float64), "left"), first)
    cuts[0] = first
    with np.errstate(divide="ignore"):
        areas = 2 / (np.array(counted[2:]) - np.array(counted[:-2])) if normalize else np.ones(count)
    for interval in range(count + 1):
        inside = slice(cuts[interval], cuts[interval + 1])
        start, stop = edges[interval], edges[interval + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            down = ((stop - places[inside]) * (np.float64(1) / (stop - start))).astype(np.float32)
        if interval > 0:
            weights[interval - 1, inside] = down
        if interval < count:
            weights[interval, inside] = np.float32(1) - down
            bounds[interval] = cuts[interval], cuts[interval + 2]
    return bounds, weights, areas.astype(np.float32)
