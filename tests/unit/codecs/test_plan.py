"""Which libraries decode a picture, by its header and what is wanted of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.codecs.backends import Backend
from dali_lab.codecs.decoding import BACKENDS
from dali_lab.codecs.headers import Headers
from dali_lab.codecs.plan import GPU, Wanted, plan, route
from dali_lab.kernels.cpu import header_table as of
from dali_lab.kernels.cpu.header_table import Header
from tests.together import with_each

COLOR = Header(of.JPEG, 3)
TURNED = COLOR._replace(orientation=6)
CMYK = Header(of.JPEG, 4)
FLOAT: dict[str, Any] = {"dtype": np.dtype(np.float32)}
ROW_BY_ROW = Header(of.PNG, 3, pixel=3)
CURVED = ROW_BY_ROW._replace(gamma=45455)
TIFF = Header(of.TIFF, 3)

STORED = "imagecodecs|pillow"
ROUTES: list[tuple[Header, dict[str, Any], str]] = [
    (COLOR, {}, "libjpeg simplejpeg nvimgcodec|pillow"),
    (COLOR, {"output_type": "GRAY"}, "libjpeg simplejpeg nvimgcodec|pillow"),
    (COLOR, {"output_type": "ANY_DATA"}, f"libjpeg simplejpeg nvimgcodec {STORED}"),
    (COLOR, {"output_type": "YCbCr"}, "simplejpeg nvimgcodec|pillow"),
    (COLOR, FLOAT, "simplejpeg nvimgcodec|pillow"),
    (COLOR, {"in_part": True}, "libjpeg nvimgcodec|simplejpeg"),
    (TURNED, {}, "nvimgcodec|pillow"),
    (TURNED, {"adjust_orientation": False}, "libjpeg simplejpeg nvimgcodec|pillow"),
    (TURNED._replace(turnable=1), {}, "libjpeg nvimgcodec|pillow"),
    (Header(of.JPEG, 1, bits=12), {}, f"nvimgcodec {STORED}"),
    (CMYK, {}, "nvimgcodec|pillow"),
    (CMYK, {"output_type": "ANY_DATA"}, STORED),
    (ROW_BY_ROW, {}, f"rasters {STORED}"),
    (ROW_BY_ROW, FLOAT, STORED),
    (ROW_BY_ROW._replace(pixel=0), {}, STORED),
    (CURVED, {}, f"rasters {STORED}"),
    (CURVED, {"output_type": "GRAY"}, STORED),
    (CURVED._replace(gamma=100_000), {"output_type": "GRAY"}, f"rasters {STORED}"),
    (CURVED._replace(channels=1, pixel=1), {"output_type": "GRAY"}, f"rasters {STORED}"),
    (Header(of.BMP, 3, pixel=3), {}, "rasters nvimgcodec|pillow"),
    (Header(of.BMP, 3, color=of.RGBX), {"output_type": "ANY_DATA"}, "nvimgcodec|pillow"),
    (Header(of.PNM, 1, pixel=1), {}, "rasters pnm"),
    (Header(of.PNM, 1, bits=16), {}, "pnm"),
    (TIFF, {}, f"nvimgcodec {STORED}"),
    (TIFF._replace(color=of.PALETTE), {}, "nvimgcodec pillow"),
    (TIFF._replace(planar=1), {}, f"nvimgcodec {STORED}"),
    (TIFF._replace(planar=1, bits=16), {}, STORED),
    (TIFF._replace(channels=2), {}, STORED),
    (TIFF._replace(channels=4), {}, f"nvimgcodec {STORED}"),
    (TIFF._replace(channels=4), {"output_type": "ANY_DATA"}, STORED),
    (TIFF._replace(channels=4, color=of.CMYK), {"output_type": "ANY_DATA"}, f"nvimgcodec {STORED}"),
    (Header(of.WEBP, 3), {}, STORED),
    (Header(of.JPEG2000, 3), {}, STORED),
    (Header(0, 0), {}, ""),
]


@with_each(("header", "wanted", "expected"), ROUTES)
def test_routes(header: Header, wanted: dict[str, Any], expected: str) -> None:
    asked = {name: value for name, value in wanted.items() if name != "in_part"}
    found = route(header, Wanted(**asked), in_part=wanted.get("in_part", False))
    assert " ".join("|".join(step) for step in found) == expected
    assert all(name in BACKENDS for step in found for name in step)


@pytest.mark.parametrize(
    ("header", "wanted", "there"),
    [
        (COLOR, {}, True),
        (TURNED, {"output_type": "BGR"}, True),
        (TIFF, {}, True),
        (Header(of.JPEG2000, 3), {}, True),
        (COLOR, {"output_type": "YCbCr"}, False),
        (COLOR, {"output_type": "ANY_DATA"}, False),
        (COLOR, FLOAT, False),
        (COLOR._replace(bits=12), {}, False),
        (TIFF._replace(bits=16), {}, False),
        (ROW_BY_ROW, {}, False),
        (Header(of.WEBP, 3), {}, False),
        (Header(0, 0), {}, False),
    ],
)
def test_headers_tell_what_a_gpu_decodes(header: Header, wanted: dict[str, Any], there: bool) -> None:
    on_cpu, on_gpu = (route(header, Wanted(**wanted, on_gpu=on_gpu)) for on_gpu in (False, True))
    assert on_gpu == ((GPU, *on_cpu) if there else on_cpu), "what the GPU refuses goes on as on the CPU"


def test_regions_of_large_pictures_are_not_decoded_whole() -> None:
    sizes = ((100, 100), (400, 400), (400, 400))
    rows = [COLOR._replace(height=height, width=width) for height, width in sizes]
    headers = Headers(np.array(rows, np.int64), {})
    whole = [("simplejpeg",) in found for found in plan(headers, Wanted(), np.array([True, True, False]))]
    assert whole == [True, False, True]
    assert [("simplejpeg",) in found for found in plan(headers, Wanted(**FLOAT))] == [True, False, False]


def test_backends_have_one_interface() -> None:
    for name, backend in BACKENDS.items():
        module: Any = backend
        assert module.__name__ == f"dali_lab.codecs.backends.{name}"
        assert all(callable(getattr(backend, member)) for member in vars(Backend) if not member.startswith("_"))
