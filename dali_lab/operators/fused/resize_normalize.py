"""Resizes, crops, mirrors and normalises in one pass, in place of the two operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import FLOAT, UINT8, numpy_dtype
from dali_lab.model.errors import DaliLabError
from dali_lab.operators.geometry.crop import Crop
from dali_lab.operators.geometry.crop_mirror_normalize import CropMirrorNormalize
from dali_lab.operators.geometry.resizing import Resizing, resize_pixels
from dali_lab.operators.geometry.windows import crop_windows, within
from dali_lab.schema import Arg, Call, Input, Operator, Output, find_operator, register


@register
class ResizeNormalize(Operator):
    """A resize and crop_mirror_normalize in one pass; other inputs than UINT8 HWC go through both in turn."""

    name = "_resize_normalize"
    schema_name = "_ResizeNormalize"
    hidden = True
    on_gpu = True
    takes_undecoded = True
    tested_elsewhere = "tests/unit/graph/test_passes.py"
    family = "geometry"
    inputs = (Input("data"),)
    outputs = (Output("data"),)
    arguments: ClassVar[tuple[Arg, ...]] = (
        Arg("resize", "string"),
        Arg("resize_node", "string"),
        Arg("resize_arguments", "object"),
        Arg("normalize_arguments", "object"),
    )

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        super().__init__(values, connected, node, device)
        parts: dict[str, list[str]] = {"resize": [], "normalize": []}
        for name in self.connected:
            part, _, argument = name.partition(".")
            parts[part].append(argument)
        kind = find_operator(values["resize"])
        self.first = kind(values["resize_arguments"], parts["resize"], values["resize_node"], device)
        self.second = CropMirrorNormalize(values["normalize_arguments"], parts["normalize"], node, device)
        assert isinstance(self.first, Resizing)
        self.seed_node = values["resize_node"] if kind.random else ""

    def ready_for_undecoded(self) -> bool:
        from dali_lab.kernels.cpu import decode_resize

        return decode_resize.ready()

    def run(self, call: Call, data: Batch) -> Batch:
        first = self._part(call, "resize", self.first)
        second = self._part(call, "normalize", self.second)
        if data.dtype != UINT8 or data.layout not in ("HWC", "") or data.ndim != 3 or not len(data):
            return self._in_turn(first, second, data)
        if not data.layout:
            data = data.replaced(layout="HWC")
        assert isinstance(self.first, Resizing)
        plan = self.first.plan(first, data)
        shapes = np.concatenate([plan.size, data.shapes[:, 2:]], axis=1)
        windows, padded = within(second, crop_windows(second, shapes, "HWC"), shapes)
        channels = data.shapes[:, 2]
        filled = self.second.value("pad_output") and np.any(self.second.value("fill_values"))
        if padded or filled or (channels != channels[0]).any() or (data.shapes == 0).any():
            return self._in_turn(first, second, data)
        return self._fused(call, first, second, data, plan, windows)

    def _fused(self, call: Call, first: Call, second: Call, data: Batch, plan: Any, windows: Any) -> Batch:
        from dali_lab.kernels.cpu.normalize import Resized

        assert isinstance(self.first, Resizing)
        layout = self.second.output_layout(second, data)
        channels = int(data.shapes[0, 2])
        wide = self.second.padded_channels(channels)
        extent = {"H": windows.shape[:, 0], "W": windows.shape[:, 1], "C": np.full(len(data), wide)}
        out = call.allocate(np.stack([extent[letter] for letter in layout], axis=1), self.second.value("dtype"), layout)
        shrink, grow = self.first.filters(first)
        mean, inverse = self.second.normalization(second, channels)
        planar = layout.startswith("C")
        resized = Resized(
            sizes=plan.size,
            windows=np.concatenate([windows.start[:, :2], windows.shape[:, :2]], axis=1),
            roi=np.concatenate([plan.low, plan.high], axis=1),
            min_filter=shrink,
            mag_filter=grow,
            antialias=bool(self.first.value("antialias")),
            mirror=second.numbers("mirror", np.int64),
            mean=mean,
            inverse=inverse,
        )
        targets = out.addresses
        if data.undecoded is not None:
            done = np.zeros(len(data), np.bool_)
            pixels = None
            if out.dtype == FLOAT and planar and wide == 3:
                from dali_lab.kernels.cpu.decode_resize import decode_resize

                if call.aside is not None:
                    extents = np.concatenate([windows.shape[:, :2], data.shapes[:, 2:]], axis=1)
                    pixels = Batch.allocate(extents, UINT8, "HWC")
                places = None if pixels is None else pixels.addresses
                done = decode_resize(data.undecoded, targets, resized, call.share, places)
            if done.all():
                if call.aside is not None and pixels is not None:
                    call.aside.append(pixels)
                return out
            left = np.flatnonzero(~done)
            data = data.undecoded.decode(~done).take(left)
            targets = targets[left]
            resized = resized.take(left)
        call.kernels("normalize").resize_crop_mirror_normalize(
            data.addresses,
            targets,
            np.concatenate([np.ones((len(data), 1), np.int64), data.shapes], axis=1),
            resized,
            np.uint8,
            numpy_dtype(out.dtype),
            out_channels=wide,
            planar_dst=planar,
        )
        return out

    def _in_turn(self, first: Call, second: Call, data: Batch) -> Batch:
        from dali_lab.schema.running import run_operator

        if data.undecoded is not None:
            data = data.undecoded.decode()
        (resized,) = run_operator(self.first, replace(first, place=None), [data], 1)
        return self._run_second(second, resized)

    def _run_second(self, call: Call, resized: Batch) -> Batch:
        from dali_lab.schema.running import run_operator

        (result,) = run_operator(self.second, call, [resized], 1)
        return result

    @staticmethod
    def _part(call: Call, prefix: str, operator: Operator) -> Call:
        """The call for one of the two operators, with its connected arguments."""
        batches = {
            name.partition(".")[2]: batch for name, batch in call.batches.items() if name.startswith(f"{prefix}.")
        }
        return replace(call, operator=operator, batches=batches)


@register
class ResizeWindow(ResizeNormalize):
    """A resize and the window that a crop_mirror_normalize behind it cuts, without what that does to the window."""

    name = "_resize_window"
    schema_name = "_ResizeWindow"
    on_gpu = False
    resizes = True
    tested_elsewhere = "tests/unit/pipeline/caching/test_places.py"
    arguments = (
        *(argument for argument in ResizeNormalize.arguments if argument.name != "normalize_arguments"),
        Arg("crop_node", "string"),
        Arg("crop_arguments", "object"),
    )

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        window = values["crop_arguments"]
        plain = {**window, "dtype": UINT8, "output_layout": "HWC"}
        super().__init__({**values, "normalize_arguments": plain}, connected, node, device)
        self.second.node = values["crop_node"]
        self._crop = Crop(window, (), values["crop_node"], device)

    def _fused(self, call: Call, first: Call, second: Call, data: Batch, plan: Any, windows: Any) -> Batch:
        from dali_lab.kernels.cpu import resample

        if not resample.takes(data.shapes[:, 2], data.shapes[:, 1], windows.shape[:, 1]):
            return super()._fused(call, first, second, data, plan, windows)
        assert isinstance(self.first, Resizing)
        out = call.allocate(np.concatenate([windows.shape[:, :2], data.shapes[:, 2:]], axis=1), UINT8, "HWC")
        place = np.concatenate([windows.start[:, :2], windows.shape[:, :2]], axis=1)
        roi = np.concatenate([plan.low, plan.high], axis=1)
        filters = *self.first.filters(first), bool(self.first.value("antialias"))
        resize_pixels(call, data, out, (plan.size, place, roi, *filters))
        return out

    def _run_second(self, call: Call, resized: Batch) -> Batch:
        from dali_lab.schema.running import run_operator

        try:
            (result,) = run_operator(self._crop, replace(call, operator=self._crop), [resized], 1)
        except DaliLabError as error:
            error.operator = self.second.name
            raise
        return result
