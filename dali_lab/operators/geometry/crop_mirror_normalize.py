"""Crops, mirrors and normalises in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.batch.batch import Batch
from dali_lab.operators.geometry.windows import (
    CROP,
    FILL_VALUES,
    OUT_OF_BOUNDS,
    ROUNDING,
    Windowed,
    Windows,
    crop_windows,
    verify_crop,
    within,
)
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Output, register, samples
from dali_lab.schema.operator import PerSample
from dali_lab.types import FLOAT, FLOAT16, INT8, INT64, UINT8, numpy_dtype

NORMALIZATION = (
    Arg(
        "mean",
        "float",
        (0.0,),
        "Mean to subtract, one value or one for each channel.",
        vector=True,
        tensor=True,
        important=True,
    ),
    Arg(
        "std",
        "float",
        (1.0,),
        "Standard deviation to divide by, one value or one for each channel.",
        vector=True,
        tensor=True,
        important=True,
    ),
    Arg("scale", "float", 1.0, "Factor of the normalised values."),
    Arg("shift", "float", 0.0, "Added to the normalised values."),
)


@register
class CropMirrorNormalize(Windowed):
    """Cuts a window out of images, mirrors it, normalises it, and puts the channels where they are wanted.

    ``out = scale · (in − mean) / std + shift``. The default layout of the result is CHW, the default type FLOAT.
    """

    name = "crop_mirror_normalize"
    family = "geometry"
    title = "Crop, mirror and normalise"
    inputs = (Input("data", layouts=("HWC", "CHW", "DHWC", "CDHW"), doc="Images, volumes or sequences."),)
    outputs = (Output("data"),)
    devices = ("cpu", "gpu")
    frames = True
    arguments = (
        *CROP,
        Arg(
            "mirror",
            "int",
            0,
            "Mirror left and right where it is not zero.",
            tensor=True,
            widget="switch",
            important=True,
        ),
        *NORMALIZATION,
        Arg("dtype", "dtype", FLOAT, "Type of the result: FLOAT, FLOAT16, UINT8 or INT8."),
        Arg("output_layout", "layout", "CHW", "Order of the axes of the result."),
        Arg("pad_output", "bool", False, "Add channels of zeros up to the next power of two."),
        ROUNDING,
        OUT_OF_BOUNDS,
        FILL_VALUES,
        Arg("image_type", "image_type", None, "", removed=True),
        Arg("output_dtype", "dtype", None, "", renamed_to="dtype"),
    )
    example = """
    >>> fn.crop_mirror_normalize(images, crop=(224, 224), mirror=fn.random.coin_flip(),
    ...                          mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
    ...                          std=[0.229 * 255, 0.224 * 255, 0.225 * 255])
    """

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        verify_crop(values, connected)

    def setup(self) -> None:
        if self.value("dtype") not in (FLOAT, FLOAT16, UINT8, INT8):
            raise self.fail(f"is FLOAT, FLOAT16, UINT8 or INT8, not {self.value('dtype').name}", "dtype")

    def run(self, call: Call, data: Batch) -> Batch:
        layout = self.output_layout(call, data)
        windows, _ = within(call, crop_windows(call, data.shapes, data.layout), data.shapes)
        channels = int(data.shapes[0, data.layout.index("C")]) if len(data) else 1
        wide = self.padded_channels(channels)
        if "D" in data.layout:
            return self._volumes(call, data, windows, layout, channels, wide)
        extent = {letter: windows.shape[:, axis] for axis, letter in enumerate(data.layout)}
        extent["C"] = np.full(len(data), wide)
        out = call.allocate(np.stack([extent[letter] for letter in layout], axis=1), self.value("dtype"), layout)
        self._kernel(call, data, windows, out, channels, wide, np.ones(len(data), np.int64))
        return out

    def output_layout(self, call: Call, data: Batch) -> str:
        wanted = str(self.value("output_layout"))
        if wanted.startswith("F") and "F" not in data.layout:
            wanted = wanted[1:]
        if not wanted:
            return data.layout
        if wanted == "CHW" and "D" in data.layout and "output_layout" not in self.given:
            wanted = "CDHW"
        if sorted(wanted) != sorted(data.layout):
            raise call.problem(f"{wanted!r} is no order of the axes of {data.layout!r}", argument="output_layout")
        return wanted

    def padded_channels(self, channels: int) -> int:
        """Channels of the result."""
        return 1 << (channels - 1).bit_length() if self.value("pad_output") else channels

    def normalization(self, call: Call, channels: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        from dali_lab.kernels.cpu import normalize

        mean = call.vectors("mean", channels)
        std = call.vectors("std", channels)
        return normalize.normalization(mean, std, self.value("scale"), self.value("shift"))

    def _kernel(
        self,
        call: Call,
        data: Batch,
        windows: Windows,
        out: Batch,
        channels: int,
        wide: int,
        frames: npt.NDArray[np.int64],
    ) -> None:
        from dali_lab.kernels.cpu import normalize

        letters = data.layout
        height, width = letters.index("H"), letters.index("W")
        mean, inverse = self.normalization(call, channels)
        fill = np.asarray(self.value("fill_values"), np.float64)
        if fill.size > 1:
            fill = np.asarray(self.fill_values(channels), np.float64)
        normalize.crop_mirror_normalize(
            data.addresses,
            out.addresses,
            np.stack([frames, data.shapes[:, height], data.shapes[:, width], np.full(len(data), channels)], axis=1),
            np.stack(
                [windows.start[:, height], windows.start[:, width], windows.shape[:, height], windows.shape[:, width]],
                axis=1,
            ),
            call.numbers("mirror", np.int64),
            mean,
            inverse,
            numpy_dtype(data.dtype),
            numpy_dtype(out.dtype),
            out_channels=wide,
            planar_src=letters.startswith("C"),
            planar_dst=out.layout.startswith("C"),
            fill=fill.reshape(1, -1),
        )

    def _volumes(self, call: Call, data: Batch, windows: Windows, layout: str, channels: int, wide: int) -> Batch:
        """Volumes: the window is cut and its channels put last, then depth counts as frames."""
        from dali_lab.kernels.cpu import copy

        last = "DHWC"
        order = tuple(data.layout.index(letter) for letter in last)
        shape = windows.shape[:, order]
        cut = Batch.allocate(shape, data.dtype, last)
        copy.copy_window(
            data.addresses, cut.addresses, data.shapes, windows.start, windows.shape, data.itemsize, order=order
        )
        padded = shape.copy()
        padded[:, 3] = wide
        flat = Windows(np.zeros_like(shape), shape)
        if layout == last:
            out = call.allocate(padded, self.value("dtype"), layout)
            self._kernel(call, cut, flat, out, channels, wide, shape[:, 0])
            return out
        normal = Batch.allocate(padded, self.value("dtype"), last)
        self._kernel(call, cut, flat, normal, channels, wide, shape[:, 0])
        back = tuple(last.index(letter) for letter in layout)
        out = call.allocate(padded[:, back], self.value("dtype"), layout)
        copy.transpose(normal.addresses, out.addresses, padded, back, out.itemsize)
        return out

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        mean, std = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
        mirror = PerSample([np.int32(v) for v in (1, 0, 1)])
        for arguments in (
            {},
            {"crop": (20, 15)},
            {"crop": (20, 15), "mirror": 1, "mean": mean, "std": std},
            {"crop": (20, 15), "mirror": mirror, "mean": mean, "std": std, "output_layout": "HWC"},
            {"mean": (100.0,), "std": (50.0,), "scale": 64.0, "shift": 128.0, "dtype": UINT8},
            {"mean": mean, "std": std, "dtype": FLOAT16},
            {"mean": mean, "std": std, "scale": 20.0, "dtype": INT8},
            {"crop": (20, 15), "pad_output": True},
            {"crop": (20, 15), "pad_output": True, "output_layout": "HWC", "mean": mean},
            {"crop": (60, 15), "out_of_bounds_policy": "pad", "fill_values": (0.5,)},
            {
                "crop": (60, 15),
                "out_of_bounds_policy": "pad",
                "fill_values": (1.0, 2.0, 3.0),
                "mirror": 1,
                "crop_pos_y": 0.0,
            },
            {"crop": (60, 15), "out_of_bounds_policy": "trim_to_shape"},
            {"crop": (20, 15), "crop_pos_x": PerSample([np.float32(v) for v in (0, 0.3, 1)])},
        ):
            yield Case((pictures,), arguments)
        means = PerSample([np.array(row, np.float32) for row in ((1, 2, 3), (4, 5, 6), (7, 8, 9))])
        yield Case((pictures,), {"mean": means, "std": means})
        yield Case(
            (samples.pictures(dtype=np.float32),), {"crop": (10, 10), "mean": (0.5,), "std": (0.25,), "mirror": 1}
        )
        yield Case((samples.pictures(dtype=np.int16),), {"mean": (500.0,), "std": (1000.0,)})
        yield Case((samples.planar(),), {"crop": (10, 12), "mean": mean, "std": std, "mirror": mirror})
        yield Case((samples.planar(),), {"crop": (10, 12), "output_layout": "HWC"})
        yield Case((samples.pictures(channels=1),), {"crop": (10, 12)})
        yield Case((samples.sequences(),), {"crop": (10, 12), "mirror": 1, "output_layout": "FCHW"})
        yield Case((samples.sequences(),), {"crop": (10, 12), "output_layout": "FHWC", "mean": mean})
        yield Case((samples.volumes(),), {"crop": (3, 8, 7), "mirror": 1, "output_layout": "CDHW"})
        yield Case((samples.volumes(),), {"crop": (3, 8, 7), "output_layout": "DHWC", "mean": (10.0,)})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"crop": (100, 10)}, words=("sample 0", "out_of_bounds_policy"))
        yield ErrorCase((samples.pictures(),), {"mean": (1.0, 2.0)}, words=("mean", "3 values"))
        yield ErrorCase((samples.pictures(),), {"output_layout": "XYZ"}, words=("output_layout", "XYZ"))
        yield ErrorCase((samples.pictures(),), {"dtype": INT64}, words=("dtype", "INT64"))
