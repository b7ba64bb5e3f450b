"""Finds the region of a recording that is not silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import FLOAT, FLOAT64, INT32
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Call, Case, ErrorCase, Input, Operator, Output, integer, number, register, samples
from dali_lab.schema.ports import INTEGERS
from dali_lab.schema.samples import Array


@register
class NonsilentRegion(Operator):
    """Gives begin and length of a sound without the silence before and after it.

    A window is silent if the mean square of its elements is less than ``reference_power · 10^(cutoff_db / 10)``.
    The region reaches from the begin of the first window that is not silent to the end of the last one.
    """

    name = "nonsilent_region"
    title = "Non-silent region"
    inputs = (
        Input("sound", dtypes=(FLOAT, *INTEGERS), dims=(1,), kind="audio", doc="One-dimensional sound of {types}."),
    )
    outputs = (
        Output("begin", kind="tensor", doc="Index of the first element.", dtype=INT32),
        Output("length", kind="tensor", doc="Number of elements, 0 if all is silent.", dtype=INT32),
    )
    on_gpu = True
    arguments = (
        number(
            "cutoff_db",
            -60.0,
            "Power below which a window is silent, relative to the reference.",
            unit="dB",
            important=True,
            slider=(-100.0, 0.0),
        ),
        number(
            "reference_power",
            None,
            "Power of 0 dB; the largest power of the sound if not given.",
            minimum=0.0,
            exclusive_minimum=True,
        ),
        integer("window_length", 2048, "Length of a window in elements.", minimum=1, important=True),
        integer(
            "reset_interval",
            8192,
            "Elements after which the moving mean of FLOAT sound is computed anew, a multiple of `window_length`;"
            " -1 for never.",
            minimum=-1,
            advanced=True,
        ),
    )
    example = """
    >>> begin, length = fn.nonsilent_region(sound, cutoff_db=-60.0)
    >>> fn.slice(sound, begin, length, axes=[0])
    """

    def _check_interval(self, call: Call) -> None:
        interval, window = self.value("reset_interval"), self.value("window_length")
        if interval != -1 and (interval == 0 or interval % window):
            raise call.problem(f"{interval} is not a multiple of 'window_length' ({window})", argument="reset_interval")

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        if values.get("reference_power") == 0.0:
            raise ArgumentError("must be more than 0", argument="reference_power")

    def run(self, call: Call, sound: Batch) -> tuple[Batch, Batch]:
        from dali_lab.kernels.cpu import audio
        from dali_lab.kernels.cpu.memory import like

        reset = -1
        if sound.dtype == FLOAT:
            self._check_interval(call)
            reset = self.value("reset_interval")
        ratio = float(np.float32(10.0) ** (np.float32(self.value("cutoff_db")) / np.float32(10.0)))
        if call.gpu is not None:
            scalars = np.zeros((len(sound), 0), np.int64)
            begins, lengths = (call.allocate(scalars, INT32, output=index) for index in (0, 1))
            call.kernels("silence").nonsilent(
                sound, begins, lengths, self.value("window_length"), reset, self.value("reference_power") or 0.0, ratio
            )
            return begins, lengths
        # The sums of integers are exact in float64 as far as they stay below 2**53.
        source = sound if sound.dtype == FLOAT else converted(sound, FLOAT64)
        result = np.empty((2, len(sound)), np.int64)
        audio.nonsilent(
            source.addresses, sound.sizes, self.value("window_length"), reset,
            self.value("reference_power") or 0.0, ratio, result[0], result[1], like(source.kind),
        )  # fmt: skip
        begin, length = result.astype(np.int32)
        return Batch.dense(begin, dtype=INT32), Batch.dense(length, dtype=INT32)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        bursts = _bursts()
        yield from Case.each(
            (bursts,),
            {},
            {"window_length": 256},
            {"window_length": 100, "reset_interval": -1},
            {"window_length": 1, "cutoff_db": -20.0},
            {"window_length": 512, "reset_interval": 1024, "cutoff_db": -30.0},
            {"reference_power": 0.5, "cutoff_db": -10.0},
            {"reference_power": 1e6},
            {"window_length": 20000, "reset_interval": -1},
            {"window_length": 64, "reset_interval": 128, "cutoff_db": -85.0},
            {"window_length": 64, "reset_interval": -1, "cutoff_db": -75.0},
        )
        for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64, np.uint64):
            scale = min(np.iinfo(dtype).max, 2**20)
            yield Case(([np.abs(row * scale).astype(dtype) for row in bursts],), {"window_length": 77})
        silence = [np.zeros(3000, np.float32), np.zeros(1, np.float32), np.ones(1, np.float32), np.zeros(0, np.float32)]
        yield Case((silence,), {})
        yield Case(([*(row.astype(np.int16) for row in silence), np.arange(9, dtype=np.int16)],), {"window_length": 2})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        waves = samples.waves()
        yield ErrorCase((waves,), {"window_length": 100}, words=("reset_interval", "8192", "100"))


def _bursts() -> list[Array]:
    """Sounds of different lengths between silence and faint noise."""
    rows = []
    for seed, (before, length, after) in enumerate(((3000, 5000, 4000), (100, 700, 50), (0, 300, 2500))):
        noise = np.random.default_rng(seed).normal(0, 1e-4, before + length + after)
        noise[before : before + length] += np.sin(np.arange(length) * 0.3) * 0.9
        rows.append(noise.astype(np.float32))
    return rows
