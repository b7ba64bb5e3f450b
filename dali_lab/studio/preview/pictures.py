"""Small encoded pictures of samples of any kind, layout and dtype."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.codecs.encoded import CodecError
from dali_lab.codecs.headers import peek
from dali_lab.kernels.cpu.header_table import JPEG, PNG

Array = npt.NDArray[Any]

JPEG_QUALITY = 88
_EXACT_BELOW = 48
_STRIP = 16
_MOST_PIXELS = 1 << 26
"""Pixels of the largest file that is decoded to show it small; a small file may hold gigabytes of them."""
_MOST_PIXELS_REDUCED = 1 << 28
"""The same for JPEG, which is decoded small, but holds its numbers at full size where it is progressive."""
_REDUCED = (2, 4, 8)
_LINES_LOOKED_AT, _MOST_CLASSES_IN_BYTES, _NO_CLASS = 64, 64, 255
_SAME_AS_NEIGHBOUR = 0.9
"""Share of the elements of a mask that equal the one beside them, at least: dark photographs have less."""


@dataclass(frozen=True)
class Picture:
    """An encoded picture."""

    data: bytes
    mime: str
    width: int
    height: int


@dataclass(frozen=True)
class Scale:
    """Range of displayed values: `low` is black and `high` is white."""

    low: float
    high: float


def picture(array: Array, layout: str, kind: str, scale: Scale, size: int) -> Picture | None:
    """One sample as an encoded picture whose longer side has at most `size` pixels; `None` if it is no picture."""
    if kind == "encoded":
        return encoded_picture(array, size)
    if not array.size:
        return None
    if kind == "audio":
        return waveform(array, size)
    if kind in ("image", "mask"):
        frames = planes(array, layout)
        if kind == "mask":
            shown = [coloured_labels(frame[..., 0]) for frame in frames[:4]]
            return encode(contact_sheet([fitted(frame, size, exact=True) for frame in shown], size), exact=True)
        return encode(contact_sheet([eight_bits(fitted(frame, size), scale) for frame in frames], size))
    if kind == "tensor" and array.ndim == 2 and min(array.shape) >= 8 and array.dtype.kind in "fiu":
        return heat_map(array, scale, size)
    return None


def planes(array: Array, layout: str) -> list[Array]:
    """The frames that stand for a sample: four of a clip, the middle slice of a volume; see :func:`frames_of`."""
    stack = frames_of(array, layout)
    last = len(stack) - 1
    if "D" in layout and "F" not in layout and last >= 0:
        return [stack[len(stack) // 2]]
    wanted = sorted({round(last * part / 3) for part in range(4)}) if last >= 0 else []
    return [stack[index] for index in wanted]


def frames_of(array: Array, layout: str) -> list[Array] | Array:
    """All frames, each ``[height, width, channels]`` with 1, 3 or 4 channels; a view where possible."""
    letters = layout if len(layout) == array.ndim else {2: "HW", 3: "HWC", 4: "FHWC"}.get(array.ndim, "")
    if not letters or "H" not in letters or "W" not in letters:
        return [array.reshape(array.shape[0], -1)[..., None]]
    outer = [axis for axis, letter in enumerate(letters) if letter not in "HWC"]
    order = [*outer, letters.index("H"), letters.index("W"), *([letters.index("C")] if "C" in letters else [])]
    moved = array.transpose(order)
    if "C" not in letters:
        moved = moved[..., None]
    channels = moved.shape[-1]
    if channels == 0:
        return []
    if channels not in (1, 3, 4):
        moved = moved[..., :1] if channels == 2 else moved[..., :3]
    return moved.reshape(-1, *moved.shape[-3:])


def fitted(frame: Array, size: int, *, exact: bool = False) -> Array:
    """The frame shrunk so that its longer side has at most `size` pixels; smaller ones stay as they are."""
    import cv2

    height, width = frame.shape[:2]
    if max(height, width) <= size:
        return frame
    scale = size / max(height, width)
    target = (max(1, round(width * scale)), max(1, round(height * scale)))
    if frame.shape[2] > 1 and frame[..., 0].flags.c_contiguous:
        # Planes lie one after the other: bringing all channels together first would cost more than the rest.
        return cv2.merge([_resized(frame[..., channel], target, exact) for channel in range(frame.shape[2])])
    result = _resized(np.ascontiguousarray(frame), target, exact)
    return result if result.ndim == 3 else result[..., None]


def _resized(source: Array, target: tuple[int, int], exact: bool) -> Array:
    """The picture at a smaller (width, height): about the mean of the area under each pixel, or the nearest one."""
    import cv2

    if source.dtype == np.bool_:
        source = source.astype(np.uint8)
    elif source.dtype not in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
        source = source.astype(np.float32)
    if exact:
        return cv2.resize(source, target, interpolation=cv2.INTER_NEAREST)
    # Means over two by two pixels are many times faster than over other areas.
    width, height = target
    if min(target) < _STRIP:
        return cv2.resize(source, target, interpolation=cv2.INTER_AREA)
    while source.shape[0] >= 4 * height and source.shape[1] >= 4 * width:
        source = _halved(source)
    # Linear interpolation between pixels misses none where it makes the picture up to two times smaller.
    if source.shape[0] >= 2 * height and source.shape[1] >= 2 * width:
        return _halved(cv2.resize(source, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR))
    return cv2.resize(source, target, interpolation=cv2.INTER_LINEAR)


def _halved(source: Array) -> Array:
    import cv2

    height, width = source.shape[0] // 2, source.shape[1] // 2
    return cv2.resize(source[: height * 2, : width * 2], (width, height), interpolation=cv2.INTER_AREA)


def eight_bits(frame: Array, scale: Scale) -> Array:
    """The frame as ``uint8``; `scale` gives the values of black and white."""
    if frame.dtype == np.uint8 and (scale.low, scale.high) == (0, 255):
        return frame
    factor = np.float32(255.0 / (scale.high - scale.low))
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.subtract(frame, np.float32(scale.low), dtype=np.float32)
        values *= factor
        values += np.float32(0.5)
        # These two return the number when the other value is nan.
        np.fmax(values, 0, out=values)
        np.fmin(values, 255, out=values)
    return np.asarray(values.astype(np.uint8))


def contact_sheet(frames: list[Array], size: int) -> Array:
    """Frames of a sequence in one picture: one alone, or up to four in two columns."""
    if not frames:
        return np.zeros((1, 1, 1), np.uint8)
    if len(frames) == 1:
        return frames[0]
    small = [fitted(frame, max(1, size // 2)) for frame in frames]
    height, width, channels = small[0].shape
    sheet = np.zeros((height * (1 + (len(small) > 2)), width * 2, channels), np.uint8)
    for index, frame in enumerate(small):
        y, x = height * (index // 2), width * (index % 2)
        sheet[y : y + height, x : x + width] = frame
    return sheet


def encode(frame: Array, *, exact: bool = False) -> Picture:
    """An ``[height, width, 1, 3 or 4]`` picture as JPEG, or as PNG where pixels must stay as they are."""
    import cv2

    height, width, channels = frame.shape
    frame = np.ascontiguousarray(frame)
    if channels >= 3:
        frame = cv2.cvtColor(frame, cv2.COLOR_RGBA2BGRA if channels == 4 else cv2.COLOR_RGB2BGR)
    if exact or channels == 4 or max(height, width) <= _EXACT_BELOW:
        data = cv2.imencode(".png", frame, [cv2.IMWRITE_PNG_COMPRESSION, 3])[1]
        return Picture(data.tobytes(), "image/png", width, height)
    data = cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]
    return Picture(data.tobytes(), "image/jpeg", width, height)


def encoded_picture(data: Array, size: int) -> Picture | None:
    """A picture file's bytes, shown small; `None` if they are no picture that can be read here."""
    import cv2

    flat = data.reshape(-1)
    if flat.dtype != np.uint8 or flat.size < 16:
        return None
    flag = cv2.IMREAD_COLOR
    try:
        header = peek(flat)
    except CodecError:
        return None
    if header.height * header.width > (_MOST_PIXELS_REDUCED if header.format == JPEG else _MOST_PIXELS):
        return None  # the decoder's own node shows this one
    if header.format == JPEG:
        reduced = [divisor for divisor in _REDUCED if max(header.height, header.width) >= divisor * size]
        flag = getattr(cv2, f"IMREAD_REDUCED_COLOR_{max(reduced)}") if reduced else flag
    try:
        decoded = _png(flat) if header.format == PNG else cv2.imdecode(flat, flag)
    except (cv2.error, OSError, SyntaxError, ValueError):
        return None
    if decoded is None:
        return None
    if header.channels == 1 and largest_class(decoded[..., 0]) > 0:
        return encode(fitted(coloured_labels(decoded[..., 0]), size, exact=True), exact=True)
    return encode(fitted(decoded[..., ::-1], size))


def _png(data: Array) -> Array:
    """A PNG as ``[height, width, BGR]``.

    Pillow ends behind the last line; libpng, and OpenCV with it, unfold gigabytes of data that may follow.
    """
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data.tobytes()), formats=("PNG",)) as file:
        upright = ImageOps.exif_transpose(file)
        if upright.mode.startswith("I"):
            grey = (np.asarray(upright) >> 8).astype(np.uint8)
            return np.repeat(grey[..., None], 3, axis=2)
        return np.asarray(upright.convert("RGB"))[..., ::-1]


def largest_class(plane: Array) -> int:
    """The largest class number of a mask, -1 where the integers of a plane are light.

    A mask has areas of few small numbers, and perhaps 255 or -1 for what belongs to no class.
    """
    lines = plane[:: max(1, plane.shape[0] // _LINES_LOOKED_AT)]
    largest = int(np.where(lines == _NO_CLASS, 0, lines).max(initial=0))
    same = (lines[:, 1:] == lines[:, :-1]).mean() if lines[:, 1:].size else 0.0
    most = _MOST_CLASSES_IN_BYTES if plane.dtype.itemsize == 1 else len(_LABEL_COLORS)
    return largest if largest < most and same >= _SAME_AS_NEIGHBOUR else -1


def coloured_labels(labels: Array) -> Array:
    """Class numbers as colours that can be told apart; 0 is black."""
    return np.asarray(_LABEL_COLORS[labels.astype(np.int64) % len(_LABEL_COLORS)])


def _label_colors() -> Array:
    hue = (np.arange(256) * 0.61803398875) % 1.0
    wheel = (hue[:, None] * 6 + np.array([0, 4, 2])) % 6
    table: Array = (np.clip(np.abs(wheel - 3) - 1, 0, 1) * 190 + 50).round().astype(np.uint8)
    table[0] = 0
    return table


_LABEL_COLORS = _label_colors()


def waveform(array: Array, size: int) -> Picture:
    """Sound as a picture: the smallest and largest value in each column."""
    mono = array.reshape(array.shape[0], -1)[:, 0]
    width, height = size, max(8, size // 3)
    edges = np.linspace(0, len(mono), width + 1).astype(np.int64)
    starts = np.minimum(edges[:-1], len(mono) - 1)
    lows, highs = (extreme.reduceat(mono, starts).astype(np.float32) for extreme in (np.fmin, np.fmax))
    if mono.dtype.kind in "iu":
        lows, highs = (values / np.float32(np.iinfo(mono.dtype).max) for values in (lows, highs))
    reach = float(np.fmax(np.abs(lows), np.abs(highs)).max(initial=1e-6, where=~np.isnan(lows)))
    reach = max(1.0, reach) if reach <= 1.0 else reach
    middle = (height - 1) / 2
    tops = np.round(middle - np.nan_to_num(highs) / reach * middle)
    bottoms = np.round(middle - np.nan_to_num(lows) / reach * middle)
    rows = np.arange(height)[:, None]
    inside = (rows >= tops) & (rows <= bottoms)
    frame = np.where(inside[..., None], np.array([58, 160, 190], np.uint8), np.array([24, 27, 31], np.uint8))
    return encode(frame.astype(np.uint8), exact=True)


def heat_map(array: Array, scale: Scale, size: int) -> Picture:
    """A matrix as colours from dark to light."""
    import cv2

    values = array.astype(np.float32)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (scale.low, scale.high)
    grey = eight_bits(values[..., None], Scale(low, high if high > low else low + 1))
    colours = cv2.applyColorMap(np.ascontiguousarray(grey[..., 0]), cv2.COLORMAP_VIRIDIS)[..., ::-1]
    return encode(fitted(colours, size), exact=True)
