"""Contrast-limited adaptive histogram equalisation (CLAHE), with the numbers of OpenCV."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array, Integer, Real
from dali_lab.kernels.cpu.borders import REFLECT_101, place_of
from dali_lab.kernels.cpu.memory import array_at, inner_part, kernel, like, part, rows

like_bytes = like(np.uint8)

CUBED_FROM = 8192
"""Distance below 0 at which the table ``cubed`` begins."""
_TOO_MUCH = 1 << 31
"""OpenCV's integers end here: a limit beyond becomes 1."""


@inner_part
def _descale(value: Integer, bits: int) -> Any:
    return (value + np.int32(1 << (bits - 1))) >> np.int32(bits)


@inner_part
def _clamp(value: Integer, low: int, high: int) -> Any:
    return min(max(value, np.int32(low)), np.int32(high))


@inner_part
def _mixed(a: Integer, x: Integer, b: Integer, y: Integer, c: Integer, z: Integer) -> Any:
    return np.int32(a) * x + np.int32(b) * y + np.int32(c) * z


@part
def _to_lab(source: Array, target: Array, linear: Array, root: Array) -> None:
    """Colours in CIELAB with 8 bits a channel, in OpenCV's fixed point."""
    for pixel in range(source.shape[0] // 3):
        at = np.uintp(3) * np.uintp(pixel)
        red = np.int32(linear[np.uintp(source[at])])
        green = np.int32(linear[np.uintp(source[at + np.uintp(1)])])
        blue = np.int32(linear[np.uintp(source[at + np.uintp(2)])])
        x = np.int32(root[np.uintp(_descale(_mixed(1777, red, 1541, green, 778, blue), 12))])
        y = np.int32(root[np.uintp(_descale(_mixed(871, red, 2929, green, 296, blue), 12))])
        z = np.int32(root[np.uintp(_descale(_mixed(73, red, 448, green, 3575, blue), 12))])
        target[at] = _clamp(_descale(np.int32(296) * y - np.int32(1336934), 15), 0, 255)
        target[at + np.uintp(1)] = _clamp(_descale(np.int32(500) * (x - y) + np.int32(128 << 15), 15), 0, 255)
        target[at + np.uintp(2)] = _clamp(_descale(np.int32(200) * (y - z) + np.int32(128 << 15), 15), 0, 255)


@part
def _from_lab(pixels: Array, luminance: Array, cubed: Array, level: Array) -> None:
    for pixel in range(pixels.shape[0] // 3):
        at = np.uintp(3) * np.uintp(pixel)
        light = np.uintp(pixels[at]) * np.uintp(2)
        a, b = np.int32(pixels[at + np.uintp(1)]), np.int32(pixels[at + np.uintp(2)])
        y, root = luminance[light], luminance[light + np.uintp(1)] + np.int32(CUBED_FROM)
        more = (np.int32(5 * 53687) * a + np.int32(128)) >> np.int32(13)
        less = (np.int32(41943) * b + np.int32(16)) >> np.int32(9)
        x = cubed[np.uintp(root + more - np.int32(128 * 16384 // 500))]
        z = cubed[np.uintp(root - less + np.int32(128 * 16384 // 200 - 1))]
        pixels[at] = level[np.uintp(_clamp(_descale(_mixed(12615, x, -6296, y, -2223, z), 14), 0, 4095))]
        pixels[at + np.uintp(1)] = level[np.uintp(_clamp(_descale(_mixed(-3773, x, 7684, y, 185, z), 14), 0, 4095))]
        pixels[at + np.uintp(2)] = level[np.uintp(_clamp(_descale(_mixed(217, x, -836, y, 4715, z), 14), 0, 4095))]


@part
def _level_table(counts: Array, pixels: int, limit: int, out: Array) -> None:
    """The new level of each level of a tile.

    Counts above the limit go to all levels alike, and the remainder to some at equal distances.
    """
    above = 0
    for k in range(256):
        if counts[k] > limit:
            above += counts[k] - limit
            counts[k] = limit
    share, rest = above // 256, above % 256
    step = max(256 // rest, 1) if rest else 256
    for k in range(rest):
        counts[k * step] += 1
    scale = np.float32(255) / np.float32(pixels)
    below = 0
    for k in range(256):
        below += counts[k] + share
        out[k] = np.uint8(min(np.rint(np.float32(below) * scale), np.float32(255)))


@part
def _equalise(
    source: Array, target: Array, first: int, channels: int, height: int, width: int, across: int,
    down: int, clip: Real,
) -> None:  # fmt: skip
    """Equalise a plane, elements `channels` apart from `first` on; the source may be the target."""
    fits = width % across == 0 and height % down == 0
    tile_width = width // across if fits else width // across + 1
    tile_height = height // down if fits else height // down + 1
    pixels = tile_width * tile_height
    limit = pixels
    if clip > 0:
        wanted = clip * pixels / 256
        limit = int(wanted) if 1 <= wanted < _TOO_MUCH else 1
    places = np.empty(tile_width * across, np.int64)
    for x in range(places.shape[0]):
        places[x] = place_of(x, width, REFLECT_101) * channels + first
    tables = np.empty((down, across * 256), np.uint8)
    counts = np.empty(256, np.int32)
    for tile_row in range(down):
        for tile_column in range(across):
            counts[:] = 0
            begin = tile_column * tile_width
            for y in range(tile_row * tile_height, (tile_row + 1) * tile_height):
                line = place_of(y, height, REFLECT_101) * width * channels
                for x in range(begin, begin + tile_width):
                    counts[np.uintp(source[np.uintp(line + places[np.uintp(x)])])] += np.int32(1)
            _level_table(counts, pixels, limit, tables[tile_row, tile_column * 256 : tile_column * 256 + 256])
    left, right = np.empty(width, np.int64), np.empty(width, np.int64)
    shares = np.empty(width, np.float32)
    one, half = np.float32(1), np.float32(0.5)
    for x in range(width):
        middle = np.float32(x) * (one / np.float32(tile_width)) - half
        low = int(np.floor(middle))
        shares[x] = middle - np.float32(low)
        left[x] = max(low, 0) * 256
        right[x] = min(low + 1, across - 1) * 256
    for y in range(height):
        middle = np.float32(y) * (one / np.float32(tile_height)) - half
        low = int(np.floor(middle))
        share = middle - np.float32(low)
        upper, lower = tables[max(low, 0)], tables[min(low + 1, down - 1)]
        at = y * width * channels + first
        for x in range(width):
            level, beside = np.int64(source[np.uintp(at)]), shares[np.uintp(x)]
            a, b = np.uintp(left[np.uintp(x)] + level), np.uintp(right[np.uintp(x)] + level)
            over = np.float32(upper[a]) * (one - beside) + np.float32(upper[b]) * beside
            under = np.float32(lower[a]) * (one - beside) + np.float32(lower[b]) * beside
            target[np.uintp(at)] = np.uint8(np.rint(over * (one - share) + under * share))
            at += channels


@kernel
def _clahe(
    src: Array, dst: Array, sizes: Array, channels: int, across: int, down: int, clip: Real, luma: bool,
    linear: Array, root: Array, luminance: Array, cubed: Array, level: Array,
) -> None:  # fmt: skip
    for i in range(src.shape[0]):
        height, width = sizes[i, 0], sizes[i, 1]
        count = height * width * channels
        if count == 0:
            continue
        source = array_at(src[i], (count,), like_bytes)
        target = array_at(dst[i], (count,), like_bytes)
        if luma:
            _to_lab(source, target, linear, root)
            _equalise(target, target, 0, channels, height, width, across, down, clip)
            _from_lab(target, luminance, cubed, level)
            continue
        for channel in range(channels):
            _equalise(source, target, channel, channels, height, width, across, down, clip)


def clahe(
    src: Array, dst: Array, sizes: Array, channels: int, tiles: tuple[int, int], clip: float, luma: bool
) -> None:  # fmt: skip
    """Equalise pictures of uint8.

    Parameters
    ----------
    src, dst
        ``int64[N]`` addresses.
    sizes
        ``int64[N, 2]``: height and width.
    channels
        1 or 3.
    tiles
        How many across and down.
    clip
        How many times as frequent as the mean a level may be; 0 sets no limit.
    luma
        Equalise the lightness of RGB pictures, not their channels.
    """
    tables = lab_tables()
    _clahe(
        rows(src), rows(dst), rows(sizes), int(channels), int(tiles[0]), int(tiles[1]), float(clip), bool(luma),
        tables["linear"], tables["root"], tables["luminance"], tables["cubed"], tables["level"],
    )  # fmt: skip


@functools.lru_cache(maxsize=1)
def lab_tables() -> dict[str, Array]:
    """The tables of the conversion from sRGB to CIELAB and back.

    ``luminance`` has luminance and its root by lightness, ``int32[512]``, in turn; ``linear`` linear values,
    ``uint16[256]``; ``root`` the function f of CIELAB, ``uint16[3072]``; ``cubed`` its inverse, with 14 bits after the
    point, ``int32[32768]`` from -:data:`CUBED_FROM` on; ``level`` levels of sRGB, ``uint8[4096]``.
    """
    share = np.arange(256) / 255
    linear = np.rint(255 * 8 * np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4))
    relative = np.arange(3072) / (255 * 8)
    small = relative * 841 / 108 + 16 / 116
    root = np.rint(np.float32(1 << 15) * np.where(relative < 216 / 24389, small, np.cbrt(relative)).astype(np.float32))
    lightness = np.arange(256) * 100 / 255
    upper = (lightness + 16) / 116
    dark = lightness <= 8
    luminance = np.where(dark, lightness * 27 / 24389, upper**3)
    light_root = np.where(dark, lightness * 841 / 108 * 27 / 24389 + 16 / 116, upper)
    by_lightness = np.rint((1 << 14) * np.stack([luminance, light_root], axis=1))
    value = np.arange(-CUBED_FROM, 32768 - CUBED_FROM)
    small = np.sign(value) * (np.abs(value) * 108 // 841) - 16384 * 16 // 116 * 108 // 841
    cubed = np.where(value <= 3390, small, ((value * value) >> 14) * value >> 14)
    back = np.arange(4096) / 4096
    level = np.rint(255 * np.where(back <= 0.0031308, back * 12.92, 1.055 * back ** (1 / 2.4) - 0.055))
    return {
        "luminance": by_lightness.astype(np.int32).ravel(),
        "linear": linear.astype(np.uint16),
        "root": root.astype(np.uint16),
        "cubed": cubed.astype(np.int32),
        "level": level.astype(np.uint8),
    }
