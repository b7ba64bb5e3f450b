"""Spectra of windows along a sound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import buffers
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.audio.signals import ROUNDING
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Operator, Output, flag, numbers, register, samples
from dali_lab.schema.presets import integer

POWER = integer("power", 2, "2 for the power of each frequency, 1 for its magnitude.", minimum=1, maximum=2)
ROWS_AT_ONCE = 1 << 17
"""Elements of the transform that are held at once, so that a chunk of long sounds needs little memory."""


@register
class Spectrogram(Operator):
    """Cuts a sound into windows and gives the spectrum of each: ``nfft // 2 + 1`` frequencies by windows.

    Windows are `window_step` apart. With `center_windows` there are ``length // window_step + 1`` of them, the middle
    of window `t` at ``t · window_step``; otherwise ``(length − window_length) // window_step + 1`` that lie within.
    Without `window_fn` they are weighted with a Hann window.
    """

    name = "spectrogram"
    differs = "Values agree to within 1e-5 of the largest, as sums of float32 are formed in another order."
    inputs = (
        Input("sound", dtypes=(FLOAT,), kind="audio", doc="FLOAT of one channel: ``(n,)``, ``(n, 1)`` or ``(1, n)``."),
    )
    outputs = (Output("spectrogram", doc='FLOAT, layout "ft" or "tf".', dtype=FLOAT),)
    on_gpu = True
    gpu_tolerance = (4e-3, "sums in another order of float32, whose step at powers of 14,000 is 0.001")
    arguments = (
        integer(
            "nfft",
            None,
            "Length of the transform; that of the window if not given.",
            minimum=1,
            maximum=1 << 24,
            important=True,
        ),
        integer("window_length", 512, "Length of a window in elements.", minimum=1, maximum=1 << 24, important=True),
        integer("window_step", 256, "Elements from one window to the next.", minimum=1, important=True),
        numbers("window_fn", None, "Weights of the window, `window_length` of them; Hann if not given."),
        POWER,
        flag("center_windows", "Windows reach beyond both ends, so that the first is centred at 0.", default=True),
        flag("reflect_padding", "Beyond the ends the sound is reflected, rather than silent.", default=True),
        Arg("layout", "layout", "ft", 'Frequency first ("ft") or time first ("tf").', choices=("ft", "tf")),
    )
    example = ">>> fn.spectrogram(sound, nfft=512, window_length=400, window_step=160)"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        length, size = values.get("window_length", 512), values.get("nfft")
        if size is not None and length > size:
            raise ArgumentError(
                f"Window length ({length}) can't be bigger than the FFT size ({size}), 'nfft'", argument="window_length"
            )
        weights = values.get("window_fn")
        if weights is not None and len(weights) != length:
            raise ArgumentError(f"has {len(weights)} weights for a window of {length}", argument="window_fn")

    def setup(self) -> None:
        length: int = self.value("window_length")
        weights = self.value("window_fn")
        if not weights:
            weights = 0.5 * (1 - np.cos(2 * np.pi / length * (np.arange(length) + 0.5)))
        self._window = np.asarray(weights, np.float32)

    def run(self, call: Call, sound: Batch) -> Batch:
        from dali_lab.kernels.cpu import fourier

        message = "the sample is empty. Spectogram does not support empty (0-volume) samples"
        call.refuse(sound.sizes == 0, message)
        lengths = sound.sizes
        longest = sound.shapes.max(axis=1) if sound.ndim else lengths
        call.refuse(longest != lengths, "takes one channel, got shape {:t}", sound.shapes)
        step, length = self.value("window_step"), self.value("window_length")
        centered = self.value("center_windows")
        # Without centring, the division cuts towards zero as in C: a sound a little too short still gives one window.
        counts = lengths // step + 1 if centered else np.fix((lengths - length) / step).astype(np.int64) + 1
        call.refuse(counts < 1, "Signal is too short: a sound of {} elements is shorter than a window", lengths)
        nfft = self.value("nfft") or length
        bins = nfft // 2 + 1
        time_first = self.value("layout") == "tf"
        shapes = np.empty((len(sound), 2), np.int64)
        shapes[:, 0 if time_first else 1] = counts
        shapes[:, 1 if time_first else 0] = bins
        out = call.allocate(shapes, FLOAT, self.value("layout"))
        before, reflect = length // 2 if centered else 0, centered and self.value("reflect_padding")
        squared = self.value("power") == 2
        if call.gpu is not None:
            call.kernels("audio").spectrum(
                sound.addresses,
                out.addresses,
                lengths,
                counts,
                nfft=nfft,
                window=self._window,
                step=step,
                before=before,
                reflect=reflect,
                squared=squared,
                time_first=time_first,
            )
            return out
        if fourier.suits(nfft):
            fourier.window_powers(
                sound.addresses, lengths, counts, out.addresses, self._window, step, before, reflect, nfft, squared,
                time_first,
            )  # fmt: skip
            return out
        for part in _parts(counts, nfft):
            self._fill(sound.take(part), out.addresses[part], lengths[part], counts[part], nfft)
        return out

    def _fill(
        self,
        sound: Batch,
        addresses: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64],
        nfft: int,
    ) -> None:
        from dali_lab.kernels.cpu import spectra
        from dali_lab.kernels.cpu.memory import like

        empty = like(np.float32)
        rows = buffers.empty((int(counts.sum()), nfft), np.float32)
        before = len(self._window) // 2 if self.value("center_windows") else 0
        spectra.windows(
            sound.addresses, lengths, counts, self._window, self.value("window_step"), before,
            self.value("reflect_padding") and self.value("center_windows"), rows, empty,
        )  # fmt: skip
        ones = np.ones(len(counts), np.int64)
        outers, inners = (counts, ones) if self.value("layout") == "tf" else (ones, counts)
        spectra.transform(rows)
        spectra.powers(rows, addresses, outers, inners, self.value("power") == 2, empty)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        waves = samples.waves()
        cases: tuple[dict[str, Any], ...] = (
            {},
            {"nfft": 512, "window_length": 400, "window_step": 160},
            {"nfft": 64, "window_length": 64, "window_step": 32, "layout": "tf"},
            {"nfft": 128, "window_length": 100, "window_step": 33, "power": 1},
            {"nfft": 64, "window_length": 64, "window_step": 70, "center_windows": False},
            {"nfft": 64, "window_length": 50, "window_step": 20, "reflect_padding": False},
            {"nfft": 60, "window_length": 60, "window_step": 20},
            {"nfft": 45, "window_length": 31, "window_step": 20, "layout": "tf"},
            {"window_length": 4, "window_step": 2, "window_fn": (1.0, 2.0, 3.0, 4.0)},
            {"nfft": 4096, "window_length": 3000, "window_step": 500},
        )
        for arguments in cases:
            # Some 1e-6 of the largest power, which grows with the length of the window.
            tolerance = 5e-3 if arguments.get("nfft", 512) > 200 else 1e-4
            yield Case((waves,), arguments, tolerance=tolerance, reason=ROUNDING)
        yield Case(
            (samples.tensors(((1,), (2,), (3,), (40,))),), {"window_length": 16}, tolerance=1e-4, reason=ROUNDING
        )
        yield Case((samples.tensors(((50, 1), (30, 1))),), {"window_length": 16}, tolerance=1e-5, reason=ROUNDING)
        yield Case((samples.tensors(((1, 50), (1, 30))),), {"window_length": 16}, tolerance=1e-5, reason=ROUNDING)

        short = [wave[:length] for wave, length in zip(waves, (300, 511, 512), strict=True)]
        yield Case((short,), {"center_windows": False}, tolerance=2e-2, reason="sums of squares in another order")

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        waves = samples.waves()
        yield ErrorCase((waves,), {"nfft": 256}, words=("window_length", "512", "256"))
        yield ErrorCase((waves,), {"window_fn": (1.0, 2.0)}, words=("window_fn", "2 weights"))
        yield ErrorCase((waves,), {"window_length": 2000, "center_windows": False}, words=("shorter", "sample 0"))
        yield ErrorCase((samples.tensors(((50, 2),)),), words=("one channel", "(50, 2)"))
        yield ErrorCase((samples.tensors(((50,), (0,))),), words=("empty", "sample 1"))


def _parts(counts: npt.NDArray[np.int64], nfft: int) -> Iterable[slice]:
    """Runs of samples whose windows fit into the memory that is held at once."""
    start = rows = 0
    limit = max(ROWS_AT_ONCE // nfft, 1)
    for index, count in enumerate(counts.tolist()):
        if rows and rows + count > limit:
            yield slice(start, index)
            start, rows = index, 0
        rows += count
    if start < len(counts):
        yield slice(start, len(counts))
