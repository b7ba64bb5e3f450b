"""Pastes images on a larger canvas."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.schema import REQUIRED, Arg, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import integer, integers, number


def _place(name: str, doc: str) -> Arg:
    return number(name, 0.5, doc, tensor=True, minimum=0.0, maximum=1.0, important=True, slider=(None, None, 0.01))


@register
class Paste(Operator):
    """Pastes images on a larger canvas of one colour.

    The canvas is `ratio` times as large as the image, cut to whole pixels, and no smaller than `min_canvas_size`.
    """

    name = "paste"
    inputs = (Input("data", dtypes=(UINT8,), layouts=("HWC",), doc="Images or sequences of {types}."),)
    outputs = (Output("data", doc="The larger images, with the type, channels and layout of the input."),)
    frames = frames_by_layout = True
    on_gpu = True
    arguments = (
        number(
            "ratio",
            REQUIRED,
            "Extent of the canvas divided by that of the image.",
            tensor=True,
            minimum=1.0,
            refused_as="ratio of less than 1 is not supported, got {:g}",
            important=True,
            slider=(None, 4.0, 0.01),
        ),
        integers(
            "fill_value",
            REQUIRED,
            "Colour of the canvas: one value, or one for each channel.",
            important=True,
            slider=(0, 255),
        ),
        integer("n_channels", 3, "Number of channels.", minimum=1, advanced=True),
        number(
            "min_canvas_size",
            0.0,
            "Least height and width of the canvas.",
            tensor=True,
            unit="px",
            minimum=0.0,
            refused_as="min_canvas_size_ of less than 0 is not supported, got {:g}",
            slider=(None, 1024),
        ),
        _place("paste_x", "Place of the image: 0 at the left, 1 at the right."),
        _place("paste_y", "Place of the image: 0 at the top, 1 at the bottom."),
    )
    start = {"ratio": 1.5, "fill_value": [0]}
    example = ">>> fn.paste(images, ratio=fn.random.uniform(range=(1, 3)), fill_value=(124, 116, 104))"
    differs = "Sequences with a layout are taken too. The channels are those of the images, whatever `n_channels` says."

    def run(self, call: Call, data: Batch) -> Batch:
        ratio = self._checked(call, "ratio", 1.0, np.inf)
        least = self._checked(call, "min_canvas_size", 0.0, np.inf)
        places = [self._checked(call, name, 0.0, 1.0) for name in ("paste_y", "paste_x")]
        colour = np.array(self.value("fill_value"), np.int64)
        channels = data.shapes[:, 2]
        wrong = (channels != colour.size) & (colour.size != 1)
        call.refuse(wrong, f"has {colour.size} values for {{}} channels", channels, argument="fill_value")
        shapes, starts = data.shapes.copy(), np.zeros_like(data.shapes)
        for axis, place in enumerate(places):
            extent = data.shapes[:, axis]
            canvas = np.maximum((extent.astype(np.float32) * ratio).astype(np.int64), least.astype(np.int64))
            shapes[:, axis] = canvas
            starts[:, axis] = -((canvas - extent).astype(np.float32) * place).astype(np.int64)
        out = call.allocate(shapes, UINT8, data.layout)
        fill = colour.astype(np.uint8)
        call.kernels("copy").copy_window(
            data.addresses,
            out.addresses,
            data.shapes,
            starts,
            shapes,
            1,
            fill=fill,
            fill_axis=2 if fill.size > 1 else -1,
        )
        return out

    def _checked(self, call: Call, name: str, low: float, high: float) -> npt.NDArray[np.float32]:
        values = call.numbers(name)
        bounds = f"at least {low:g}" if high == np.inf else f"in [{low:g}, {high:g}]"
        wrong = ~((values >= low) & (values <= high) & (values < np.inf))
        call.refuse(wrong, f"must be {bounds}, got {{:g}}", values, argument=name)
        return values

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        ratios = PerSample.of(1, 1.37, 3.3)
        places = PerSample.of(0, 0.61, 1)
        yield from Case.each(
            (pictures,),
            {"ratio": 1.5},
            {"ratio": 2.7, "paste_x": 0.0},
            {"ratio": 1.3, "paste_x": 1.0, "paste_y": 0.2},
            {"ratio": 1.0, "min_canvas_size": 60.0},
            {"ratio": 1.1, "min_canvas_size": 36.7},
            {"ratio": ratios},
            {"ratio": ratios, "paste_x": places, "paste_y": places},
            {"ratio": 1.337, "paste_x": 0.77, "paste_y": 0.31},
            common={"fill_value": (1, 20, 255)},
        )
        yield Case((pictures,), {"fill_value": (9,), "ratio": 1.5})
        yield Case((pictures,), {"fill_value": (300, -1, 512), "ratio": 1.5})
        yield Case((samples.pictures(channels=1),), {"fill_value": (9,), "ratio": 1.5, "n_channels": 1})
        yield Case((samples.pictures(channels=4),), {"fill_value": (9, 8, 7, 6), "ratio": 1.5, "n_channels": 4})
        yield Case((samples.pictures(((1, 1), (1, 9), (3, 2))),), {"fill_value": (9, 8, 7), "ratio": 2.5})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        some = {"ratio": 1.5, "fill_value": (1, 2, 3)}
        yield ErrorCase((samples.pictures(),), {**some, "fill_value": (1, 2)}, words=("fill_value", "3 channels"))
        few = PerSample.of(1, 0.9, 3.3)
        yield ErrorCase((samples.pictures(),), {**some, "ratio": few}, words=("ratio", "sample 1"))
        yield ErrorCase(([np.zeros((2, 4, 5, 3), np.uint8)] * 3,), some, words=("no layout", "dimensions 4"))
