"""Summary of a batch besides its pictures: kind, shapes, range, histogram, labels and values as text."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.studio.preview.pictures import Scale, largest_class, planes
from dali_lab.studio.protocol.previews import OutputPreview
from dali_lab.studio.protocol.values import Value

Array = npt.NDArray[Any]

HISTOGRAM_BINS = 32
MOST_NUMBERS = 16
_SAMPLED = 1 << 15
_MASKS_LOOKED_AT = 4


@dataclass
class Summary:
    """An output without its pictures, and the values that are black and white in them."""

    output: OutputPreview
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
        The samples that did not fail.
    count
        Samples shown, missing ones included.
    missing
        Indices of samples that failed.
    kind
        The kind that the operator declares.
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
    files = labels = values = numbers = None
    if batch.sources is not None:
        sources = [None if row is None else batch.sources[row] for row in rows]
        files = [None if source is None else os.path.basename(source) or None for source in sources]
        labels = [None if source is None else _label(source, roots) for source in sources]
    if shown == "encoded":
        values = [None if array is None else encoded_text(array) for array in arrays]
    elif shown in ("tensor", "boxes", "audio"):
        values = [None if array is None else tensor_text(array) for array in arrays]
        numbers = [None if array is None or array.size > MOST_NUMBERS else _numbers(array) for array in arrays]
    output = OutputPreview(
        shown,
        batch.dtype.name,
        batch.layout,
        [[] if array is None else list(array.shape) for array in arrays],
        total or len(batch) + len(missing),
        batch.is_uniform(),
        None if low_high is None else (json_float(low_high[0]), json_float(low_high[1])),
        histogram(present, low_high) if shown in ("image", "mask", "tensor", "audio") else None,
        [],
        values,
        numbers if numbers is not None and any(numbers) else None,
        labels if labels is not None and any(labels) else None,
        files,
    )
    return Summary(output, display_scale(batch.dtype, low_high))


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
    """The kind as which a batch is shown: the declared one, unless its shape contradicts it."""
    if declared in ("encoded", "text", "boxes", "audio"):
        return declared
    if declared == "mask" and batch.ndim >= 2:
        return "mask"
    layout = batch.layout
    if "H" in layout and "W" in layout:
        return "mask" if _holds_classes(batch, layout) else "image"
    if not layout and declared in ("image", "any"):
        looks_like_picture = batch.ndim == 3 and len(batch) and bool((batch.shapes[:, 2] <= 4).all())
        large_enough = len(batch) and bool((batch.shapes[:, :2].min(axis=1) >= 8).all()) if batch.ndim >= 2 else False
        if looks_like_picture and large_enough:
            return "mask" if _holds_classes(batch, "HWC") else "image"
        if declared == "any" and batch.ndim == 1 and batch.dtype == DALIDataType.UINT8 and batch.sources is not None:
            return "encoded"
    return "tensor"


def _holds_classes(batch: Batch, layout: str) -> bool:
    """Whether pictures of one channel are masks, which would be black if their numbers were shown as light."""
    if batch.kind.kind not in "iu" or ("C" in layout and (batch.shapes[:, layout.index("C")] != 1).any()):
        return False
    samples = (batch.array(row) for row in range(min(len(batch), _MASKS_LOOKED_AT)))
    largest = [largest_class(frame[..., 0]) for sample in samples for frame in planes(sample, layout)]
    return min(largest, default=-1) >= 0 and max(largest) > 0


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


def encoded_text(data: Array) -> str:
    """A short description of a file's bytes: format and size."""
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


def _numbers(array: Array) -> list[Value] | None:
    return [json_float(value) for value in array.reshape(-1).tolist()] or None


def json_float(value: float) -> Value:
    """A number; the floats that JSON lacks as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _number(value: float) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e6
    return f"{value:.4g}" if isinstance(value, float) and not whole else f"{value:.0f}" if whole else str(value)


def _label(source: str, roots: Collection[str]) -> str | None:
    folder = os.path.dirname(source)
    return None if folder in ("", ".") or folder in roots else os.path.basename(folder)


_SIGNATURES = (
    (b"\xff\xd8", "JPEG"), (b"\x89PNG", "PNG"), (b"BM", "BMP"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"),
    (b"\x00\x00\x00\x0cjP", "JPEG 2000"), (b"GIF8", "GIF"), (b"fLaC", "FLAC"), (b"OggS", "Ogg"),
)  # fmt: skip
