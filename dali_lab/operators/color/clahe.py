"""Equalises histograms locally, with limited contrast."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, flag, register, samples
from dali_lab.schema.presets import integer, number


def _tiles(name: str, direction: str) -> Arg:
    return integer(
        name,
        REQUIRED,
        f"Number of tiles across the {direction}.",
        minimum=1,
        maximum=1024,
        important=True,
        slider=(None, 16),
    )


@register
class Clahe(Operator):
    """Equalises the histogram of each tile of an image, with limited contrast (CLAHE).

    A level that is more frequent in a tile than `clip_limit` times the mean gives the rest to all levels, which
    keeps noise from being amplified; between the middles of tiles their tables are interpolated. With `luma_only`
    the lightness of RGB images is equalised (in CIELAB), else each channel.
    """

    name = "clahe"
    title = "CLAHE"
    inputs = (
        Input(
            "data",
            dtypes=(UINT8,),
            layouts=("HWC",),
            doc="Images of UINT8 with one channel, or three: red, green, blue.",
        ),
    )
    outputs = (Output("data", doc="The result, with the shape, type and layout of the input."),)
    frames = True
    on_gpu = True
    arguments = (
        _tiles("tiles_x", "width"),
        _tiles("tiles_y", "height"),
        number(
            "clip_limit",
            REQUIRED,
            "How many times as frequent as the mean a level may be; 0 sets no limit.",
            important=True,
            slider=(0.0, 10.0, 0.1),
        ),
        integer("bins", 256, "Kept for programs that set it: there are 256 levels.", minimum=1, advanced=True),
        flag("luma_only", "Equalise the lightness of RGB images rather than their channels.", default=True),
    )
    example = ">>> fn.clahe(images, tiles_x=8, tiles_y=8, clip_limit=2.0)"
    differs = "Sequences are taken as well."

    def run(self, call: Call, data: Batch) -> Batch:
        call.refuse(~np.isin(data.shapes[:, 2], (1, 3)), "takes 1 or 3 channels, got {:x}", data.shapes)
        call.refuse(data.sizes == 0, "takes images that are not empty, got {:x}", data.shapes)
        out = call.allocate(data.shapes, UINT8, data.layout)
        tiles = (self.value("tiles_x"), self.value("tiles_y"))
        for channels in np.unique(data.shapes[:, 2]).tolist():
            chosen = data.shapes[:, 2] == channels
            call.kernels("clahe").clahe(
                data.addresses[chosen], out.addresses[chosen], data.shapes[chosen, :2], channels, tiles,
                self.value("clip_limit"), channels == 3 and self.value("luma_only"),
            )  # fmt: skip
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures, gray = samples.pictures(), samples.pictures(channels=1)
        some = {"tiles_x": 4, "tiles_y": 3, "clip_limit": 2.0}
        for change in ({}, {"clip_limit": 40.0}, {"clip_limit": 1.0}, {"tiles_x": 1, "tiles_y": 1}, {"tiles_x": 50}):
            yield Case((pictures,), {**some, **change})
            yield Case((gray,), {**some, **change})
            yield Case((pictures,), {**some, **change, "luma_only": False})
        yield Case((gray,), {**some, "clip_limit": 0.0})
        yield Case((gray,), {**some, "bins": 128})
        yield Case((samples.pictures(((1, 1), (1, 9), (17, 2))),), some)
        yield Case((([samples.noise((33, 47, 3), seed=seed) for seed in range(3)], "HWC"),), some)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        some = {"tiles_x": 4, "tiles_y": 4, "clip_limit": 2.0}
        yield ErrorCase((samples.pictures(channels=2),), some, words=("1 or 3 channels", "2"))
        yield ErrorCase((samples.pictures(((4, 5), (0, 5), (4, 5))),), some, words=("empty", "sample 1", "0 x 5 x 3"))
