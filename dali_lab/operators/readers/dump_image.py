"""Writes images to disk, to look at them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.device.transfer import to_host
from dali_lab.io.roots import reach_to_write, writes_files
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8
from dali_lab.model.errors import ArgumentError
from dali_lab.schema import Arg, Call, ErrorCase, Input, Operator, Output, register, samples, string


@register
class DumpImage(Operator):
    """Writes images to the working directory as text files of the PPM and PGM formats, and passes them on.

    The files are called ``<sample>-<suffix>-<batch>.ppm``. It is meant for debugging: ``dali_lab.show`` and the
    editor's previews show images without files.
    """

    name = "dump_image"
    family = "io"
    title = "Dump images"
    inputs = (Input("data", layouts=("HWC",), doc="Images of UINT8 with one channel or three."),)
    outputs = (Output("data", doc="The images as they came."),)
    on_gpu = True
    in_order = True
    tested_elsewhere = "tests/unit/operators/test_dump_image.py"
    arguments = (
        string("suffix", "", "Part of the names of the files, without a path."),
        Arg("input_layout", "layout", "HWC", "Layout of the images: HWC."),
    )
    example = '>>> images = fn.dump_image(images, suffix="resized")'

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        suffix = values.get("suffix", "")
        if "\0" in suffix or any(separator in suffix for separator in (os.sep, os.altsep or os.sep, "/", "\\")):
            raise ArgumentError(f"{suffix!r} holds a path; only a part of a file's name is taken", argument="suffix")
        if values.get("input_layout", "HWC") != "HWC":
            raise ArgumentError(f"is HWC, not {values['input_layout']!r}", argument="input_layout")

    def run(self, call: Call, data: Batch) -> Batch:
        if data.dtype != UINT8:
            raise call.problem(f"takes UINT8, got {data.dtype.name}")
        wrong = ~np.isin(data.shapes[:, 2], (1, 3)) | (data.sizes == 0)
        if wrong.any():
            index = int(wrong.argmax())
            shape = " x ".join(map(str, data.shapes[index]))
            raise call.problem(f"takes images of 1 or 3 channels that are not empty, got {shape}", sample=index)
        if not writes_files():
            return data
        pictures = data
        if call.gpu is not None:
            call.gpu.issue()
            pictures = to_host(data, call.gpu.stream)
        for index, image in enumerate(pictures.arrays()):
            name = f"{call.start + index}-{self.value('suffix')}-{call.iteration}.ppm"
            try:
                reach_to_write(name)
                with open(name, "wb") as file:
                    file.write(as_text(image))
            except OSError as error:
                raise call.problem(
                    f"cannot write {name!r}: {error.strerror}", argument="suffix", sample=index
                ) from error
        return data

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        yield ErrorCase((samples.pictures(dtype=np.float32),), words=("FLOAT", "UINT8"))
        yield ErrorCase((samples.pictures(channels=2),), words=("1 or 3 channels", "2"))
        yield ErrorCase((samples.pictures(),), {"suffix": "../up"}, words=("suffix", "../up"))
        yield ErrorCase((samples.pictures(),), {"input_layout": "CHW"}, words=("input_layout", "CHW"))


def as_text(image: npt.NDArray[np.uint8]) -> bytes:
    """An image, HWC, as a text file of the PGM (one channel) or PPM format, a row of the image on each line."""
    height, width, channels = image.shape
    header = f"{'P2' if channels == 1 else 'P3'}\n{width} {height}\n255\n"
    rows = (" ".join(map(str, row)) + " \n" for row in image.reshape(height, -1).tolist())
    return (header + "".join(rows)).encode()
