"""Windows of crops and slices: their arguments, starts and extents, by NVIDIA DALI's rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dense import rows_of
from dali_lab.model.errors import SampleError
from dali_lab.schema import Arg, Call, Needs, OneOf, Operator, choice, flag, integers, number, numbers, pixel_value
from dali_lab.schema.axes import lettered_axes, numbered_axes, refuse_repeated

Table = npt.NDArray[np.int64]

LAYOUTS = ("HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW")

ROUNDING = choice("rounding", "round", ("round", "truncate"), "How a fractional start of the window becomes a pixel.")
PADDING = ("pad", "constant")
"""Policies that fill what is outside with `fill_values`."""
BORDERS = {
    "clamp": "replicate",
    "edge": "replicate",
    "reflect_1001": "reflect",
    "reflect": "reflect",
    "reflect_101": "reflect_101",
    "wrap": "wrap",
}
"""Policies that extend samples by their own elements, with the border modes of the kernels."""

_PADDING_SYNONYMS = (("const", "constant"), ("fill", "constant"))
_POLICY = "What to do when the window leaves the sample: raise an error, pad with `fill_values` (pad, constant)"
OUT_OF_BOUNDS = choice(
    "out_of_bounds_policy",
    "error",
    ("error", *PADDING, "trim_to_shape"),
    f"{_POLICY}, or keep what is inside.",
    synonyms=_PADDING_SYNONYMS,
)
OUT_OF_BOUNDS_OR_BORDER = choice(
    "out_of_bounds_policy",
    "error",
    ("error", *PADDING, "trim_to_shape", *BORDERS),
    f"{_POLICY}, keep what is inside, or go on with the sample's own elements: the edge (clamp, edge), mirrored with"
    " the edge (reflect_1001, reflect) or without it (reflect_101), or from the other end (wrap).",
    synonyms=(
        *_PADDING_SYNONYMS,
        *((word, f"reflect_{edge}") for edge in ("1001", "101") for word in (edge, f"reflect{edge}")),
    ),
)
FILL_VALUES = pixel_value("fill_values", (0.0,), "Padding, one value or one for each channel.", vector=True)

CROP = (
    numbers(
        "crop",
        None,
        "Size of the window: height and width, for volumes and sequences depth (or frames), height and width. Zero"
        " keeps an axis whole.",
        lengths=(2, 3),
        tensor=True,
        unit="px",
        important=True,
        slider=(1, 1024, 1),
    ),
    *(
        number(
            f"crop_{axis}",
            0.0,
            f"{word} of the window; zero keeps the axis whole.",
            tensor=True,
            unit="px",
            slider=(0, 1024, 1),
        )
        for axis, word in (("d", "Depth, or number of frames,"), ("h", "Height"), ("w", "Width"))
    ),
    *(
        number(
            f"crop_pos_{axis}",
            0.5,
            f"Place of the window along the {word}: 0 puts it at the start, 1 at the end.",
            tensor=True,
            minimum=0.0,
            maximum=1.0,
            slider=(None, None, 0.01),
        )
        for axis, word in (("x", "width"), ("y", "height"), ("z", "depth, or the frames"))
    ),
)

SLICE = (
    integers("axes", (1, 0), "Axes that the other arguments speak of; negative ones count from the back.", tensor=True),
    Arg("axis_names", "layout", "WH", "The same by layout letters; wins over `axes`."),
    integers("start", None, "First element along each axis.", tensor=True, unit="px"),
    numbers("rel_start", None, "The same as a share of the extent.", tensor=True, slider=(0, 1)),
    integers("end", None, "Element after the last one.", tensor=True, unit="px"),
    numbers("rel_end", None, "The same as a share of the extent.", tensor=True, slider=(0, 1)),
    integers("shape", None, "Extent of the slice.", tensor=True, unit="px"),
    numbers("rel_shape", None, "The same as a share of the extent.", tensor=True, slider=(0, 1)),
    flag("normalized_anchor", "The `anchor` input, if of floats, is a share of the extent.", default=True),
    flag("normalized_shape", "The `shape` input, if of floats, is a share of the extent.", default=True),
)
_PLACING = frozenset(arg.name for arg in CROP)
_SIDES = "`crop_w` and `crop_h` arguments must be provided together"
CROPPING = (
    OneOf(
        "crop",
        "crop_h crop_w crop_d",
        refused_as="`crop` argument is not compatible with `crop_h`, `crop_w`, `crop_d`",
    ),
    Needs("crop_h", "crop_w", _SIDES),
    Needs("crop_w", "crop_h", _SIDES),
    Needs("crop_d", "crop_h"),
)
BOUNDS = ("start", "rel_start", "end", "rel_end", "shape", "rel_shape")
_ENDS = '"end", "rel_end", "shape", and "rel_shape" arguments are mutually exclusive'
SLICING = (
    OneOf(
        " ".join(BOUNDS),
        needed=True,
        lacking_as="Expected named slice arguments (e.g. start/end, start/shape) or positional inputs (start, shape)",
    ),
    OneOf("start", "rel_start", refused_as='"start" and "rel_start" arguments are mutually exclusive'),
    OneOf("end", "rel_end", "shape", "rel_shape", refused_as=_ENDS),
)


class Windows(NamedTuple):
    """Start and extent of a window on each sample, ``int64[N, ndim]`` each."""

    start: Table
    shape: Table


def crop_windows(call: Call, shapes: Table, layout: str) -> Windows:
    """The window of each sample for the crop arguments, not to be written to.

    Positions follow ``start = round(pos * (extent − size))``, sizes are truncated to whole pixels. In sequences the
    depth of the window is a number of frames.
    """
    if not _PLACING.isdisjoint(call.operator.connected):
        return _crop_windows(call, shapes, layout)
    return call.operator.kept("crop", (layout, shapes.tobytes()), lambda: _crop_windows(call, shapes, layout))


def _crop_windows(call: Call, shapes: Table, layout: str) -> Windows:
    operator = call.operator
    start = np.zeros_like(shapes)
    size = shapes.copy()
    deep = "F" if "F" in layout and "D" not in layout else "D"
    letters = [letter for letter in (deep, "H", "W") if letter in layout]
    names = {letter: f"crop_{'d' if letter == deep else letter.lower()}" for letter in letters}
    columns: dict[str, npt.NDArray[Any]] = {}
    if operator.has("crop"):
        count = _length(call, "crop")
        table = call.vectors("crop", count)
        if count not in (2, 3):
            raise call.problem(f"takes {len(letters)} values for layout {layout}, got {count}", argument="crop")
        columns = {letter: table[:, i] for i, letter in enumerate((deep + "HW")[-count:]) if letter in letters}
    else:
        columns = {letter: call.numbers(name) for letter, name in names.items() if operator.has(name)}
    truncate = operator.values.get("rounding") == "truncate"
    for letter, column in columns.items():
        axis = layout.index(letter)
        given_by = "crop" if operator.has("crop") else names[letter]
        call.refuse(~(np.abs(column) < 2**31), "{:g} is not an extent", column, argument=given_by)
        wanted = column.astype(np.int64)
        size[:, axis] = np.where(wanted > 0, wanted, shapes[:, axis])
        name = {"W": "crop_pos_x", "H": "crop_pos_y"}.get(letter, "crop_pos_z")
        position = call.numbers(name)
        anchor = position.astype(np.float64) * (shapes[:, axis] - size[:, axis])
        start[:, axis] = np.trunc(anchor) if truncate else half_away(anchor)
    return Windows(start, size)


def slice_windows(
    call: Call, shapes: Table, layout: str, anchor: Batch | None = None, extent: Batch | None = None
) -> Windows:
    """The window of each sample for the arguments of a slice, positional or named."""
    by_sample = call.batches.get("axes")
    if by_sample is not None and not by_sample.is_uniform():
        return _by_number_of_axes(call, shapes, layout, by_sample.sizes, anchor, extent)
    start = np.zeros_like(shapes)
    stop = shapes.copy()
    ndim = shapes.shape[1]
    first: npt.NDArray[Any] | None
    if anchor is not None:
        first, last = _positional(call, shapes, layout, anchor, extent)
    else:
        first, last = _named(call, shapes, layout)
    length = max((table.shape[1] for table in (first, last) if table is not None), default=0)
    axes = slice_axes(call, layout, ndim, length)
    for table in (first, last):
        if table is not None:
            call.refuse(~np.isfinite(table), "the slice has a coordinate that is not finite: {}", table)
    if first is not None:
        np.put_along_axis(start, axes, half_away(first).astype(np.int64), axis=1)
    if last is not None:
        np.put_along_axis(stop, axes, half_away(last).astype(np.int64), axis=1)
    size = stop - start
    call.refuse(size < 0, "the slice ends before it starts: {} to {}", start, stop)
    return Windows(start, size)


def _by_number_of_axes(
    call: Call, shapes: Table, layout: str, counts: Table, anchor: Batch | None, extent: Batch | None
) -> Windows:
    """:func:`slice_windows` where samples name different numbers of axes, one group for each number."""
    windows = Windows(np.empty_like(shapes), np.empty_like(shapes))
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        batches = {name: batch.take(rows) for name, batch in call.batches.items()}
        inputs = [None if batch is None else batch.take(rows) for batch in (anchor, extent)]
        part = dataclasses.replace(call, start=0, count=len(rows), batches=batches)
        try:
            windows.start[rows], windows.shape[rows] = slice_windows(part, shapes[rows], layout, *inputs)
        except SampleError as error:
            error.sample = call.start + int(rows[error.sample or 0])
            raise
    return windows


def slice_axes(call: Call, layout: str, ndim: int, length: int) -> Table:
    """The axes that slice arguments name, ``int64[N, length]``."""
    operator = call.operator
    by_name = "axis_names" in operator.given or "axes" not in operator.given
    letters = layout or {2: "HW", 3: "HWC", 4: "DHWC"}.get(ndim, "")
    if by_name and (letters or "axis_names" in operator.given):
        names = operator.value("axis_names")
        if length > 1 and len(names) != length and "axis_names" not in operator.given:
            raise call.problem(f"there are {length} coordinates for the axes {names!r}", argument="axis_names")
        axes = np.array([lettered_axes(call, letters) or []], np.int64)
    else:
        axes = call.vectors("axes", _length(call, "axes"), np.int64)
        axes = numbered_axes(call, axes, ndim) if axes.shape[1] else np.arange(ndim).reshape(1, -1)
        refuse_repeated(call, axes[: 1 if "axes" not in call.batches else None], "axes")
    if length > 1 and axes.shape[1] != length:
        raise call.problem(f"there are {length} coordinates for {axes.shape[1]} axes", argument="axes")
    return np.ascontiguousarray(np.broadcast_to(axes, (call.count, axes.shape[1])))


def within(call: Call, windows: Windows, shapes: Table) -> tuple[Windows, bool]:
    """Apply `out_of_bounds_policy`; returns whether anything must be padded."""
    policy = call.operator.values.get("out_of_bounds_policy", "error")
    start, size = windows
    outside = (start < 0) | (start + size > shapes)
    if not outside.any():
        return windows, False
    if policy == "error":
        message = "Slice can't be placed out of bounds with current policy. Got:"
        message += " the window from {} to {} leaves the sample of shape {}"
        if call.operator.decodes:
            message = (
                "the cropping window {}..{} (start..end) leaves the sample: it is not valid for image dimensions {:x}"
            )
        if "out_of_bounds_policy" in call.operator.values:
            message += "; out_of_bounds_policy 'pad' or 'trim_to_shape' would allow it"
        call.refuse(outside, message, start, start + size, shapes)
    if policy == "trim_to_shape":
        low = np.clip(start, 0, shapes)
        high = np.clip(start + size, 0, shapes)
        return Windows(low, np.maximum(high - low, 0)), False
    return windows, True


def extended(call: Call, source: Batch, windows: Windows, out: Batch, border: str) -> None:
    """Write windows of `source` to `out`, with axes extended beyond their ends by the mode `border` of the kernels.

    Raises
    ------
    SampleError
        If an axis without elements would have to be extended.
    """
    hollow = (source.shapes == 0) & (windows.shape > 0)
    call.refuse(hollow, "has no elements to go on with beyond its border: shape {}", source.shapes)
    for index in range(call.count):
        axes = zip(windows.start[index], windows.shape[index], source.shapes[index], strict=True)
        places = [places_of(np.arange(first, first + count), extent, border) for first, count, extent in axes]
        out.array(index)[...] = source.array(index)[np.ix_(*places)]


def places_of(indices: npt.NDArray[np.int64], extent: int, border: str) -> npt.NDArray[np.int64]:
    """The elements of an axis with `extent` elements that stand at `indices`, which may lie beyond its ends."""
    if border == "replicate" or extent == 1:
        return np.clip(indices, 0, extent - 1)
    if border == "wrap" or not len(indices):
        return np.mod(indices, max(extent, 1))
    period = 2 * extent - 2 if border == "reflect_101" else 2 * extent
    places = np.mod(indices, period)
    return np.where(places < extent, places, period - places - (border == "reflect"))


def _length(call: Call, name: str) -> int:
    batch = call.batches.get(name)
    if batch is not None:
        return int(batch.shapes[0].prod()) if len(batch) else 0
    value = call.operator.values[name]
    return len(value)


def half_away(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Half away from zero, as C does."""
    return np.where(values < 0, np.ceil(values - 0.5), np.floor(values + 0.5))


def _positional(
    call: Call, shapes: Table, layout: str, anchor: Batch, extent: Batch | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    first = _rows(call, anchor, "anchor").astype(np.float64)
    axes = slice_axes(call, layout, shapes.shape[1], first.shape[1])
    extents = np.take_along_axis(shapes, axes, axis=1).astype(np.float64)
    if _is_float(anchor) and call.operator.values.get("normalized_anchor", True):
        first = first * extents
    if extent is None:
        return first, None
    size = _rows(call, extent, "shape").astype(np.float64)
    if _is_float(extent) and call.operator.values.get("normalized_shape", True):
        size = size * extents
    return first, first + size


def _rows(call: Call, batch: Batch, name: str) -> npt.NDArray[Any]:
    if not batch.is_uniform():
        raise call.problem(f"the input '{name}' must have as many elements in each sample")
    return rows_of(batch.stacked())


def _is_float(batch: Batch) -> bool:
    return batch.dtype.name.startswith("FLOAT")


def _speaks(operator: Operator, name: str) -> bool:
    """Whether an argument has a value: an empty list stands for the default."""
    return operator.has(name) and (name in operator.connected or operator.values[name] != ())


def _named(call: Call, shapes: Table, layout: str) -> tuple[npt.NDArray[Any] | None, npt.NDArray[Any] | None]:
    operator = call.operator
    names = [name for name in BOUNDS if _speaks(operator, name)]
    if not names:
        return None, None
    length = max(_length(call, name) for name in names)
    axes = slice_axes(call, layout, shapes.shape[1], length)
    length = axes.shape[1]
    return named_bounds(call, np.take_along_axis(shapes, axes, axis=1))


def named_bounds(
    call: Call, extents: npt.NDArray[np.int64], prefix: str = ""
) -> tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.float64] | None]:
    """Bounds of the region given by `start`, `end` and `shape`, or their relative forms; not rounded.

    `extents` are those of the named axes, ``int64[N, axes]``; `prefix` is part of the argument names, as in
    ``roi_start`` and ``rel_roi_start``. A bound that is not given is `None`.
    """
    length = extents.shape[1]

    def table(name: str) -> npt.NDArray[np.float64] | None:
        absolute, relative = f"{prefix}{name}", f"rel_{prefix}{name}"
        if _speaks(call.operator, absolute):
            return call.vectors(absolute, length, np.int64).astype(np.float64)
        if _speaks(call.operator, relative):
            # In float32, as in NVIDIA DALI; positional inputs are scaled in float64. Halves fall to different sides.
            return (call.vectors(relative, length) * extents.astype(np.float32)).astype(np.float64)
        return None

    first, last, size = table("start"), table("end"), table("shape")
    if size is not None:
        last = size if first is None else first + size
        start, shape = f"rel_{prefix}start", f"rel_{prefix}shape"
        if _speaks(call.operator, start) and _speaks(call.operator, shape):
            last = (call.vectors(start, length).astype(np.float64) + call.vectors(shape, length)) * extents
    return first, last


def is_region(values: Mapping[str, Any]) -> bool:
    """Whether a decoder's own region arguments can replace it: no padding, no other type."""
    return "dtype" not in values and values.get("out_of_bounds_policy", "error") == "error"


class Windowed(Operator):
    """Base of operators that cut windows: fill arguments and checks."""

    def fill_values(self, channels: int) -> npt.NDArray[np.float32]:
        """Fill value of each channel, ``float32[channels]``.

        Raises
        ------
        ArgumentError
            If there are neither 1 nor `channels` values.
        """
        values = np.asarray(self.value("fill_values"), np.float32).reshape(-1)
        if values.size == 1:
            return np.full(max(channels, 1), values[0], np.float32)
        if values.size != channels:
            raise self.fail(f"takes 1 or {channels} values, got {values.size}", "fill_values")
        return values
