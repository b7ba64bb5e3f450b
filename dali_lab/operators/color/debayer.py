"""Demosaics images of a sensor with a Bayer filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.model import extras
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import UINT8, UINT16
from dali_lab.schema import REQUIRED, Call, Case, ErrorCase, Input, Operator, Output, PerSample, register, samples
from dali_lab.schema.presets import choice, integers

_TILES = ("BG", "GB", "GR", "RG")
_KERNELS = {
    "bilinear_ocv": "bilinear",
    "default_npp": "along_colors",
    "edgeaware_ocv": "edge_aware",
    "gray_ocv": "gray",
}
_ALGORITHMS = ("bilinear_ocv", "default_npp", "edgeaware_ocv", "vng_ocv", "gray_ocv")

_CHANNELS = "got {:x}. The debayer operator expects grayscale (i.e. single channel) images"
_SIZES = "got {:x}. The height and width of the image to debayer must be even"
_POSITION = "{} is not 0 or 1. The `blue_position` position must lie within 2x2 tile"


@register
class Debayer(Operator):
    """Makes RGB images of the single channel of a sensor with a Bayer filter.

    Each pixel has seen one colour; the other two come from its neighbours.
    """

    name = "debayer"
    inputs = (
        Input(
            "data",
            dtypes=(UINT8, UINT16),
            layouts=("HW", "HWC"),
            doc="Images or sequences of UINT8 or UINT16 with one channel, height and width even.",
        ),
    )
    outputs = (Output("data", doc="RGB images, HWC, of the input's type and size; gray ones have one channel."),)
    frames = True
    on_gpu = True
    arguments = (
        integers(
            "blue_position",
            REQUIRED,
            "Row and column of blue in the tile of 2 × 2 pixels that begins in the second row and column.",
            per_frame=True,
            minimum=0,
            maximum=1,
            refused_as=_POSITION,
            refused_above=_POSITION,
            important=True,
        ),
        choice(
            "algorithm",
            None,
            _ALGORITHMS,
            "``bilinear_ocv``, ``edgeaware_ocv``, ``vng_ocv`` (for UINT8), ``gray_ocv`` (one channel, of the"
            " brightness) or, for nodes on a GPU, ``default_npp`` (green follows red and blue). If not given,"
            " ``default_npp`` for nodes on a GPU, and ``bilinear_ocv`` for others.",
            synonyms=tuple((name, name) for name in _ALGORITHMS),
            important=True,
        ),
    )
    start = {"blue_position": [0, 0]}
    example = '>>> fn.debayer(raw, blue_position=[0, 0], algorithm="edgeaware_ocv")'
    differs = (
        "Nodes on a GPU take the other algorithms too, ``vng_ocv`` on the CPU. ``default_npp`` follows the"
        " documentation of NPP; how that rounds could not be compared."
    )

    @classmethod
    def on_cpu_only(cls, values: Mapping[str, Any]) -> str:
        return "vng_ocv runs on the CPU" if values.get("algorithm") == "vng_ocv" else ""

    def run(self, call: Call, data: Batch) -> Batch:
        algorithm = self.value("algorithm") or ("default_npp" if self.device == "gpu" else "bilinear_ocv")
        if algorithm == "default_npp" and self.device == "cpu":
            raise call.problem(
                "the default_npp algorithm is not supported on CPU. Those that end in _ocv are", argument="algorithm"
            )
        if algorithm == "vng_ocv" and data.dtype != UINT8:
            raise call.problem(f"vng_ocv takes UINT8, got {data.dtype.name}", argument="algorithm")
        sizes = data.shapes[:, :2]
        call.refuse(
            data.shapes[:, 2:] != 1,
            _CHANNELS,
            data.shapes,
        )
        call.refuse(sizes % 2 != 0, _SIZES, data.shapes)
        call.refuse(sizes == 0, "takes images that are not empty, got {:x}", data.shapes)
        positions = call.vectors("blue_position", 2, np.int64)
        call.refuse(
            (positions < 0) | (positions > 1),
            _POSITION,
            positions,
            argument="blue_position",
        )
        channels = 1 if algorithm == "gray_ocv" else 3
        out = call.allocate(np.column_stack([sizes, np.full(len(data), channels)]), data.dtype, "HWC")
        if algorithm == "vng_ocv":
            self._by_opencv(call, data, out, positions)
        else:
            call.kernels("debayer").debayer(
                data.addresses, out.addresses, sizes, positions, _KERNELS[algorithm], data.kind
            )
        return out

    def _by_opencv(self, call: Call, data: Batch, out: Batch, positions: npt.NDArray[np.int64]) -> None:
        extras.require("video", ("cv2",), "the algorithm 'vng_ocv'")
        import cv2

        codes = [getattr(cv2, f"COLOR_Bayer{tile}2RGB_VNG") for tile in _TILES]
        sources, targets = data.arrays(), out.arrays()
        for index, (row, column) in enumerate(positions.tolist()):
            if call.cancelled():
                break
            cv2.cvtColor(sources[index], codes[2 * row + column], targets[index])

    @classmethod
    def cases(cls) -> Iterable[Case]:
        sizes = ((12, 14), (30, 8), (2, 2))
        raw = [samples.picture(h, w, 1, seed=seed)[..., 0] for seed, (h, w) in enumerate(sizes)]
        noise = [samples.noise(size, seed=seed) for seed, size in enumerate(sizes)]
        deep = [samples.noise(size, np.uint16, seed) for seed, size in enumerate(sizes)]
        for position in ((0, 0), (0, 1), (1, 0), (1, 1)):
            for algorithm in ("bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv"):
                yield Case(((noise, "HW"),), {"blue_position": position, "algorithm": algorithm})
                if algorithm != "vng_ocv":
                    yield Case(((deep, "HW"),), {"blue_position": position, "algorithm": algorithm})
        # Both devices' own algorithms agree where nothing changes.
        yield Case((([np.full((6, 8), level, np.uint8) for level in (3, 100, 255)], "HW"),), {"blue_position": (0, 1)})
        bilinear = {"algorithm": "Bilinear_OCV"}
        yield Case(((raw, "HW"),), {"blue_position": (0, 1), **bilinear})
        yield Case((raw,), {"blue_position": (1,), **bilinear})
        yield Case((([array[..., None] for array in raw], "HWC"),), {"blue_position": (1, 0), **bilinear})
        positions = PerSample.of((0, 0), (1, 0), (1, 1), dtype=np.int32)
        yield Case(((raw, "HW"),), {"blue_position": positions, **bilinear})
        frames = [np.stack([array, 255 - array]) for array in raw]
        yield Case(((frames, "FHW"),), {"blue_position": positions, **bilinear})
        by_frame = PerSample([np.array([[0, 1], [1, 1]], np.int32)] * 3, "F*")
        yield Case(((frames, "FHW"),), {"blue_position": by_frame, **bilinear})
        yield Case((([array[..., None] for array in frames], "FHWC"),), {"blue_position": (1, 1), **bilinear})

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        some = {"blue_position": (0, 0)}
        yield ErrorCase(([np.zeros((4, 5), np.uint8)] * 3,), some, words=("even", "4 x 5"))
        yield ErrorCase((samples.pictures(((4, 6),) * 3),), some, words=("single channel", "4 x 6 x 3"))
        raw = ([np.zeros((4, 6), np.uint8)] * 3,)
        yield ErrorCase(raw, {**some, "algorithm": "default_npp"}, words=("algorithm", "not supported on CPU.", "_ocv"))
