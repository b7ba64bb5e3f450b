"""Resampling of sound, with the table and the arithmetic of :mod:`dali_lab.kernels.cpu.audio_resample`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu.audio_resample import lobes, unit_scale, window
from dali_lab.kernels.cuda.kernel import Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, numpy_dtype

_TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "f4")

TO_UNIT = Kernel(
    "audio_resample.cu",
    "to_unit",
    sample=("u8 data out", "i8 total"),
    param=("f4 slope offset", "i4 halve"),
    types=(_TYPES,),
)
FROM_UNIT = Kernel(
    "audio_resample.cu", "from_unit", sample=("u8 data out", "i8 total"), param=("f4 full",), types=(_TYPES,)
)
RESAMPLE_SOUND = Kernel(
    "audio_resample.cu",
    "resample_sound",
    sample=("u8 data out", "i8 total length", "f8 scale", "i4 channels"),
    param=("u8 sinc", "f4 steps center", "i4 lobes"),
)


@launches
def resample_samples(
    gpu: Launcher, sounds: Batch, results: Batch, steps: npt.NDArray[np.float64], quality: float = 50.0
) -> None:
    """Resample sounds of any type; see :func:`dali_lab.kernels.cpu.audio_resample.resample_samples`."""
    source, target = numpy_dtype(sounds.dtype), numpy_dtype(results.dtype)
    work, made = sounds, results
    if source.kind != "f" or target.kind == "u":
        slope, offset, halve = unit_scale(source, target)
        work = gpu.batch(sounds.shapes, FLOAT)
        sample: dict[str, Any] = {"data": sounds.addresses, "out": work.addresses, "total": sounds.sizes}
        param = {"slope": slope, "offset": offset, "halve": halve}
        TO_UNIT.launch(gpu, (source,), sounds.sizes, sample, param)
    if target.kind != "f":
        made = gpu.batch(results.shapes, FLOAT)
    count = lobes(quality)
    table = window(count)
    size = len(table) - 5
    RESAMPLE_SOUND.launch(
        gpu,
        (),
        results.sizes,
        {
            "data": work.addresses,
            "out": made.addresses,
            "total": results.sizes,
            "length": sounds.shapes[:, 0],
            "scale": steps,
            "channels": sounds.shapes[:, 1:].prod(axis=1),
        },
        {
            "sinc": gpu.constant(table),
            "steps": np.float32(1) / np.float32(np.float32(2 * count) / np.float32(size - 1)),
            "center": (size - 1) // 2 + 1,
            "lobes": count,
        },
    )
    if target.kind != "f":
        sample = {"data": made.addresses, "out": results.addresses, "total": results.sizes}
        FROM_UNIT.launch(gpu, (target,), results.sizes, sample, {"full": float(np.iinfo(target).max)})
