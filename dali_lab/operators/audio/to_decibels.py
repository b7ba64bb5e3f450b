"""Magnitudes in decibels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Call, Case, Input, Operator, Output, number, register, samples
from dali_lab.schema.operator import Record


@register
class ToDecibels(Operator):
    """Gives ``multiplier · log10(max(x / reference, 10^(cutoff_db / multiplier)))`` of each element."""

    name = "to_decibels"
    inputs = (Input("data", dtypes=(FLOAT,), kind="tensor", doc="FLOAT of any shape."),)
    outputs = (Output("decibels", kind="tensor", dtype=FLOAT, doc="Decibels, with the shape and layout of the input."),)
    on_gpu = True
    gpu_tolerance = (4e-5, "logarithms differ by a step of float32, times the multiplier")
    arguments = (
        number(
            "multiplier",
            10.0,
            "Factor of the logarithm: 10 for powers, 20 for magnitudes.",
            important=True,
            slider=(1.0, 20.0),
        ),
        number("reference", 0.0, "The value of 0 dB; 0 stands for the largest value of each sample.", minimum=None),
        number("cutoff_db", -200.0, "Smallest result.", unit="dB", slider=(-200.0, 0.0)),
    )
    example = ">>> fn.to_decibels(mels, multiplier=10.0, cutoff_db=-80.0)"

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if isinstance(kwargs.get("reference"), (int, float)) and kwargs["reference"] == 0:
            message = "`reference` argument can't be zero; left out, it is the largest value of each sample"
            raise ArgumentError(message, argument="reference", operator=cls.name)
        return super().python_call(record, inputs, kwargs)

    def run(self, call: Call, data: Batch) -> Batch:
        from dali_lab.kernels.cpu.memory import like

        multiplier = self.value("multiplier")
        least = self._least_ratio(np.float32(multiplier))
        least = least or float(np.nextafter(np.float32(0), np.float32(1)))
        out = call.allocate(data.shapes, FLOAT, data.layout)
        call.kernels("audio").decibels(
            data.addresses, out.addresses, data.sizes, multiplier, self.value("reference"), least, like(np.float32)
        )
        return out

    def _least_ratio(self, multiplier: np.float32) -> float:
        """``10^(cutoff_db / multiplier)``, as the C library has it in float32."""
        from dali_lab.kernels.cpu import libm

        with np.errstate(all="ignore"):
            ratio, exponent = np.full(1, 10, np.float32), np.full(1, self.value("cutoff_db"), np.float32) / multiplier
            if not libm.apply("pow", ratio, exponent):
                ratio = ratio**exponent
        return float(ratio[0])

    @classmethod
    def cases(cls) -> Iterable[Case]:
        spectra = samples.tensors(((17, 5), (30, 2), (1, 1)))
        yield from Case.each(
            (spectra,),
            {},
            {"multiplier": 20.0, "reference": 2.0, "cutoff_db": -20.0},
            {"multiplier": 20.0, "cutoff_db": -3.0},
            {"reference": 1e-3},
            {"reference": -1.0},
            {"multiplier": -10.0},
            {"multiplier": 0.0},
            {"multiplier": 1.0},
            {"multiplier": 27.508846, "cutoff_db": -24.087036, "reference": 2.943952},
            {"multiplier": 17.286594, "cutoff_db": -98.70698},
        )
        yield Case(((spectra, "ft"),), {})
        special = [np.array(row, np.float32) for row in ([0, 1, -3, np.nan, np.inf], [0, 1, -3, np.nan], [-3, -2], [0])]
        yield Case((special,), {})
        yield Case(([np.float32(4), np.float32(0.1)],), {"reference": 1.0})
        yield Case((samples.tensors(((0,), (3,))),), {})
