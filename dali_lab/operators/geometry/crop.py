"""Cuts a window out of each sample, placed by size and position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dali_lab.kernels import streams
from dali_lab.model.batch import Batch
from dali_lab.model.conversion import truncated
from dali_lab.model.dtypes import FLOAT, FLOAT16, INT16, UINT8, DALIDataType, numpy_dtype
from dali_lab.operators.geometry.windows import (
    BORDERS,
    CROP,
    CROPPING,
    FILL_VALUES,
    LAYOUTS,
    OUT_OF_BOUNDS_OR_BORDER,
    PADDING,
    ROUNDING,
    Windowed,
    Windows,
    crop_windows,
    extended,
    is_region,
    within,
)
from dali_lab.schema import Arg, Call, Case, ErrorCase, Input, Output, PerSample, register, samples

WINDOW = (
    OUT_OF_BOUNDS_OR_BORDER,
    FILL_VALUES,
    Arg("dtype", "dtype", None, "Type of the result: that of the input, UINT8, FLOAT16 or FLOAT.", or_no_type=True),
    Arg("image_type", "image_type", None, "", removed=True),
    Arg("output_dtype", "dtype", None, "", renamed_to="dtype"),
)


def cut(call: Call, data: Batch, windows: Windows, operator: Windowed) -> Batch:
    """The windows of the samples, converted to the operator's `dtype`, filled outside the samples."""
    dtype = call.result_type(data, (UINT8, FLOAT16, FLOAT))
    source = data if dtype == data.dtype else _truncated(call, data, dtype)
    out = call.allocate(windows.shape, dtype, data.layout)
    policy = operator.value("out_of_bounds_policy")
    if policy in BORDERS and ((windows.start < 0) | (windows.start + windows.shape > source.shapes)).any():
        extended(call, source, windows, out, BORDERS[policy])
        return out
    axis = data.layout.find("C")
    many = np.size(operator.value("fill_values")) > 1
    if axis < 0 and many:
        axis = data.ndim - 1
    if many and data.layout and len(data) and policy in PADDING:
        operator.fill_values(int(windows.shape[0, axis]))
    kind = numpy_dtype(dtype)
    with np.errstate(over="ignore"):
        fill = streams.truncated(operator.value("fill_values") or (0.0,), kind)
    call.kernels("copy").copy_window(
        source.addresses,
        out.addresses,
        source.shapes,
        windows.start,
        windows.shape,
        source.itemsize,
        fill=fill.view(f"u{kind.itemsize}"),
        fill_axis=axis if fill.size > 1 else -1,
    )
    return out


def _truncated(call: Call, data: Batch, dtype: DALIDataType) -> Batch:
    if call.gpu is None:
        return truncated(data, dtype)
    out = call.scratch(data.shapes, dtype, data.layout)
    kinds = (data.kind, numpy_dtype(dtype))
    call.kernels("casting").truncate(data.addresses, out.addresses, data.sizes, *kinds)
    return out


class Cutting(Windowed):
    """Base of operators that cut a window out of each sample and do nothing else."""

    differs = (
        "Where `dtype` is narrower, elements are kept in its range; NVIDIA DALI wraps those of samples that it pads"
        " with a value for each channel."
    )
    on_gpu = True

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        # Not where the window is padded, or its position is an input.
        inside = values.get("out_of_bounds_policy", "error") in ("error", "trim_to_shape")
        return "_window_chain" if inputs == 1 and inside else ""

    @classmethod
    def on_cpu_only(cls, values: Mapping[str, Any]) -> str:
        policy = values.get("out_of_bounds_policy", "error")
        return f"the border mode '{policy}' has no GPU version" if policy in BORDERS else super().on_cpu_only(values)

    def run(self, call: Call, data: Batch, *place: Batch) -> Batch:
        windows, _ = within(call, self.windows(call, data, *place), data.shapes)
        return cut(call, data, windows, self)

    def windows(self, call: Call, data: Batch, *place: Batch) -> Windows:
        """The window of each sample."""
        raise NotImplementedError


@register
class Crop(Cutting):
    """Cuts a window of a given size out of images, volumes or sequences.

    Where `dtype` changes real numbers to whole ones, fractions are cut off. So are fractions of
    `fill_values`, and numbers beyond the range of the type wrap around.
    """

    name = "crop"
    inputs = (Input("data", layouts=LAYOUTS, doc="Images, volumes or sequences of any type."),)
    outputs = (Output("data", doc="The window, of `dtype`, with the layout of the input."),)
    arguments = (*CROP, ROUNDING, *WINDOW)
    rules = CROPPING
    start = {"crop": [224, 224], "out_of_bounds_policy": "pad"}
    example = ">>> fn.crop(images, crop=(224, 224), crop_pos_x=fn.random.uniform(range=(0, 1)))"

    @classmethod
    def region_decoder(cls, values: Mapping[str, Any], connected: Iterable[str]) -> str:
        return "decoders.image_crop" if is_region(values) else ""

    def windows(self, call: Call, data: Batch, *place: Batch) -> Windows:
        return crop_windows(call, data.shapes, data.layout)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        pictures = samples.pictures()
        yield from Case.each(
            (pictures,),
            {"crop": (12, 14)},
            {"crop": (12.9, 14.2)},
            {"crop": (12, 14), "crop_pos_x": 0.13, "crop_pos_y": 0.91},
            {"crop": (11, 14), "rounding": "truncate"},
            {"crop_h": 9.0, "crop_w": 12.0},
            {"crop": (0, 10)},
            {"crop": (45, 10), "out_of_bounds_policy": "pad", "fill_values": (7,)},
            {"crop": (45, 44), "out_of_bounds_policy": "pad", "fill_values": (1, 2, 255)},
            {"crop": (45, 44), "out_of_bounds_policy": "pad", "fill_values": (7.6, -1.4, 300.7)},
            {"crop": (45, 10), "out_of_bounds_policy": "trim_to_shape"},
            {"crop": (45, 10), "out_of_bounds_policy": "constant", "fill_values": (7,)},
            *(
                {"crop": (61, 90), "out_of_bounds_policy": policy}
                for policy in (*BORDERS, "Const", "reflect1001", "101")
            ),
            {"crop": (61, 90), "out_of_bounds_policy": "wrap", "dtype": FLOAT},
            {"crop": (12, 14), "dtype": FLOAT},
            {"crop": (12, 44), "dtype": FLOAT, "out_of_bounds_policy": "pad", "fill_values": (-3,)},
            {},
        )
        yield Case((samples.pictures(dtype=np.float32),), {"crop": (12, 14)})
        yield Case((samples.pictures(dtype=np.float32),), {"crop": (12, 14), "dtype": FLOAT16})
        yield Case((samples.pictures(dtype=np.float32),), {"crop": (12, 14), "dtype": UINT8})
        beyond = {"crop": (45, 10), "out_of_bounds_policy": "pad", "fill_values": (-70000.9,)}
        for dtype in (np.int16, np.int32, np.uint32, np.uint64, np.float16):
            yield Case((samples.pictures(dtype=dtype),), beyond)
        yield Case((samples.planar(),), {"crop": (12, 14)})
        yield Case((samples.sequences(),), {"crop": (12, 14)})
        yield Case((samples.volumes(),), {"crop": (3, 7, 5)})
        yield Case((samples.volumes(),), {"crop": (7, 5)})
        yield Case((samples.sequences((3, 3, 4)),), {"crop": (2, 12, 14), "crop_pos_z": 1.0})
        planes = [np.stack([array] * 2, axis=1) for array in samples.planar()[0]]
        yield Case(((planes, "CFHW"),), {"crop": (12, 14)})
        yield Case((pictures,), {"crop": (3, 7, 5)})
        yield Case((samples.volumes(),), {"crop_d": 3.0, "crop_h": 4.0, "crop_w": 5.0, "crop_pos_z": 0.9})
        sizes = PerSample.of((10, 11), (9, 8), (20, 30))
        places = PerSample.of(0, 0.37, 1)
        yield Case((pictures,), {"crop": sizes, "crop_pos_x": places})
        yield Case((pictures,), {"crop": (10, 10), "crop_pos_y": places})
        # Widths at which positions lie about half-way between two pixels.
        for place in (0.35, 0.7, 0.9, 0.29):
            halves = samples.pictures(((3, 6), (3, 11), (3, 51)))
            yield Case((halves,), {"crop": (2, 1), "crop_pos_x": place})
            yield Case((halves,), {"crop": (2, 1), "crop_pos_x": place, "rounding": "truncate"})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(),), {"crop": (100, 10)}, words=("sample 0", "out_of_bounds_policy"))
        yield ErrorCase((samples.pictures(),), {"crop_h": 10.0}, words=("crop_w",))
        yield ErrorCase((samples.pictures(),), {"crop": (10, 10), "dtype": INT16}, words=("dtype", "INT16", "FLOAT16"))
