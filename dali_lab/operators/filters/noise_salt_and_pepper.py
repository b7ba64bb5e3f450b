"""Replaces pixels by the brightest and the darkest value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.operators.filters.noising import Noising
from dali_lab.schema import Arg, Call, Case, flag, number, register, samples
from dali_lab.schema.operator import PerSample


def _share(name: str, default: float, doc: str) -> Arg:
    return number(name, default, doc, tensor=True, minimum=0.0, maximum=1.0, important=True, slider=(None, None, 0.01))


@register
class SaltAndPepperNoise(Noising):
    """Replaces some of the pixels by salt, the highest value, or pepper, the lowest one."""

    name = "noise.salt_and_pepper"
    schema_name = "noise__SaltAndPepper"
    arguments = (
        _share("prob", 0.05, "Share of the pixels that are replaced."),
        _share("salt_vs_pepper", 0.5, "Share of salt among them."),
        number("salt_val", None, "Value of salt; the highest of the type, or 1 for FLOAT, if not given.", tensor=True),
        number(
            "pepper_val", None, "Value of pepper; the lowest of the type, or −1 for FLOAT, if not given.", tensor=True
        ),
        flag("per_channel", "Decide for each channel by itself."),
    )
    example = ">>> fn.noise.salt_and_pepper(images, prob=0.05, salt_vs_pepper=0.3)"

    def run(self, call: Call, data: Batch) -> Batch:
        stream = self.stream(call, data)
        shares = []
        for name in ("prob", "salt_vs_pepper"):
            share = call.numbers(name)
            call.refuse(~((share >= 0) & (share <= 1)), "{:g} is not in [0, 1]", share, argument=name)
            shares.append(share)
        out = call.allocate(data.shapes, data.dtype, data.layout)
        axis = data.layout.find("C") if data.layout else data.ndim - 1
        channels = np.ones(len(data), np.int64)
        if axis >= 0 and not self.value("per_channel"):
            channels = np.maximum(data.shapes[:, axis], 1)
        call.kernels("noise").add_salt_and_pepper(
            stream,
            data.addresses,
            out.addresses,
            data.sizes // channels,
            channels,
            shares[0],
            shares[1],
            call.numbers("salt_val") if self.has("salt_val") else None,
            call.numbers("pepper_val") if self.has("pepper_val") else None,
            data.kind,
            channels_first=axis == 0 and data.ndim > 1,
        )
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        values = PerSample.of(0, 0.1, 0.9)
        yield from Case.each(
            (pictures,),
            {},
            {"prob": 0.3, "salt_vs_pepper": 0.8},
            {"prob": values},
            {"prob": 0.2, "per_channel": True},
            {"prob": 0.2, "salt_val": 100.0, "pepper_val": 50.0},
            batches=2,
        )
        yield Case((samples.planar(),), {"prob": 0.3})
        yield Case((samples.tensors(((9, 4), (3, 4), (5, 7))),), {"prob": 0.3})
        yield Case((samples.pictures(dtype=np.float32),), {"prob": 0.3})
