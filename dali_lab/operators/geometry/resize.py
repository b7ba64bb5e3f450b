"""Resizes images and volumes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import (
    FLOAT,
    INT32,
    INTERP_CUBIC,
    INTERP_GAUSSIAN,
    INTERP_LANCZOS3,
    INTERP_LINEAR,
    INTERP_NN,
    INTERP_TRIANGULAR,
)
from dali_lab.operators.geometry.resizing import FILTERS, RESIZE, SIZES, Resampling, Resizing, extents_of, resampling
from dali_lab.schema import Arg, Call, Case, ErrorCase, Output, PerSample, flag, register, samples


@register
class Resize(Resizing):
    """Resizes images, volumes and sequences to a given size, with any of six filters.

    The filter is separable and, where an axis shrinks, widened so that nothing aliases (`antialias`).
    """

    name = "resize"
    takes_undecoded = True
    arguments = (
        *SIZES,
        *FILTERS,
        flag("save_attrs", "Add a second output: the size of each sample before, in the order of `size`."),
        Arg("image_type", "image_type", None, "", removed=True),
    )
    outputs = (
        *Resizing.outputs,
        Output("sizes", kind="tensor", doc="With `save_attrs`: the size before.", dtype=INT32, when=("save_attrs",)),
    )
    rules = RESIZE
    start = {"resize_shorter": 256.0}
    example = """
    >>> fn.resize(images, size=(224, 224))
    >>> fn.resize(images, resize_shorter=256, interp_type=types.INTERP_CUBIC)
    """

    def plan(self, call: Call, images: Batch) -> Resampling:
        return resampling(call, extents_of(images), bool(self.value("subpixel_scale")))

    def run(self, call: Call, images: Batch) -> Batch | tuple[Batch, ...]:
        result = self.resample(call, images, self.plan(call, images))
        if not self.value("save_attrs"):
            return result
        extents = extents_of(images)
        return result, Batch.dense(extents.astype(np.int32), dtype=INT32)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield from Case.each(
            (pictures,),
            {"size": (20, 30)},
            {"size": (64, 50)},
            {"resize_x": 25.0},
            {"resize_x": 25.0, "resize_y": 60.0},
            {"resize_y": 33.0, "mode": "stretch"},
            {"resize_shorter": 21.0},
            {"resize_shorter": 40.0, "max_size": 50.0},
            {"resize_longer": 26.0},
            {"size": (30, 50), "mode": "not_larger"},
            {"size": (30, 50), "mode": "not_smaller"},
            {"size": (30, 50), "mode": "not_smaller", "max_size": (40, 44)},
            {"resize_shorter": 40.0, "max_size": (0.0, 44.0)},
            {"size": (20, 30), "interp_type": INTERP_NN},
            {"size": (70, 30), "interp_type": INTERP_CUBIC},
            {"size": (20, 60), "interp_type": INTERP_LANCZOS3},
            {"size": (20, 60), "interp_type": INTERP_TRIANGULAR},
            {"size": (20, 60), "interp_type": INTERP_GAUSSIAN},
            {"size": (20, 30), "interp_type": INTERP_LINEAR, "antialias": False},
            {"size": (20, 60), "min_filter": INTERP_CUBIC, "mag_filter": INTERP_NN},
            {"resize_shorter": 19.7, "subpixel_scale": False},
            {"resize_shorter": 19.7},
            {"size": (20, 30), "roi_start": (3.5, 4), "roi_end": (20, 15)},
            {"size": (20, 30), "roi_start": (0.1, 0.9), "roi_end": (0.8, 0.2), "roi_relative": True},
            {"size": (1, 1)},
            {"size": (20, 30), "save_attrs": True},
        )
        yield Case((samples.pictures(channels=1),), {"size": (25, 25)})
        yield Case((samples.pictures(dtype=np.float32),), {"size": (25, 30)})
        yield Case((samples.pictures(dtype=np.uint16),), {"size": (25, 30)})
        for filters in (INTERP_LINEAR, INTERP_CUBIC, INTERP_LANCZOS3, INTERP_TRIANGULAR, INTERP_GAUSSIAN):
            exact = {"dtype": FLOAT, "interp_type": filters}
            yield Case((pictures,), {"size": (25, 30), **exact})
            yield Case((pictures,), {"size": (11, 46), "roi_start": (5.3, 4.1), "roi_end": (19.8, 15.7), **exact})
            shares = {"roi_start": (0.21, 0.93), "roi_end": (0.58, 0.26), "roi_relative": True}
            yield Case((pictures,), {"size": (35, 44), **shares, **exact})
        yield Case((samples.planar(),), {"size": (25, 30)})
        yield Case((samples.sequences(),), {"size": (25, 30)})
        yield Case((samples.volumes(),), {"size": (6, 10, 7)})
        yield Case((samples.volumes(),), {"resize_z": 4.0, "resize_x": 20.0, "mode": "stretch"})
        sizes = PerSample.of((10, 20), (33, 12), (17.4, 60))
        yield Case((pictures,), {"size": sizes})
        widths = PerSample.of(10, 20.5, 33)
        yield Case((pictures,), {"resize_x": widths})
        yield Case((samples.pictures(((1, 1), (1, 9), (7, 1))),), {"size": (5, 4)})
        empty = ([np.zeros(shape, np.uint8) for shape in ((0, 5, 3), (4, 0, 3), (0, 0, 3), (4, 5, 0))], "HWC")
        yield Case((empty,), {"size": (5, 4)})
        yield Case((empty,), {"resize_x": 4.0})
        planes = [np.stack([array] * 2, axis=1) for array in samples.planar()[0]]
        yield Case(((planes, "CFHW"),), {"size": (25, 30)})
        yield Case((samples.sequences()[0],), {"size": (25, 30), "save_attrs": True})
        yield Case((pictures,), {"resize_x": 9.0, "roi_start": (15, 3), "roi_end": (5, 14)})
        volumes = samples.volumes(dtype=np.float32)
        yield Case((samples.volumes(),), {"size": (9, 8, 7), "interp_type": INTERP_GAUSSIAN})
        for size in ((9, 8, 7), (2, 20, 11), (12, 5, -16), (-7, 19, 4)):
            yield Case((volumes,), {"size": size, "min_filter": INTERP_CUBIC, "mag_filter": INTERP_LANCZOS3})
        part = {"roi_start": (0.1, 0.8, 0.2), "roi_end": (0.7, 0.15, 0.9), "roi_relative": True}
        yield Case((samples.volumes(),), {"size": (6, 10, 7), **part})
        yield Case((volumes,), {"size": (6, 10, 7), "interp_type": INTERP_NN, **part})
        yield Case(((volumes[0], "CDHW"),), {"size": (6, 10, 7), "dtype": FLOAT})
        yield Case((([np.stack([array] * 2) for array in volumes[0]], "FDHWC"),), {"resize_shorter": 8.0})
        # Centres that fall between two elements: which one is taken depends on where positions count from.
        yield Case((pictures,), {"size": (9, 18), "interp_type": INTERP_NN, "roi_start": (3, 3), "roi_end": (9, 9)})
        yield Case((pictures,), {"size": (5, 2), "interp_type": INTERP_NN, "roi_start": (4, 1), "roi_end": (12, 7)})
        part = {"roi_start": (1, 2, 3), "roi_end": (5, 6, 7)}
        yield Case((samples.volumes(((8, 9, 10),) * 2),), {"size": (6, 6, 6), "interp_type": INTERP_NN, **part})
        # A flipped size turns the order of columns that are rounded one by one.
        yield Case((samples.volumes(dtype=np.uint16),), {"size": (9, -21, -14), "interp_type": INTERP_CUBIC})
        yield Case((samples.pictures(dtype=np.uint16),), {"size": (50, -37), "interp_type": INTERP_LINEAR})
        flipped = {"roi_start": (0.67, 0.33), "roi_end": (0.4, 0.07), "roi_relative": True}
        for mode in ("not_larger", "not_smaller", "stretch"):
            yield Case((pictures,), {"resize_x": 9.0, "mode": mode, **flipped})
            yield Case((pictures,), {"resize_y": -9.0, "mode": mode, **flipped})
        yield Case((pictures,), {"size": (0.04, 5.0)})
        # Filters are stretched to 8,192 elements and no further.
        long = samples.pictures(((1, 9001), (3, 17000), (2, 30)), channels=1)
        yield Case((long,), {"size": (2, 2), "dtype": FLOAT})
        # Sizes that lie about half-way between two whole ones.
        halves = samples.pictures(((22, 55), (6, 27), (22, 11)))
        for length in (3.0, 7.0, 13.0, 15.0):
            yield Case((halves,), {"resize_y": length})
            yield Case((halves,), {"resize_shorter": length})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), words=("size", "must be given", "resize_x"))
        yield ErrorCase((samples.pictures(),), {"size": (float("nan"), 4)}, words=("nan", "not finite"))
        yield ErrorCase((samples.pictures(),), {"size": (3, 3), "resize_x": 4.0}, words=("resize_x",))
