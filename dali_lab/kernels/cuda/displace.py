"""Displacing the pixels of images; see :mod:`dali_lab.kernels.cpu.displace`, which has the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.displace import fill_element, wave_tables
from dali_lab.kernels.cuda.kernel import launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.kernels.cuda.warp import DISPLACE


@launches
def sphere(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, chosen: Array, dtype: npt.DTypeLike, *, linear: bool = False,
    fill: float = 0.0,
) -> None:  # fmt: skip
    """Move pixels towards the middle; see :func:`dali_lab.kernels.cpu.displace.sphere`."""
    _launch(gpu, src, dst, shapes, chosen, dtype, {"sphere": 1, "linear": linear}, fill)


@launches
def water(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, chosen: Array, dtype: npt.DTypeLike,
    waves: tuple[float, float, float, float, float, float], *, linear: bool = False, fill: float = 0.0,
) -> None:  # fmt: skip
    """Move pixels by waves, from a table for rows and one for columns.

    See :func:`dali_lab.kernels.cpu.displace.water`.
    """
    shift_x, shift_y = wave_tables(shapes, waves)
    tables = {"shift_x": gpu.constant(shift_x), "shift_y": gpu.constant(shift_y)}
    _launch(gpu, src, dst, shapes, chosen, dtype, {**tables, "linear": linear}, fill)


def _launch(
    gpu: Launcher, src: Array, dst: Array, shapes: Array, chosen: Array, dtype: npt.DTypeLike, param: dict[str, Any],
    fill: float,
) -> None:  # fmt: skip
    total = np.prod(np.asarray(shapes, np.int64)[:, :2], axis=1)
    sample: dict[str, Any] = {
        "data": src,
        "out": dst,
        "height width channels": shapes,
        "chosen": np.asarray(chosen) != 0,
    }
    DISPLACE.launch(gpu, (dtype,), total, sample, {**param, "fill": gpu.constant(fill_element(fill, dtype))})
