"""Crops, mirrors and normalises in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch, rows_of
from dali_lab.model.conversion import elements
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT8, UINT8
from dali_lab.operators.geometry.windows import (
    CROP,
    CROPPING,
    FILL_VALUES,
    LAYOUTS,
    OUT_OF_BOUNDS,
    PADDING,
    ROUNDING,
    Windowed,
    Windows,
    crop_windows,
    within,
)
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Output, PerSample, flag, numbers, register, samples
from dali_lab.schema.presets import integer, number

NORMALIZATION = (
    numbers("mean", (0.0,), "Mean to subtract, one value or one for each channel.", tensor=True, important=True),
    numbers(
        "std",
        (1.0,),
        "Standard deviation to divide by, one value or one for each channel.",
        tensor=True,
        important=True,
    ),
    number("scale", 1.0, "Factor of the normalised values."),
    number("shift", 0.0, "Added to the normalised values."),
)


class _Planes(NamedTuple):
    """Runs of planes: where each begins, how many planes it has, and the sample that it belongs to."""

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    planes: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64] | slice


@register
class CropMirrorNormalize(Windowed):
    """Cuts a window out of images, mirrors it, normalises it, and puts the channels where they are wanted.

    ``out = scale · (in − mean) / std + shift``. The default layout of the result is CHW, the default type FLOAT.
    """

    name = "crop_mirror_normalize"
    title = "Crop, mirror and normalise"
    inputs = (Input("data", layouts=LAYOUTS, doc="Images, volumes or sequences."),)
    outputs = (Output("data", doc="The window, of `dtype`, in `output_layout`."),)
    start = {"mean": [127.5], "std": [127.5]}
    on_gpu = True
    arguments = (
        *CROP,
        integer(
            "mirror", 0, "Mirror left and right where it is not zero.", tensor=True, widget="switch", important=True
        ),
        *NORMALIZATION,
        Arg("dtype", "dtype", FLOAT, "Type of the result.", choices=(FLOAT, FLOAT16, UINT8, INT8)),
        Arg("output_layout", "layout", "CHW", "Order of the axes of the result."),
        flag(
            "pad_output",
            "Add channels up to the next power of two; of the fill value where windows may be padded, else of 0.",
        ),
        ROUNDING,
        OUT_OF_BOUNDS,
        FILL_VALUES,
        Arg("image_type", "image_type", None, "", removed=True),
        Arg("output_dtype", "dtype", None, "", renamed_to="dtype"),
    )
    rules = CROPPING
    example = """
    >>> fn.crop_mirror_normalize(images, crop=(224, 224), mirror=fn.random.coin_flip(),
    ...                          mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
    ...                          std=[0.229 * 255, 0.224 * 255, 0.225 * 255])
    """

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        return "_resize_normalize"

    def setup(self) -> None:
        self._constants: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def run(self, call: Call, data: Batch) -> Batch:
        copy = call.kernels("copy")
        layout = self.output_layout(call, data)
        windows, _ = within(call, crop_windows(call, data.shapes, data.layout), data.shapes)
        wide = self.padded_channels(int(data.shapes[0, data.layout.index("C")]) if len(data) else 1)
        extent = {letter: windows.shape[:, axis] for axis, letter in enumerate(data.layout)}
        extent["C"] = np.full(len(data), wide)
        out = call.allocate(np.stack([extent[letter] for letter in layout], axis=1), self.value("dtype"), layout)
        # The kernel sees planes: frames and slices first, then HWC or CHW. Other orders are transposed around it.
        outer = "".join(letter for letter in data.layout if letter not in "HWC")
        by_planes = (outer + "HWC", outer + "CHW")
        order = tuple(data.layout.index(letter) for letter in by_planes[0])
        if data.layout not in by_planes:
            source = call.scratch(data.shapes[:, order], data.dtype, by_planes[0])
            copy.transpose(data.addresses, source.addresses, data.shapes, order, data.itemsize)
            windows = Windows(windows.start[:, order], windows.shape[:, order])
            data = source
        if layout in by_planes:
            self._planes(call, data, windows, out, wide)
            return out
        shapes = np.stack([extent[letter] for letter in by_planes[0]], axis=1)
        normal = call.scratch(shapes, out.dtype, by_planes[0])
        self._planes(call, data, windows, normal, wide)
        back = tuple(by_planes[0].index(letter) for letter in layout)
        copy.transpose(normal.addresses, out.addresses, shapes, back, out.itemsize)
        return out

    def output_layout(self, call: Call, data: Batch) -> str:
        wanted = str(self.value("output_layout"))
        if not wanted:
            return data.layout
        if wanted in ("HWC", "CHW"):
            # Frames and slices stay where they are, outside.
            outer = "".join(letter for letter in data.layout if letter not in "HWC")
            wanted = "C" + outer + "HW" if wanted == "CHW" and outer == "D" else outer + wanted
        if sorted(wanted) != sorted(data.layout):
            raise call.problem(
                f"The requested output layout is not a permutation of input layout: {wanted!r}, {data.layout!r}",
                argument="output_layout",
            )
        return wanted

    def padded_channels(self, channels: int) -> int:
        """Channels of the result."""
        return 1 << (channels - 1).bit_length() if self.value("pad_output") else channels

    def normalization(self, call: Call, channels: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Mean and inverse deviation of each sample, ``float32[N, channels]``, not to be written to."""
        from dali_lab.kernels.cpu import normalize

        constant = "mean" not in call.batches and "std" not in call.batches
        known = self._constants.get(channels) if constant else None
        if known is None or len(known[0]) < call.count:
            if constant and not len(self.value("mean")) and not len(self.value("std")):
                # In NVIDIA DALI too, values stay as they are, without `scale` and `shift`. One empty list is refused.
                plain = np.zeros((call.count, channels), np.float32)
                known = normalize.normalization(plain, plain + 1, 1.0, 0.0)
            else:
                mean, std = call.vectors("mean", channels), call.vectors("std", channels)
                known = normalize.normalization(mean, std, self.value("scale"), self.value("shift"))
            if constant:
                self._constants[channels] = known
        mean, inverse = known
        return mean[: call.count], inverse[: call.count]

    def _planes(self, call: Call, data: Batch, windows: Windows, out: Batch, wide: int) -> None:
        """Cut, mirror and normalise planes: samples of any outer axes, then HWC or CHW."""
        outer = data.layout[:-3]
        channels = int(data.shapes[0, data.layout.index("C")]) if len(data) else 1
        # Only windows that may leave the sample have a filling; channels that are added are 0 otherwise.
        pads = self.value("out_of_bounds_policy") in PADDING
        fill = np.asarray(self.value("fill_values") if pads else (0.0,), np.float64)
        if fill.size > 1:
            # Channels that are added take the one value there is, or 0 where each channel has its own.
            fill = np.concatenate([self.fill_values(channels), np.zeros(wide - channels)])
        mean, inverse = self.normalization(call, channels)
        table = _Planes(
            data.addresses,
            out.addresses,
            windows.shape[:, : len(outer)].prod(axis=1) if outer else np.ones(len(data), np.int64),
            slice(None),
        )
        depth = len(outer) - 1
        if depth >= 0 and (windows.shape[:, depth] != data.shapes[:, depth]).any():
            table = self._slices(call, data, windows, out, fill)
        owner = table.owner
        axes = slice(data.layout.index("H"), data.layout.index("W") + 1)  # HWC or CHW
        sources, cuts = np.empty((2, len(table.source), 4), np.int64)
        sources[:, 0], sources[:, 1:3], sources[:, 3] = table.planes, data.shapes[owner][:, axes], channels
        cuts[:, :2], cuts[:, 2:] = windows.start[owner][:, axes], windows.shape[owner][:, axes]
        call.kernels("normalize").crop_mirror_normalize(
            table.source,
            table.target,
            sources,
            cuts,
            call.numbers("mirror", np.int64)[owner],
            mean[owner],
            inverse[owner],
            data.kind,
            out.kind,
            out_channels=wide,
            planar_src=data.layout[-3] == "C",
            planar_dst=out.layout[-3] == "C",
            fill=fill.reshape(1, -1),
        )

    def _slices(self, call: Call, data: Batch, windows: Windows, out: Batch, fill: npt.NDArray[np.float64]) -> _Planes:
        """The planes of volumes or sequences that lose or gain slices; those that are gained are filled."""
        copy = call.kernels("copy")
        depth = len(data.layout) - 4
        start, size, extent = windows.start[:, depth], windows.shape[:, depth], data.shapes[:, depth]
        first, last = np.maximum(start, 0), np.minimum(start + size, extent)
        if (last - first != size).any():
            channel = out.layout.index("C")
            beyond = np.broadcast_to(np.iinfo(np.int32).max, data.shapes.shape)
            copy.copy_window(
                data.addresses, out.addresses, data.shapes, beyond, out.shapes, out.itemsize,
                fill=elements(fill, out.dtype), fill_axis=channel if fill.size > 1 else -1,
            )  # fmt: skip
        # Each volume of a sequence is a row of the table.
        owner, frame = rows_of(data.shapes[:, :depth].prod(axis=1))
        here = data.shapes[:, depth + 1 :].prod(axis=1) * data.itemsize
        there = out.shapes[:, depth + 1 :].prod(axis=1) * out.itemsize
        return _Planes(
            data.addresses[owner] + (frame * extent[owner] + first[owner]) * here[owner],
            out.addresses[owner] + (frame * size[owner] + (first - start)[owner]) * there[owner],
            np.maximum(last - first, 0)[owner],
            owner,
        )

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        mean, std = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
        mirror = PerSample.of(1, 0, 1, dtype=np.int32)
        yield from Case.each(
            (pictures,),
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
            {"crop": (60, 15), "out_of_bounds_policy": "constant", "fill_values": (0.5,)},
            {"crop": (20, 15), "crop_pos_x": PerSample.of(0, 0.3, 1)},
        )
        means = PerSample.of((1, 2, 3), (4, 5, 6), (7, 8, 9))
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
        deep = {"crop": (6, 8, 11), "out_of_bounds_policy": "pad", "fill_values": (9.0,), "mean": (10.0,)}
        yield Case((samples.volumes(),), {**deep, "output_layout": "DHWC"})
        yield Case((samples.volumes(channels=2),), {**deep, "output_layout": "WCHD", "mirror": 1})
        yield Case((samples.sequences(),), {"output_layout": "CFHW", "mean": mean, "mirror": 1})
        yield Case((samples.sequences((3, 3, 4)),), {"crop": (2, 12, 14), "output_layout": "FHWC"})
        planes = [np.stack([array] * 2, axis=1) for array in samples.planar()[0]]
        yield Case(((planes, "CFHW"),), {"crop": (12, 14), "output_layout": "FHWC", "std": std})
        for policy in ("error", "pad"):
            padded = {"pad_output": True, "fill_values": (7.0,), "out_of_bounds_policy": policy}
            yield Case((pictures,), padded)

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"crop": (100, 10)}, words=("sample 0", "out_of_bounds_policy"))
        yield ErrorCase((samples.pictures(),), {"mean": (1.0, 2.0)}, words=("mean", "list of 3 elements"))
        yield ErrorCase((samples.pictures(),), {"output_layout": "XYZ"}, words=("output_layout", "XYZ"))
