"""Contrast-limited adaptive histogram equalisation (CLAHE), with the numbers of OpenCV."""

from __future__ import annotations

import functools

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.clahe import lab_tables
from dali_lab.kernels.cuda.histogram import CLEAR_COUNTS
from dali_lab.kernels.cuda.kernel import Fields, Kernel, launches
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.dtypes import INT32, UINT8

_SIZE: Fields = ("i8 total", "i4 height width")
_TILES: Fields = ("i4 across down",)

COUNTS = Kernel("clahe.cu", "tile_counts", sample=("u8 data out", *_SIZE), param=(*_TILES, "i4 planes"))
LEVELS = Kernel("clahe.cu", "tile_levels", sample=("u8 counts out", *_SIZE), param=(*_TILES, "f8 clip"))
THROUGH = Kernel("clahe.cu", "through_tiles", sample=("u8 data levels out", *_SIZE), param=(*_TILES, "i4 planes"))
LIGHTNESS = Kernel("clahe.cu", "lightness", sample=("u8 data out", "i8 total"), param=("u8 tables",))
LIGHTNESS_THROUGH = Kernel(
    "clahe.cu", "lightness_through_tiles", sample=("u8 data levels out", *_SIZE), param=("u8 tables", *_TILES)
)


@launches
def clahe(
    gpu: Launcher, src: Array, dst: Array, sizes: Array, channels: int, tiles: tuple[int, int], clip: float, luma: bool
) -> None:
    """Equalise pictures of uint8; see :func:`dali_lab.kernels.cpu.clahe.clahe`."""
    across, down = tiles
    height, width = np.asarray(sizes, np.int64).T
    planes = 1 if luma else channels
    pixels = height * width
    size = {"height": height, "width": width}
    param = {"across": across, "down": down}
    data = src
    if luma:
        colours = {"tables": gpu.constant(_lab_bytes())}
        light = gpu.batch(pixels.reshape(-1, 1), UINT8)
        data = light.addresses
        LIGHTNESS.launch(gpu, (), pixels, {"data": src, "out": data, "total": pixels}, colours)
    fits = (width % across == 0) & (height % down == 0)
    one = np.where(fits, 0, 1)
    covered = planes * (height // down + one) * down * (width // across + one) * across
    entries = np.where(pixels > 0, planes * across * down * 256, 0)
    counts = gpu.batch(entries.reshape(-1, 1), INT32)
    levels = gpu.batch(entries.reshape(-1, 1), UINT8)
    CLEAR_COUNTS.launch(gpu, (), entries, {"out": counts.addresses, "total": entries})
    seen = {"data": data, "out": counts.addresses, "total": np.where(pixels > 0, covered, 0), **size}
    COUNTS.launch(gpu, (), seen["total"], seen, {**param, "planes": planes})
    found = {"counts": counts.addresses, "out": levels.addresses, "total": entries, **size}
    LEVELS.launch(gpu, (), entries, found, {**param, "clip": clip})
    out = {"data": src, "levels": levels.addresses, "out": dst, **size}
    if luma:
        LIGHTNESS_THROUGH.launch(gpu, (), pixels, {**out, "total": pixels}, {**param, **colours})
    else:
        total = pixels * planes
        THROUGH.launch(gpu, (), total, {**out, "total": total}, {**param, "planes": planes})


@functools.lru_cache(maxsize=1)
def _lab_bytes() -> Array:
    """The tables of the conversion one after the other, as the kernels take them."""
    tables = lab_tables()
    parts = (tables[name] for name in ("luminance", "linear", "root", "level"))
    return np.concatenate([part.view(np.uint8) for part in parts])
