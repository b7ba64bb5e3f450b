"""Sizes and regions of a resize, by NVIDIA DALI's rules, and the base of resizing operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, INT16, INTERP_LINEAR, UINT8, UINT16, DALIDataType, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Arg, Call, Input, Needs, OneOf, Operator, Output, choice, flag, integer, number, numbers

Table = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
LAYOUTS = ("HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW")
DTYPES = (UINT8, INT16, UINT16, FLOAT)

_HINTS = (
    integer("temp_buffer_hint", 0, "Kept for programs that set it.", advanced=True),
    integer("minibatch_size", 32, "Kept for programs that set it.", advanced=True),
)
FILTERS = (
    Arg(
        "interp_type",
        "interp_type",
        INTERP_LINEAR,
        "Interpolation; `min_filter` and `mag_filter` win over it.",
        tensor=True,
        important=True,
    ),
    Arg("mag_filter", "interp_type", INTERP_LINEAR, "Interpolation where an axis grows.", tensor=True),
    Arg("min_filter", "interp_type", INTERP_LINEAR, "Interpolation where an axis shrinks.", tensor=True),
    flag("antialias", "Widen the filter where an axis shrinks, so that nothing aliases.", default=True),
    Arg("dtype", "dtype", None, "Type of the result: that of the input, or FLOAT.", or_no_type=True),
    *_HINTS,
)


def _size(name: str, doc: str, **more: Any) -> Arg:
    return number(name, 0.0, doc, tensor=True, unit="px", slider=(0, 1024, 1), **more)


SIZES = (
    numbers(
        "size",
        None,
        "Size of the result: height and width, for volumes depth, height and width, or one number for all."
        " Zero leaves an axis to `mode`, a negative size flips it.",
        tensor=True,
        unit="px",
        important=True,
        slider=(1, 1024, 1),
    ),
    _size("resize_x", "Width of the result; zero leaves it to `mode`.", important=True),
    _size("resize_y", "Height of the result; zero leaves it to `mode`.", important=True),
    _size("resize_z", "Depth of the result; zero leaves it to `mode`."),
    _size("resize_shorter", "Length of the shorter side; the shape is kept."),
    _size("resize_longer", "Length of the longer side; the shape is kept."),
    choice(
        "mode",
        "default",
        ("default", "stretch", "not_larger", "not_smaller"),
        "How sizes that are not given follow: 'default' keeps the shape, 'stretch' leaves them, 'not_larger' and"
        " 'not_smaller' keep the shape within, or around, the given size.",
    ),
    numbers("max_size", None, "Upper limit of the size, for all axes or for each; 0 is none.", unit="px"),
    flag("subpixel_scale", "Scale by the exact ratio, though the size is rounded to whole pixels.", default=True),
    numbers("roi_start", None, "Start of the region to resize, in the order of `size`.", tensor=True),
    numbers("roi_end", None, "End of the region; before the start, it flips the axis.", tensor=True),
    flag("roi_relative", "The region is given in shares of the extent."),
)
_BOTH = "``roi_start`` and ``roi_end`` must be specified together"
REGION = (Needs("roi_start", "roi_end", _BOTH), Needs("roi_end", "roi_start", _BOTH))
_ONE_WAY = "Exactly one method of specifying size must be used"
RESIZE = (
    OneOf(
        "size",
        "resize_shorter",
        "resize_longer",
        "resize_x resize_y resize_z",
        needed=True,
        refused_as=_ONE_WAY,
        lacking_as=_ONE_WAY,
    ),
    *REGION,
)


@dataclass
class Resampling:
    """Region to resample and size of the result for each sample, along D, H, W (or H, W).

    Attributes
    ----------
    low, high
        Region in source pixels, ``float64[N, axes]``; a high below its low flips.
    size
        Size of the result, ``int64[N, axes]``.
    """

    low: Table
    high: Table
    size: npt.NDArray[np.int64]


def _same_size(call: Call, axes: int) -> Sequence[float] | None:
    """The whole-pixel size of all results, if a constant `size` alone decides it without a region; else `None`."""
    operator = call.operator
    size = operator.values.get("size")
    if size is None or "size" in call.batches or len(size) not in (1, axes):
        return None
    if (operator.values.get("mode") or "default") != "default" or operator.values.get("max_size") is not None:
        return None
    if any(operator.has(name) for name in ("roi_start", "resize_shorter", "resize_longer")):
        return None
    return size if all(0 < value < 2**24 and value == int(value) for value in size) else None


def resampling(call: Call, extents: npt.NDArray[np.int64], subpixel: bool) -> Resampling:
    """Region and size for each sample from the arguments; `extents` are D, H, W or H, W, ``int64[N, axes]``."""
    operator = call.operator
    count, axes = extents.shape
    same = _same_size(call, axes)
    if same is not None and extents.all():
        return Resampling(np.zeros((count, axes)), extents.astype(np.float64), np.full((count, axes), same, np.int64))
    mode = operator.values.get("mode") or "default"
    if operator.has("resize_shorter") or operator.has("resize_longer"):
        name = "resize_shorter" if operator.has("resize_shorter") else "resize_longer"
        mode = "not_smaller" if name == "resize_shorter" else "not_larger"
        wanted = np.repeat(call.numbers(name)[:, None].astype(np.float64), axes, axis=1)
    elif operator.has("size"):
        wanted = call.vectors("size", axes).astype(np.float64)
    else:
        names = ("resize_z", "resize_y", "resize_x")[-axes:]
        wanted = np.stack(
            [call.numbers(n, default=0.0).astype(np.float64) if operator.has(n) else np.zeros(count) for n in names],
            axis=1,
        )
    call.refuse(~np.isfinite(wanted), "the size {} is not finite", wanted)
    # An axis without elements stays empty, whatever its size.
    wanted = np.where(extents == 0, 0.0, wanted)
    low = np.zeros((count, axes))
    high = extents.astype(np.float64)
    if operator.has("roi_start"):
        low = call.vectors("roi_start", axes).astype(np.float64)
        high = call.vectors("roi_end", axes).astype(np.float64)
        if operator.values.get("roi_relative"):
            low, high = _float32(low * extents), _float32(high * extents)
    limit = operator.values.get("max_size")
    if limit is not None and len(limit) not in (1, axes):
        raise call.problem(f"takes 1 or {axes} values, got {len(limit)}", argument="max_size")
    limits = None if limit is None else np.broadcast_to(np.asarray(limit, np.float64), (count, axes))
    exact = adjusted_sizes(wanted, high - low, mode, limits)
    plan = rounded(low, high, exact, subpixel)
    plan.size[extents == 0] = 0
    return plan


def adjusted_sizes(wanted: Table, regions: Table, mode: str, limits: Table | None) -> Table:
    """Sizes that were left out, and those that a mode changes; nothing is rounded to whole pixels yet.

    Signs are kept. A size that was left out has the sign of its region, so that it undoes a flip by the region, but
    not where all sizes follow from one of them ('not_larger' and 'not_smaller').
    Scales and sizes are rounded to float32 as in NVIDIA DALI, which decides where a size lies half-way.
    """
    wanted, regions = _float32(wanted), _float32(regions)
    if limits is not None:
        limits = np.where(limits > 0, limits, np.inf)
    given = wanted != 0
    extents = np.abs(regions)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(extents > 0, _float32(np.abs(wanted) / extents), 1.0)
    result = np.abs(wanted)
    count = given.sum(axis=1)
    if mode == "default":
        product = np.where(given, scale, 1.0).prod(axis=1)
        mean = np.where(count > 1, np.power(product, 1.0 / np.maximum(count, 1)), product)
        result = np.where(given, result, extents * mean[:, None])
        if limits is not None:
            result = np.minimum(result, limits)
    elif mode == "stretch":
        result = np.where(given, result, extents)
        if limits is not None:
            result = np.minimum(result, limits)
    else:
        fill = np.inf if mode == "not_larger" else -np.inf
        pick = np.min if mode == "not_larger" else np.max
        final = pick(np.where(given, scale, fill), axis=1)
        if limits is not None:
            with np.errstate(divide="ignore"):
                final = np.minimum(final, (limits / extents).min(axis=1))
        keeps = given & (scale == final[:, None])
        result = np.where(keeps, result, extents * final[:, None])
    # Without a wanted size, the size stays, whatever its limits.
    result = _float32(np.where((count == 0)[:, None], extents, result))
    undone = np.zeros_like(regions) if mode in ("not_larger", "not_smaller") else regions
    return np.where(np.where(given, wanted, undone) < 0, -result, result)


def _float32(values: npt.NDArray[Any]) -> Table:
    """The values rounded to float32, in float64."""
    return values.astype(np.float32).astype(np.float64)


def rounded(low: Table, high: Table, exact: Table, subpixel: bool) -> Resampling:
    """Whole sizes, and the region widened or narrowed so that the scale stays exact."""
    size = np.maximum(np.floor(np.abs(exact) + 0.5), 1.0)
    flip = exact < 0
    low, high = np.where(flip, high, low), np.where(flip, low, high)
    if subpixel:
        low, high = scaled_alike(low, high, size, np.abs(exact), np.full_like(low, 0.5))
    return Resampling(low, high, size.astype(np.int64))


def scaled_alike(low: Table, high: Table, size: Table, exact: Table, alignment: Table) -> tuple[Table, Table]:
    """Regions widened or narrowed, at most tenfold, so that the scale is that of the exact size.

    `alignment` is the point of the region that stays fixed: 0 is its start, 1 its end.
    """
    changed = (exact != 0) & (size != exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(changed, np.minimum(size / exact, 10.0), 1.0)
        center = (1 - alignment) * low + alignment * high
        # Beyond all samples NVIDIA DALI stops at 1e9.
        new_low, new_high = (np.clip(center + (end - center) * ratio, -1e9, 1e9) for end in (low, high))
    return np.where(changed, new_low, low), np.where(changed, new_high, high)


class Resizing(Operator):
    """Base of resizing operators: the filters and the kernel call."""

    differs = (
        "A region that leaves the image repeats its edge, where NVIDIA DALI reads other memory. Nearest neighbour along"
        " one axis with another filter along the other keeps to the region, which NVIDIA DALI shifts twice."
        " `interp_type`, `min_filter` and `mag_filter` may be nodes of any integer type."
    )
    inputs: ClassVar[tuple[Input, ...]] = (
        Input("data", dtypes=DTYPES, layouts=LAYOUTS, doc="Images, volumes or sequences of {types}."),
    )
    outputs: ClassVar[tuple[Output, ...]] = (Output("data", doc="The resized input, of `dtype`, with its layout."),)
    on_gpu = True
    resizes = True

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        return "" if "dtype" in values or values.get("save_attrs") else "_resize_normalize"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        for name in ("resize_shorter", "resize_longer"):
            if (name in connected or values.get(name) is not None) and values.get("mode", "default") != "default":
                raise ArgumentError(
                    "`resize_shorter`, ``resize_longer`` and ``mode`` arguments are mutually exclusive:"
                    f" it has no meaning together with '{name}'",
                    argument="mode",
                )

    def plan(self, call: Call, images: Batch) -> Resampling:
        """Region and size for each sample."""
        raise NotImplementedError

    def filters(self, call: Call) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Codes of the filters for axes that shrink and that grow, ``int64[N]`` each."""
        rows = []
        for name in ("min_filter", "mag_filter"):
            chosen = name if name in self.given or "interp_type" not in self.given else "interp_type"
            codes = call.numbers(chosen, np.int64)
            call.refuse((codes < 0) | (codes > 5), "{} is not a DALIInterpType", codes, argument=chosen)
            rows.append(np.ascontiguousarray(codes))
        return rows[0], rows[1]

    def resample(self, call: Call, images: Batch, plan: Resampling) -> Batch:
        """Run the kernel for these regions and sizes."""
        from dali_lab.kernels.cpu.resample import takes

        dtype = call.result_type(images, (FLOAT,))
        if images.undecoded is not None:
            if dtype == UINT8 and takes(images.shapes[:, 2], images.shapes[:, 1], plan.size[:, 1]):
                return self._resample_undecoded(call, images, plan)
            images = images.undecoded.decode()
        layout = images.layout
        spatial = [layout.index(letter) for letter in layout if letter in "DHW"]
        shapes = images.shapes.copy()
        shapes[:, spatial] = plan.size
        out = call.allocate(shapes, dtype, layout)
        shrink, grow = self.filters(call)
        antialias = bool(self.value("antialias"))
        if (images.shapes == 0).any():
            call.refuse((images.sizes == 0) & (out.sizes > 0), "an empty sample cannot be resized")
        # Frames and planes of channels outside, channels of a pixel inside.
        one = np.ones(len(images), np.int64)
        inner = images.shapes[:, -1] if layout.endswith("C") else one
        outer = np.asarray(images.shapes[:, : spatial[0]].prod(axis=1), np.int64)
        resize_along(call, len(spatial))(
            images.addresses,
            out.addresses,
            np.column_stack([outer, images.shapes[:, spatial], inner]),
            np.column_stack([outer, plan.size, inner]),
            np.concatenate([plan.low, plan.high], axis=1),
            shrink,
            grow,
            antialias,
            _numpy(images.dtype),
            _numpy(dtype),
        )
        return out

    def ready_for_undecoded(self) -> bool:
        from dali_lab.kernels.cpu import decode_resize

        return self.takes_undecoded and decode_resize.ready()

    def _resample_undecoded(self, call: Call, images: Batch, plan: Resampling) -> Batch:
        out = call.allocate(np.concatenate([plan.size, images.shapes[:, 2:]], axis=1), UINT8, images.layout)
        whole = np.concatenate([np.zeros_like(plan.size), plan.size], axis=1)
        filters = *self.filters(call), bool(self.value("antialias"))
        resize_pixels(call, images, out, (plan.size, whole, np.concatenate([plan.low, plan.high], axis=1), *filters))
        return out


def resize_pixels(call: Call, images: Batch, out: Batch, tables: tuple[Rows, Rows, Table, Rows, Rows, bool]) -> None:
    """Resize uint8 pictures of three channels, HWC, and store a window of each; undecoded ones are decoded here.

    Parameters
    ----------
    tables
        As :func:`~dali_lab.kernels.cpu.resample.resize_windows` takes them, from the sizes on.
    """
    from dali_lab.kernels.cpu import resample
    from dali_lab.kernels.cpu.decode_resize import decode_resize
    from dali_lab.kernels.cpu.normalize import Resized

    none = np.zeros((0, 3), np.float32)
    resized, targets = Resized(*tables, np.zeros(len(images), np.int64), none, none), out.addresses
    if images.undecoded is not None:
        done = decode_resize(images.undecoded, targets, resized, call.share)
        left = np.flatnonzero(~done)
        if not len(left):
            return
        images, targets, resized = images.undecoded.decode(~done).take(left), targets[left], resized.take(left)
    shapes = np.concatenate([np.ones((len(images), 1), np.int64), images.shapes], axis=1)
    resample.resize_windows(images.addresses, targets, shapes, *resized.tables())


def resize_along(call: Call, axes: int) -> Callable[..., None]:
    """The kernel that resizes along two or three axes which follow each other."""
    if axes == 3:
        resize: Callable[..., None] = call.kernels("resample_volume").resize_volumes
    else:
        resize = call.kernels("resample").resize
    return resize


def extents_of(images: Batch) -> npt.NDArray[np.int64]:
    """D, H, W or H, W of each sample, ``int64[N, axes]``."""
    return images.shapes[:, [images.layout.index(letter) for letter in images.layout if letter in "DHW"]]


def _numpy(dtype: DALIDataType) -> Any:
    return numpy_dtype(dtype)
