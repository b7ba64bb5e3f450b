"""Small inputs for the cases that declarations carry: made, never read from disk, the same on every machine."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SIZES = ((31, 40), (24, 17), (50, 33))


def noise(shape: Sequence[int], dtype: npt.DTypeLike = np.uint8, seed: int = 0) -> Array:
    """Independent values over the dtype's range (floats from 0 to 1)."""
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.random(shape).astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def picture(height: int, width: int, channels: int = 3, dtype: npt.DTypeLike = np.uint8, seed: int = 0) -> Array:
    """A smooth picture with an edge and a little noise, ``HWC``; floats go from 0 to 1."""
    value, kind = _smooth(height, width, channels, seed), np.dtype(dtype)
    if kind.kind == "f":
        return value.astype(kind)
    most = int(np.iinfo(kind).max)
    # The most of 64 bits is no float64, and the one above it no number of the type.
    held = float(most) if float(most) <= most else np.nextafter(float(most), 0)
    result: Array = np.minimum((value * most).round(), held).astype(kind)
    return result


@functools.cache
def _smooth(height: int, width: int, channels: int, seed: int) -> Array:
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    y, x = (y + 0.5) / height, (x + 0.5) / width
    planes = [0.5 + 0.45 * np.sin(2 * np.pi * ((1 + k) * x + (2 - k) * y + 0.13 * seed)) for k in range(channels)]
    value = np.stack(planes, -1)
    value[(x - 0.5) ** 2 + (y - 0.4) ** 2 < 0.06] *= 0.3
    value += np.random.default_rng([seed, height, width]).normal(0, 0.02, value.shape)
    result: Array = np.clip(value, 0, 1)
    return result


def pictures(
    sizes: Sequence[tuple[int, int]] = SIZES, channels: int = 3, dtype: npt.DTypeLike = np.uint8
) -> tuple[list[Array], str]:
    """A batch of pictures of different sizes, with their layout ``"HWC"``."""
    return [picture(h, w, channels, dtype, seed) for seed, (h, w) in enumerate(sizes)], "HWC"


def planar(
    sizes: Sequence[tuple[int, int]] = SIZES, channels: int = 3, dtype: npt.DTypeLike = np.uint8
) -> tuple[list[Array], str]:
    """A batch of pictures with layout ``"CHW"``."""
    return [np.ascontiguousarray(array.transpose(2, 0, 1)) for array in pictures(sizes, channels, dtype)[0]], "CHW"


def sequences(
    frames: Sequence[int] = (2, 3, 1),
    sizes: Sequence[tuple[int, int]] = SIZES,
    channels: int = 3,
    dtype: npt.DTypeLike = np.uint8,
) -> tuple[list[Array], str]:
    """A batch of sequences with layout ``"FHWC"``."""
    rows = [
        np.stack([picture(h, w, channels, dtype, seed * 7 + frame) for frame in range(count)])
        for seed, (count, (h, w)) in enumerate(zip(frames, sizes, strict=True))
    ]
    return rows, "FHWC"


def volumes(
    sizes: Sequence[tuple[int, int, int]] = ((5, 12, 10), (4, 9, 14), (7, 8, 8)),
    channels: int = 1,
    dtype: npt.DTypeLike = np.uint8,
) -> tuple[list[Array], str]:
    """A batch of volumes with layout ``"DHWC"``."""
    rows = [
        np.stack([picture(h, w, channels, dtype, seed * 11 + depth) for depth in range(d)])
        for seed, (d, h, w) in enumerate(sizes)
    ]
    return rows, "DHWC"


def tensors(shapes: Sequence[Sequence[int]], dtype: npt.DTypeLike = np.float32) -> list[Array]:
    """A batch of noise of these shapes, without a layout."""
    return [noise(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def waves(lengths: Sequence[int] = (1600, 2500, 999), rate: float = 16000.0) -> list[Array]:
    """A batch of one-dimensional sounds: a sweep with a pause."""
    rows = []
    for seed, length in enumerate(lengths):
        t = np.arange(length) / rate
        row = 0.6 * np.sin(2 * np.pi * (200 + 300 * seed + 4000 * t) * t)
        row[: length // 8] = 0
        rows.append(row.astype(np.float32))
    return rows


@functools.cache
def video(
    codec: str = "libvpx-vp9",
    container: str = "webm",
    *,
    count: int = 8,
    size: tuple[int, int] = (64, 48),
    rate: int = 25,
    seed: int = 0,
    group: int = 4,
    pixels: str = "",
    full_range: bool = False,
    options: tuple[tuple[str, str], ...] = (),
    times: tuple[int, ...] | None = None,
) -> npt.NDArray[np.uint8]:
    """A short video file: a picture that moves sideways.

    Parameters
    ----------
    codec, container
        FFmpeg's names of the encoder and of the format.
    count
        Number of frames.
    size
        Width and height.
    rate
        Frames a second.
    group
        Frames from one key frame to the next.
    pixels
        FFmpeg's name of the pixel format; by default 4:2:0.
    full_range
        Luminance from 0 to 255, not from 16 to 235.
    options
        Options of the encoder.
    times
        When each frame is shown, in frames of constant rate; by default one after the other.
    """
    import av

    av.logging.set_level(av.logging.ERROR)
    width, height = size
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream: Any = output.add_stream(codec, rate=rate, options=dict(options))
        stream.width, stream.height = size
        stream.pix_fmt = pixels or ("yuvj420p" if codec == "mjpeg" else "yuv420p")
        stream.codec_context.gop_size = group
        stream.codec_context.thread_count = 1
        if full_range:
            stream.codec_context.color_range = 2
        scene = picture(height, width, seed=seed)
        for index in range(count):
            moved = np.ascontiguousarray(np.roll(scene, 3 * index, axis=1))
            moved[:8, :8] = 20 * index % 256
            frame = av.VideoFrame.from_ndarray(moved, format="rgb24").reformat(format=stream.pix_fmt)
            if full_range:
                frame.color_range = 2
            frame.pts = index if times is None else times[index]
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return np.frombuffer(file.getvalue(), np.uint8)
