"""What a person sees of a batch: small encoded pictures of any layout and dtype, range, histogram and values."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.studio.documents import json_floats
from dali_lab.types import DALIDataType

Array = npt.NDArray[Any]
Json = dict[str, Any]

HISTOGRAM_BINS = 32
MOST_NUMBERS = 16
JPEG_QUALITY = 88
_EXACT_BELOW = 48
_SAMPLED = 1 << 15
_STRIP = 16
_LARGE_FILE = 32 << 20


@dataclass(frozen=True)
class Picture:
    """An encoded picture."""

    data: bytes
    mime: str
    width: int
    height: int


@dataclass(frozen=True)
class Scale:
    """How values become brightness: `low` is black and `high` is white."""

    low: float
    high: float


@dataclass
class Summary:
    """What is said of an output besides its pictures; `fields` are the protocol's, without ``images``."""

    fields: Json
    kind: str
    scale: Scale


def summary(
    batch: Batch,
    count: int,
    missing: Collection[int] = (),
    kind: str = "any",
    roots: Collection[str] = (),
    total: int = 0,
) -> Summary:
    """Shapes, range, histogram and values of the first `count` samples of a batch.

    Parameters
    ----------
    batch
        The samples that are there.
    count
        Samples shown, those that are missing included.
    missing
        Indices of samples that failed.
    kind
        What the operator declares.
    roots
        Folders whose names are no labels.
    total
        Samples in the whole batch.
    """
    rows = positions(len(batch), count, missing)
    arrays = [None if row is None else batch.array(row) for row in rows]
    present = [array for array in arrays if array is not None]
    shown = shown_kind(batch, kind)
    low_high = value_range(present) if shown != "encoded" else None
    fields: Json = {
        "kind": shown,
        "dtype": batch.dtype.name,
        "layout": batch.layout,
        "shapes": [[] if array is None else list(array.shape) for array in arrays],
        "batch": total or len(batch) + len(missing),
        "uniform": batch.is_uniform(),
        "range": None if low_high is None else [json_floats(value) for value in low_high],
        "histogram": histogram(present, low_high) if shown in ("image", "mask", "tensor", "audio") else None,
    }
    if batch.sources is not None:
        sources = [None if row is None else batch.sources[row] for row in rows]
        fields["files"] = [None if source is None else os.path.basename(source) or None for source in sources]
        labels = [None if source is None else _label(source, roots) for source in sources]
        if any(labels):
            fields["labels"] = labels
    if shown == "encoded":
        fields["values"] = [None if array is None else encoded_text(array) for array in arrays]
    elif shown in ("tensor", "boxes", "audio"):
        fields["values"] = [None if array is None else tensor_text(array) for array in arrays]
        if any(0 < array.size <= MOST_NUMBERS for array in present):
            fields["numbers"] = [
                None if array is None or not 0 < array.size <= MOST_NUMBERS else json_floats(array.reshape(-1).tolist())
                for array in arrays
            ]
    return Summary(fields, shown, display_scale(batch.dtype, low_high))


def positions(present: int, count: int, missing: Collection[int]) -> list[int | None]:
    """For each sample shown its row in a batch that lacks the missing ones."""
    rows: list[int | None] = []
    row = 0
    for sample in range(count):
        if sample in missing or row >= present:
            rows.append(None)
        else:
            rows.append(row)
            row += 1
    return rows if missing else rows[: max(present, 0)]


def shown_kind(batch: Batch, declared: str) -> str:
    """How to show a batch: what is declared, where its shape does not say otherwise."""
    if declared in ("encoded", "text", "boxes", "audio"):
        return declared
    if declared == "mask" and batch.ndim >= 2:
        return "mask"
    layout = batch.layout
    if "H" in layout and "W" in layout:
        return "image"
    if not layout and declared in ("image", "any"):
        looks_like_picture = batch.ndim == 3 and len(batch) and bool((batch.shapes[:, 2] <= 4).all())
        large_enough = len(batch) and bool((batch.shapes[:, :2].min(axis=1) >= 8).all()) if batch.ndim >= 2 else False
        if looks_like_picture and large_enough:
            return "image"
        if declared == "any" and batch.ndim == 1 and batch.dtype == DALIDataType.UINT8 and batch.sources is not None:
            return "encoded"
    return "tensor"


def value_range(arrays: Sequence[Array]) -> tuple[float, float] | None:
    """Smallest and largest value of all samples, nan left out; `None` if there are none."""
    lows, highs = [], []
    for array in arrays:
        if not array.size:
            continue
        low, high = array.min(), array.max()
        if array.dtype.kind == "f" and (np.isnan(low) or np.isnan(high)):
            valid = array[~np.isnan(array)]
            if not valid.size:
                continue
            low, high = valid.min(), valid.max()
        lows.append(low.item())
        highs.append(high.item())
    if not lows:
        return None
    if arrays[0].dtype.kind == "b":
        return int(min(lows)), int(max(highs))
    return _short(min(lows)), _short(max(highs))


def _short(value: float) -> float:
    return float(f"{value:.6g}") if isinstance(value, float) and np.isfinite(value) else value


def histogram(arrays: Sequence[Array], low_high: tuple[float, float] | None) -> list[int] | None:
    """Counts in equal steps from the smallest to the largest value, over evenly picked elements."""
    if low_high is None or not all(map(np.isfinite, low_high)):
        return None
    low, high = low_high
    if high <= low:
        return None
    each = _SAMPLED // len(arrays)
    flat = [array.reshape(-1) for array in arrays if array.size]
    # An odd step walks through channels and columns instead of meeting the same ones again and again.
    picked = np.concatenate([values[:: max(1, values.size // each) | 1] for values in flat]).astype(np.float32)
    if flat[0].dtype.kind == "f":
        picked = picked[np.isfinite(picked)]
    bins = ((picked - np.float32(low)) * np.float32(HISTOGRAM_BINS / (high - low))).astype(np.int32)
    counts = np.bincount(np.clip(bins, 0, HISTOGRAM_BINS - 1), minlength=HISTOGRAM_BINS)
    return [int(count) for count in counts]


def display_scale(dtype: DALIDataType, low_high: tuple[float, float] | None) -> Scale:
    """Which values are black and white. Steps are coarse, so that a slider changes the picture and not its exposure."""
    name = dtype.name
    if name == "UINT8":
        return Scale(0, 255)
    if name == "BOOL":
        return Scale(0, 1)
    if low_high is None or not all(map(np.isfinite, low_high)):
        return Scale(0, 1)
    low, high = low_high
    if name == "UINT16":
        return Scale(0, 65535) if high > 4095 else Scale(0, 4095) if high > 255 else Scale(0, 255)
    floating = name.startswith("FLOAT")
    if floating and low >= -0.25 and high <= 1.5:
        return Scale(0, 1)
    if floating and max(abs(low), abs(high)) <= 8 and low < 0:
        reach = next(step for step in (1.05, 2.7, 4.0, 8.0) if max(-low, high) <= step)
        return Scale(-reach, reach)
    if low >= -64 and high <= 320 and (high > 8 or not floating) and (low >= 0 or high > 2 * -low):
        return Scale(0, 255)
    if low == high:
        return Scale(low - 1, high + 1)
    return Scale(low, high)


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
        if kind == "mask" or _is_labels(array):
            shown = [coloured_labels(frame[..., 0]) for frame in frames[:4]]
            return encode(contact_sheet([fitted(frame, size, exact=True) for frame in shown], size), exact=True)
        return encode(contact_sheet([eight_bits(fitted(frame, size), scale) for frame in frames], size))
    if kind == "tensor" and array.ndim == 2 and min(array.shape) >= 8 and array.dtype.kind in "fiu":
        return heat_map(array, scale, size)
    return None


def planes(array: Array, layout: str) -> list[Array]:
    """The frames to show, each ``[height, width, channels]`` with 1, 3 or 4 channels; a view where possible."""
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
    stack = moved.reshape(-1, *moved.shape[-3:])
    if "D" in letters and "F" not in letters:
        return [stack[len(stack) // 2]]
    last = len(stack) - 1
    wanted = sorted({round(last * part / 3) for part in range(4)}) if last >= 0 else []
    return [stack[index] for index in wanted]


def fitted(frame: Array, size: int, *, exact: bool = False) -> Array:
    """The frame shrunk so that its longer side has at most `size` pixels; smaller ones stay as they are."""
    height, width = frame.shape[:2]
    if max(height, width) <= size:
        return frame
    scale = size / max(height, width)
    target = (max(1, round(width * scale)), max(1, round(height * scale)))
    if frame.shape[2] > 1 and frame[..., 0].flags.c_contiguous:
        # Planes lie one after the other: bringing all channels together first would cost more than the rest.
        planes = [_resized(frame[..., channel], target, exact) for channel in range(frame.shape[2])]
        return np.stack(planes, axis=-1)
    result = _resized(np.ascontiguousarray(frame), target, exact)
    return result if result.ndim == 3 else result[..., None]


def _resized(source: Array, target: tuple[int, int], exact: bool) -> Array:
    """The picture at a smaller (width, height): the mean of what lies under each pixel, closely, or the nearest one."""
    import cv2

    if source.dtype == np.bool_:
        source = source.astype(np.uint8)
    elif source.dtype not in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
        source = source.astype(np.float32)
    if exact:
        return cv2.resize(source, target, interpolation=cv2.INTER_NEAREST)
    # Means over whole pixels are many times faster than over parts of them, most of all over two by two.
    width, height = target
    if min(target) < _STRIP:
        return cv2.resize(source, target, interpolation=cv2.INTER_AREA)
    while source.shape[0] >= 4 * height and source.shape[1] >= 4 * width:
        source = _shrunk(source, source.shape[1] // 2, source.shape[0] // 2, 2)
    times = max(1, min(source.shape[0] // height, source.shape[1] // width))
    source = cv2.resize(source, (width * times, height * times), interpolation=cv2.INTER_LINEAR)
    return source if times == 1 else _shrunk(source, width, height, times)


def _shrunk(source: Array, width: int, height: int, times: int) -> Array:
    import cv2

    return cv2.resize(source[: height * times, : width * times], (width, height), interpolation=cv2.INTER_AREA)


def eight_bits(frame: Array, scale: Scale) -> Array:
    """The frame as ``uint8``, `scale` telling what is black and what is white."""
    if frame.dtype == np.uint8 and (scale.low, scale.high) == (0, 255):
        return frame
    factor = 255.0 / (scale.high - scale.low)
    with np.errstate(invalid="ignore", over="ignore"):
        values = (frame.astype(np.float32) - np.float32(scale.low)) * np.float32(factor) + np.float32(0.5)
    # Of nan and a number these two give the number.
    return np.asarray(np.fmin(np.fmax(values, 0), 255).astype(np.uint8))


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
    shape = jpeg_size(flat)
    if shape is None and flat.size > _LARGE_FILE:
        return None  # only JPEG can be decoded small; the decoder's own node shows this one
    if shape is not None:
        for divisor, reduced in (
            (8, cv2.IMREAD_REDUCED_COLOR_8),
            (4, cv2.IMREAD_REDUCED_COLOR_4),
            (2, cv2.IMREAD_REDUCED_COLOR_2),
        ):
            if max(shape) >= divisor * size:
                flag = reduced
                break
    try:
        decoded = cv2.imdecode(flat, flag)
    except cv2.error:
        return None
    if decoded is None:
        return None
    return encode(fitted(decoded[..., ::-1], size))


def jpeg_size(data: Array) -> tuple[int, int] | None:
    """Height and width from a JPEG's header."""
    head = data[: 1 << 16].tobytes()
    if head[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 < len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 5 : at + 7], "big"), int.from_bytes(head[at + 7 : at + 9], "big")
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


_SIGNATURES = (
    (b"\xff\xd8", "JPEG"), (b"\x89PNG", "PNG"), (b"BM", "BMP"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"),
    (b"\x00\x00\x00\x0cjP", "JPEG 2000"), (b"GIF8", "GIF"), (b"fLaC", "FLAC"), (b"OggS", "Ogg"),
)  # fmt: skip


def encoded_text(data: Array) -> str:
    """What a file's bytes are, in a few words: format and size."""
    flat = data.reshape(-1)
    head = flat[:16].tobytes()
    name = next((name for signature, name in _SIGNATURES if head.startswith(signature)), "")
    if head[:4] == b"RIFF":
        name = {b"WEBP": "WebP", b"WAVE": "WAV", b"AVI ": "AVI"}.get(head[8:12], "")
    size = flat.size
    amount = f"{size} bytes" if size < 1000 else f"{size / 1000:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
    return f"{name}, {amount}" if name else amount


def tensor_text(array: Array) -> str:
    """A sample that is no picture, as a short text."""
    if array.size == 0:
        return "empty"
    if array.size <= MOST_NUMBERS:
        flat = ", ".join(_number(value) for value in array.reshape(-1).tolist())
        return flat if array.ndim <= 1 else f"{'×'.join(map(str, array.shape))}: {flat}"
    first = ", ".join(_number(value) for value in array.reshape(-1)[:4].tolist())
    return f"{'×'.join(map(str, array.shape))}: {first}, …"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_labels(array: Array) -> bool:
    return array.dtype.kind in "iu" and array.dtype.itemsize >= 4 and array.size > 0 and int(array.max()) < 256


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
    mono = array.reshape(array.shape[0], -1)[:, 0].astype(np.float32)
    if array.dtype.kind in "iu":
        mono = mono / float(np.iinfo(array.dtype).max)
    width, height = size, max(8, size // 3)
    edges = np.linspace(0, len(mono), width + 1).astype(np.int64)
    starts = np.minimum(edges[:-1], len(mono) - 1)
    lows, highs = np.minimum.reduceat(mono, starts), np.maximum.reduceat(mono, starts)
    reach = max(1e-6, float(np.nanmax(np.abs(mono))) if len(mono) else 1.0)
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


def _label(source: str, roots: Collection[str]) -> str | None:
    folder = os.path.dirname(source)
    return None if not folder or folder in roots else os.path.basename(folder)
