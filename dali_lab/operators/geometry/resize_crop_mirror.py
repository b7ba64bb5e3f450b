"""Resizes, crops and mirrors in one pass."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import INTERP_NN
from dali_lab.operators.geometry.resizing import FILTERS, RESIZE, SIZES, Resampling, Resizing, extents_of, resampling
from dali_lab.operators.geometry.windows import CROP, CROPPING, ROUNDING, crop_windows
from dali_lab.schema import Call, Case, PerSample, integer, register, samples


@register
class ResizeCropMirror(Resizing):
    """Resizes images, cuts a window out of the result, and mirrors it; only the window is computed.

    Where the window leaves the resized image, the edge of the image is repeated.

    As in NVIDIA DALI, `mirror` means the axes that it names where the spatial axes come first (``HWC``, ``DHWC``);
    behind a leading axis (``CHW``, ``FHWC``) each of its bits mirrors the axis before.
    """

    name = "resize_crop_mirror"
    takes_undecoded = True
    title = "Resize, crop and mirror"
    arguments = (
        *SIZES,
        *CROP,
        ROUNDING,
        integer(
            "mirror",
            0,
            "Mirror: 1 left and right, 2 top and bottom, 4 front and back, and their sums.",
            tensor=True,
            minimum=0,
            maximum=7,
        ),
        *FILTERS,
    )
    rules = (*RESIZE, *CROPPING)
    start = {"resize_shorter": 256.0, "crop": [224, 224]}
    example = ">>> fn.resize_crop_mirror(images, resize_shorter=256, crop=[224, 224], mirror=fn.random.coin_flip())"

    def run(self, call: Call, images: Batch) -> Batch:
        return self.resample(call, images, self.plan(call, images))

    def plan(self, call: Call, images: Batch) -> Resampling:
        extents = extents_of(images)
        plan = resampling(call, extents, bool(self.value("subpixel_scale")))
        letters = "".join(letter for letter in images.layout if letter in "DHW")
        windows = crop_windows(call, plan.size, letters)
        # Regions are float32 in NVIDIA DALI, their ends and their length; values computed from them are not.
        start, end = plan.low.astype(np.float32), plan.high.astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (end - start).astype(np.float64) / plan.size
        low = start.astype(np.float64) + step * windows.start
        high = start.astype(np.float64) + step * (windows.start + windows.shape)
        mirror = call.numbers("mirror", np.int64)
        # NVIDIA DALI counts the bits from the innermost spatial axis and takes that number for an axis of the sample.
        leading = images.layout.index(letters[0])
        for axis in range(len(letters) - leading):
            flip = (mirror & (1 << (len(letters) - 1 - axis - leading))) != 0
            low[:, axis], high[:, axis] = (
                np.where(flip, high[:, axis], low[:, axis]),
                np.where(flip, low[:, axis], high[:, axis]),
            )
        return Resampling(low, high, windows.shape)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield from Case.each(
            (pictures,),
            {"resize_shorter": 30.0, "crop": (20, 24)},
            {"resize_shorter": 30.0, "crop": (20, 24), "mirror": 1},
            {"size": (40, 44), "crop": (31, 17), "mirror": 3, "crop_pos_x": 0.2, "crop_pos_y": 0.9},
            {"resize_x": 50.0, "crop": (12, 30), "interp_type": INTERP_NN},
            {"resize_longer": 30.0},
            {"size": (20, 30), "crop": (30, 24), "mirror": 1},
        )
        yield Case(
            (pictures,), {"resize_shorter": 26.0, "crop": (20, 20), "mirror": PerSample.of(0, 1, 2, dtype=np.int32)}
        )

        for data in (samples.planar(), samples.sequences()):
            for mirror in (1, 2, 3):
                mirrored = {"resize_shorter": 20.0, "crop": (12, 13), "mirror": mirror}
                yield Case((data,), mirrored)
        yield Case((samples.volumes(),), {"size": (6, 10, 12), "crop": (9, 8), "mirror": 5})
