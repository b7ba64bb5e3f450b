"""Shows images as if under water."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INTERP_LINEAR
from dali_lab.operators.geometry.displacing import DISPLACING, Displacing
from dali_lab.schema import Arg, Call, Case, PerSample, number, radians, register, samples


def _wave(direction: str) -> tuple[Arg, ...]:
    return (
        number(
            f"ampl_{direction}",
            10.0,
            f"Amplitude of the wave along {direction}.",
            unit="px",
            important=True,
            slider=(0, 50),
        ),
        number(
            f"freq_{direction}",
            math.pi * 2 / 128,
            f"Frequency of the wave along {direction}, in radians for a pixel.",
            important=True,
            slider=(0, 0.5, 0.005),
        ),
        radians(f"phase_{direction}", 0.0, f"Phase of the wave along {direction}, in radians."),
    )


@register
class Water(Displacing):
    """Bends images by waves, as if they were under water.

    Pixel ``(x, y)`` is taken from ``(x + ampl_x · sin(freq_x · y + phase_x), y + ampl_y · cos(freq_y · x + phase_y))``.
    """

    name = "water"
    arguments = (*_wave("x"), *_wave("y"), *DISPLACING)
    example = ">>> fn.water(images, ampl_x=4, ampl_y=4, freq_x=0.1, freq_y=0.1)"

    def run(self, call: Call, data: Batch) -> Batch:
        names = ("ampl_x", "freq_x", "phase_x", "ampl_y", "freq_y", "phase_y")
        return self.displaced(call, data, "water", tuple(self.value(name) for name in names))

    @classmethod
    def cases(cls) -> Iterable[Case]:
        some = PerSample.of(0, 1, 2, dtype=np.int32)
        for arguments in (
            {},
            {"ampl_x": 3.3, "freq_x": 0.2, "phase_x": 1.0},
            {"ampl_y": 5.1, "freq_y": 0.31, "phase_y": -2.0, "fill_value": 9.9},
            {"ampl_y": 5.1, "freq_y": 0.31, "phase_y": -2.0, "fill_value": 300.7},
            {"ampl_x": 2.0, "ampl_y": 2.5, "interp_type": INTERP_LINEAR, "fill_value": 200.0},
            {"mask": some},
        ):
            yield Case((samples.pictures(),), arguments)
            yield Case((samples.pictures(dtype=np.float32, channels=2),), arguments)
        # Some sines and cosines of the C library are not the nearest numbers to them.
        waves = {"ampl_x": 11.235069, "ampl_y": -2.2764828, "freq_y": -0.43209088, "phase_y": 1.8144923}
        yield Case((samples.pictures(dtype=np.float32),), {**waves, "interp_type": INTERP_LINEAR})
        yield Case((samples.pictures(((1, 2), (9, 1), (1, 1)), channels=1),), {"ampl_x": 1.0, "ampl_y": 1.0})
