"""Resizes any axes of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.conversion import converted
from dali_lab.model.dtypes import FLOAT, INTERP_CUBIC, INTERP_GAUSSIAN, INTERP_LANCZOS3, INTERP_NN, numpy_dtype
from dali_lab.model.errors import ArgumentError
from dali_lab.operators.geometry.resizing import (
    DTYPES,
    FILTERS,
    REGION,
    Resampling,
    Resizing,
    adjusted_sizes,
    resize_along,
    scaled_alike,
)
from dali_lab.schema import Call, Case, ErrorCase, Input, OneOf, PerSample, register, samples
from dali_lab.schema.axes import ONE_WAY, axes_arguments, chosen_axes
from dali_lab.schema.call import LARGEST_SAMPLE
from dali_lab.schema.presets import choice, flag, numbers, share

ROUNDING = ("round", "truncate", "ceil")
Table = npt.NDArray[np.float64]
MOST_AXES = 3
"""Axes that NVIDIA DALI resizes, which must follow each other."""
_ONE_OF = "Need one of ``scales`` or ``sizes``, but not both"
_FILTER_NAMES = ("interp_type", "mag_filter", "min_filter")


@register
class TensorResize(Resizing):
    """Resizes any axes of a tensor, with any of six filters.

    `sizes` or `scales` give one number for each axis that `axes` or `axis_names` name, or for all axes; 0 leaves an
    axis to `mode`. Axes that are not named keep their extent, except where a mode keeps the aspect ratio.
    """

    name = "tensor_resize"
    repeatable = False  # a rare result depends on the other samples of the batch
    resizes = False
    inputs = (Input("data", dtypes=DTYPES, kind="tensor", doc="Tensors of {types}, of any layout."),)
    arguments = (
        numbers(
            "sizes",
            None,
            "Size of the result; a negative size flips the axis.",
            tensor=True,
            unit="px",
            important=True,
            slider=(1, 1024),
        ),
        numbers(
            "scales",
            None,
            "Factors of the size, in place of `sizes`.",
            tensor=True,
            important=True,
            slider=(0.1, 4.0, 0.01),
        ),
        *axes_arguments("Axes to resize, all by default; negative ones count from the last."),
        choice(
            "mode",
            "default",
            ("default", "stretch", "not_larger", "not_smaller"),
            "Sizes left out: scaled by the mean factor of the others, kept (``stretch``); or one factor for all axes,"
            " so that no size is larger, or none smaller, than given.",
        ),
        numbers("max_size", None, "Upper limit of the size; 0 is none.", unit="px"),
        choice("size_rounding", "round", ROUNDING, "How sizes become whole: to the nearest, down or up."),
        flag(
            "subpixel_scale",
            "Where a size is rounded, take more or less of the input, so that the factor stays what it was.",
            default=True,
        ),
        share(
            "alignment",
            (0.5,),
            "Which place of the region keeps its place then: 0 its start, 1 its end.",
            vector=True,
            tensor=True,
        ),
        numbers("roi_start", None, "Start of the region that is resized.", tensor=True, unit="px"),
        numbers("roi_end", None, "End of that region; less than the start to flip.", tensor=True),
        flag("roi_relative", "The region is given in shares of the input's size."),
        *FILTERS,
    )
    rules = (
        ONE_WAY,
        OneOf("sizes", "scales", needed=True, refused_as=_ONE_OF, lacking_as=_ONE_OF),
        *REGION,
    )
    start = {"scales": [0.5, 0.5], "axes": [0, 1]}
    example = '>>> fn.tensor_resize(volumes, scales=(0.5, 0.5), axis_names="HW")'
    differs = (
        "Any number of axes can be resized, not only three that follow each other. Regions that leave the sample repeat"
        " its edge, and nearest neighbour along one axis with another filter along the other keeps to the region."
    )

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        scaled = "scales" in values or "scales" in connected
        if scaled and values.get("mode", "default") in ("not_larger", "not_smaller"):
            raise ArgumentError("takes 'sizes', not 'scales'", argument="mode")

    def setup(self) -> None:
        # The axes to resample are chosen for the whole batch. That matters where resampling an axis without need has
        # an effect: the Gaussian filter blurs, nearest neighbours have ties, sizes are not whole.
        filters = [name for name in _FILTER_NAMES if name in self.given]
        touchy = any(name in self.connected or self.values[name] in (INTERP_GAUSSIAN, INTERP_NN) for name in filters)
        self.whole_batch = touchy or (self.value("subpixel_scale") and not self._are_sizes_whole())

    def _are_sizes_whole(self) -> bool:
        """Whether the sizes are whole before they are rounded, whatever the samples."""
        sizes = None if "sizes" in self.connected else self.values["sizes"]
        bounded = self.value("mode") in ("not_larger", "not_smaller") or self.value("max_size") is not None
        return sizes is not None and not bounded and all(size and float(size).is_integer() for size in sizes)

    def plan(self, call: Call, images: Batch) -> Resampling:
        return self._plan(call, images)[0]

    def _plan(self, call: Call, images: Batch) -> tuple[Resampling, list[int]]:
        """Region and size along each axis, and the axes to resample."""
        chosen = chosen_axes(call, images)
        axes = list(range(images.ndim)) if chosen is None else chosen
        extents = images.shapes.astype(np.float64)
        low, high = np.zeros_like(extents), extents.copy()
        if self.has("roi_start"):
            for name, table in (("roi_start", low), ("roi_end", high)):
                values = call.vectors(name, len(axes)).astype(np.float64)
                if self.value("roi_relative"):
                    values = (values * extents[:, axes]).astype(np.float32).astype(np.float64)
                table[:, axes] = values
        region = np.abs(high - low)
        wanted = region.copy()
        if self.has("sizes"):
            wanted[:, axes] = call.vectors("sizes", len(axes))
        else:
            # The product is rounded to float32, which decides where it lies half-way.
            wanted[:, axes] = call.vectors("scales", len(axes)) * extents[:, axes].astype(np.float32)
        given_by = "sizes" if self.has("sizes") else "scales"
        call.refuse(~np.isfinite(wanted), "the size {} is not finite", wanted, argument=given_by)
        limits = None
        if self.value("max_size") is not None:
            given = self.value("max_size")
            if len(given) not in (1, len(axes)):
                raise call.problem(f"takes 1 or {len(axes)} values, got {len(given)}", argument="max_size")
            limits = np.full_like(extents, np.inf)
            limits[:, axes] = np.asarray(given)
        exact = adjusted_sizes(wanted, high - low, self.value("mode"), limits)
        # With a region, axes that are not named keep their starts.
        alignment = np.full_like(extents, 0.0 if self.has("alignment") else 0.5)
        alignment[:, axes] = call.vectors("alignment", len(axes))
        size = np.where(images.shapes > 0, np.maximum(self._rounded(np.abs(exact)), 1.0), 0.0)
        call.refuse(size > LARGEST_SAMPLE, "the size {} is too large", size, argument=given_by)
        passed = _passed((size != extents) | (exact < 0) | (low != 0) | (high != extents), self.whole_batch)
        flip = exact < 0
        low, high = np.where(flip, high, low), np.where(flip, low, high)
        if self.value("subpixel_scale"):
            low, high = scaled_alike(low, high, size, np.where(passed, np.abs(exact), size), alignment)
        used = passed if self.whole_batch else (size != extents) | (low != 0) | (high != extents)
        # An axis that one sample needs is resampled in all: the grouping of axes shows in how halves are rounded.
        changed = set(np.flatnonzero(used.any(axis=0)).tolist())
        notes = call.note(changed)
        if not set(axes) <= set().union(*notes):
            notes += call.gathered()
        return Resampling(low, high, size.astype(np.int64)), self._all_passed(set().union(*notes), images.ndim)

    def _all_passed(self, changed: set[int], ndim: int) -> list[int]:
        """The axes to resample, with unchanged ones between them, which affect the order of passes.

        Lanczos' filter is not quite zero at whole distances, so that resampling an axis without need shows.
        """
        alike = np.isin(np.arange(ndim), list(changed))
        exact = all(self.values[name] != INTERP_LANCZOS3 for name in _FILTER_NAMES if name in self.given)
        if not changed or (exact and max(changed) - min(changed) < MOST_AXES - 1):
            return sorted(changed)
        return np.flatnonzero(_passed(alike[None], True)[0]).tolist()

    def run(self, call: Call, data: Batch) -> Batch:
        dtype = call.result_type(data, (FLOAT,))
        plan, axes = self._plan(call, data)
        out = call.allocate(plan.size, dtype, data.layout)
        shrink, grow = self.filters(call)
        if not axes:
            if call.gpu is None:
                return converted(data, dtype, out)
            kinds = (data.kind, numpy_dtype(dtype))
            call.kernels("casting").cast(data.addresses, out.addresses, data.sizes, *kinds)
            return out
        source, shapes = data, data.shapes.copy()
        while axes:
            together = _together(axes)
            del axes[-len(together) :]
            before = _as_images(shapes, together)
            shapes[:, together] = plan.size[:, together]
            target = out if not axes else call.scratch(shapes, FLOAT)
            resize_along(call, len(together))(
                source.addresses,
                target.addresses,
                before,
                _as_images(shapes, together),
                _region(plan, together, before),
                shrink,
                grow,
                bool(self.value("antialias")),
                source.kind,
                target.kind,
            )
            source = target
        return out

    def _rounded(self, exact: Table) -> Table:
        rounding = self.value("size_rounding")
        if rounding == "truncate":
            return np.floor(exact)
        return np.ceil(exact) if rounding == "ceil" else np.floor(exact + 0.5)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        two: dict[str, Any] = {"axis_names": "HW"}
        options: tuple[dict[str, Any], ...] = (
            {"sizes": (20, 33, 3)},
            {"sizes": (20, 33, 5)},
            {"sizes": (4,)},
            {"sizes": (20, 33), "axes": (0, 1)},
            {"sizes": (20, 33), "axes": (1, 0)},
            {"sizes": (20, 33), "axes": (0, -1)},
            {"sizes": (20, 33), "axis_names": "WH"},
            {"sizes": (7,), "axis_names": "C"},
            {"sizes": (-20, 33), **two},
            {"sizes": (20.4, 0), **two},
            {"sizes": (20, 0), "mode": "stretch", **two},
            {"sizes": (20, 60), "mode": "not_larger", **two},
            {"sizes": (20, 60), "mode": "not_smaller", **two},
            {"sizes": (40, 0), "mode": "not_smaller", "max_size": (30, 30), **two},
            {"sizes": (40, 33), "max_size": (30,), **two},
            {"scales": (0.5, 2.0), **two},
            {"scales": (0.7,), **two},
            {"scales": (0.71, 1.37), "size_rounding": "truncate", **two},
            {"scales": (0.71, 1.37), "size_rounding": "ceil", **two},
            {"scales": (0.71, 1.37), "subpixel_scale": False, **two},
            {"scales": (0.71, 1.37), "alignment": (0.0, 1.0), **two},
            {"scales": (0.71, -1.37), "alignment": (0.3,), **two},
            {"scales": (0.0, 1.5), **two},
            {"sizes": (20, 33), "roi_start": (3.5, 4), "roi_end": (20, 15), **two},
            {"scales": (0.8, 1.9), "roi_start": (0.1, 0.9), "roi_end": (0.8, 0.2), "roi_relative": True, **two},
            {"sizes": (20, 33), "interp_type": INTERP_NN, **two},
            {"sizes": (20, 60), "min_filter": INTERP_CUBIC, "mag_filter": INTERP_LANCZOS3, **two},
            {"sizes": (20, 33), "antialias": False, **two},
        )
        for arguments in options:
            yield Case((pictures,), arguments)
        yield Case((pictures,), {"scales": (0.7,), "dtype": FLOAT, **two})
        for dtype in (np.uint16, np.int16):
            yield Case((samples.pictures(dtype=dtype),), {"scales": (0.7, 1.2), **two})
        sizes = PerSample.of((10, 20), (33, 12), (17.4, 60))
        yield Case((pictures,), {"sizes": sizes, **two})
        rows = samples.tensors(((30,), (41,), (5,)))
        yield Case((rows,), {"scales": (1.7,)})
        yield Case((rows,), {"scales": (2.5,), "interp_type": INTERP_NN})
        deep = samples.tensors(((3, 4, 9, 11, 2), (2, 3, 12, 5, 3), (1, 2, 7, 7, 4)))
        yield Case((deep,), {"scales": (1.5, 0.5, 2.0), "axes": (1, 2, 3)})
        yield Case((deep,), {"scales": (1.5, 0.5), "axes": (1, 3)})
        yield Case((samples.volumes(),), {"scales": (0.6, 1.4, 1.3), "axis_names": "DHW"})
        for filters in (INTERP_LANCZOS3, INTERP_CUBIC):
            exact = {"dtype": FLOAT, "interp_type": filters}
            yield Case((deep,), {"scales": (1.5, 0.5), "axes": (0, 2), **exact})
            yield Case((pictures,), {"scales": (1.3,), "axes": (0,), **exact})
            region = {"roi_start": (0.21, 0.93), "roi_end": (0.58, 0.26), "roi_relative": True, "axis_names": "HW"}
            yield Case((pictures,), {"scales": (0.8, 1.9), **region, **exact})
        yield Case((rows,), {"scales": (0.7,), "alignment": (0.9,)})
        flat = samples.tensors(((25, 22), (7, 19), (12, 12)))
        yield Case((flat,), {"sizes": (11.0,), "axes": (1,), "mode": "not_larger", "alignment": (0.9,)})
        yield Case((samples.planar(),), {"scales": (0.6, 1.4), **two})
        empty = ([np.zeros(shape, np.uint8) for shape in ((0, 5, 3), (4, 0, 3), (0, 0, 3), (4, 5, 0))], "HWC")
        yield Case((empty,), {"sizes": (6, 4, 3)})
        yield Case((empty,), {"scales": (0.5, 2.0), **two})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        pictures = samples.pictures()
        two = {"axis_names": "HW"}
        yield ErrorCase((pictures,), words=("sizes", "scales"))
        yield ErrorCase((pictures,), {"sizes": (3, 3, 3), "scales": (1.0,)}, words=("scales", "excludes 'sizes'"))
        yield ErrorCase((pictures,), {"sizes": (3, 3)}, words=("sizes", "list of 3 elements"))
        yield ErrorCase((pictures,), {"sizes": (1e30, 3), **two}, words=("sizes", "too large"))
        yield ErrorCase((pictures,), {"sizes": (3,), "axes": (5,)}, words=("axes", "5"))
        yield ErrorCase((pictures,), {"sizes": (3,), "axes": (0,), "axis_names": "H"}, words=("axis_names",))
        yield ErrorCase((pictures,), {"scales": (1.0,), "mode": "not_larger"}, words=("mode", "scales"))


def _passed(changed: npt.NDArray[np.bool_], together: bool) -> npt.NDArray[np.bool_]:
    """The axes that NVIDIA DALI resamples in each sample: from the first that changes to the last, but at least two.

    With `together`, the axes are those of all samples, as in NVIDIA DALI.
    """
    if together:
        changed = np.broadcast_to(changed.any(axis=0), changed.shape)
    ndim = changed.shape[1]
    some = changed.any(axis=1)
    first = np.where(some, changed.argmax(axis=1), max(ndim - 2, 0))
    last = np.where(some, ndim - 1 - changed[:, ::-1].argmax(axis=1), ndim - 1)
    last = np.where((first == last) & (last + 1 < ndim), last + 1, last)
    first = np.where((first == last) & (first > 0), first - 1, first)
    axes = np.arange(ndim)
    between = (axes >= first[:, None]) & (axes <= last[:, None])
    return np.where((last - first < MOST_AXES)[:, None], between, changed)


def _together(axes: list[int]) -> list[int]:
    """The axes that are resampled at once, from the last: all three if adjacent, else two adjacent ones, or one."""
    if len(axes) == MOST_AXES and axes[-1] - axes[0] == MOST_AXES - 1:
        return axes[:]
    return axes[-2:] if len(axes) > 1 and axes[-1] == axes[-2] + 1 else axes[-1:]


def _as_images(shapes: npt.NDArray[np.int64], axes: list[int]) -> npt.NDArray[np.int64]:
    """Samples as images or volumes: frames, depth, height, width and channels, as NVIDIA DALI takes them.

    A single axis becomes the height of images as wide as all later axes; the last one becomes the width of single rows.
    """
    one = np.ones(len(shapes), np.int64)
    outer, inner = shapes[:, : axes[0]].prod(axis=1), shapes[:, axes[-1] + 1 :].prod(axis=1)
    if len(axes) > 1:
        return np.column_stack([outer, shapes[:, axes], inner])
    if axes[0] == shapes.shape[1] - 1:
        return np.column_stack([outer, one, shapes[:, axes[0]], one])
    return np.column_stack([outer, shapes[:, axes[0]], inner, one])


def _region(plan: Resampling, axes: list[int], images: npt.NDArray[np.int64]) -> Table:
    """Starts and then ends of the region; `images` is what :func:`_as_images` gives of the source."""
    if len(axes) > 1:
        return np.concatenate([plan.low[:, axes], plan.high[:, axes]], axis=1)
    region = np.zeros((len(images), 4))
    region[:, 2:] = images[:, 1:3]
    place = 1 if axes[0] == plan.low.shape[1] - 1 else 0
    region[:, place], region[:, place + 2] = plan.low[:, axes[0]], plan.high[:, axes[0]]
    return region
