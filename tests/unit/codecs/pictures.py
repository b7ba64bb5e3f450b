"""Small pictures in every format and variety that the decoders meet, made on the fly."""

from __future__ import annotations

import io
import struct
import zlib
from functools import cache
from typing import Any

import cv2
import imagecodecs
import numpy as np
import tifffile
from PIL import Image
from skimage import data

HEIGHT, WIDTH = 61, 83
RASTERS = (
    "png rgb", "png gray", "png rgba", "png palette", "png palette of 4", "png palette transparent",
    "png rgb transparent", "png gray transparent", "png gamma", "png background", "png 1x1", "bmp rgb", "bmp gray",
    "bmp palette", "pnm p5", "pnm p6", "pnm p5 to 100",
)  # fmt: skip
"""Files of :func:`all_files` whose pixels are stored row by row, in bytes, upright and without interlacing."""
CURVED = ("png gamma of screens", "png gamma near 1", "png srgb")
"""Files like these, whose grey is that of their light, which takes another way."""


@cache
def rgb() -> np.ndarray:
    """A part of a photograph, with odd sizes."""
    return np.ascontiguousarray(data.astronaut()[20 : 20 + HEIGHT, 180 : 180 + WIDTH])


@cache
def gray() -> np.ndarray:
    return cv2.cvtColor(rgb(), cv2.COLOR_RGB2GRAY)


@cache
def alpha() -> np.ndarray:
    return np.tile((np.arange(WIDTH) * 3).astype(np.uint8), (HEIGHT, 1))


@cache
def rgba() -> np.ndarray:
    return np.dstack([rgb(), alpha()])


def _deep(picture: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(7).integers(0, 256, picture.shape).astype(np.uint16)
    return picture.astype(np.uint16) * 257 ^ noise


@cache
def rgb16() -> np.ndarray:
    return _deep(rgb())


@cache
def gray16() -> np.ndarray:
    return _deep(gray())


def pil(array: np.ndarray, form: str, mode: str | None = None, **options: Any) -> bytes:
    picture = Image.fromarray(array)
    out = io.BytesIO()
    (picture.convert(mode) if mode else picture).save(out, form, **options)
    return out.getvalue()


def oriented(array: np.ndarray, form: str, orientation: int, **options: Any) -> bytes:
    exif = Image.Exif()
    exif[0x112] = orientation
    return pil(array, form, exif=exif, **options)


def tiff(array: np.ndarray, **options: Any) -> bytes:
    out = io.BytesIO()
    tifffile.imwrite(out, array, **options)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(array: np.ndarray, bits: int, color: int, interlaced: bool = False, extra: bytes = b"") -> bytes:
    """A PNG without filters, of any depth, interlaced or not."""

    def rows(part: np.ndarray) -> bytes:
        out = b""
        for row in part:
            if bits == 16:
                out += b"\0" + row.astype(">u2").tobytes()
            elif bits == 8:
                out += b"\0" + row.astype(np.uint8).tobytes()
            else:
                out += (
                    b"\0" + np.packbits(np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - bits :]).tobytes()
                )
        return out

    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    raw = b"".join(rows(array[y::dy, x::dx]) for y, x, dy, dx in passes) if interlaced else rows(array)
    header = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], bits, color, 0, 0, int(interlaced))
    end = chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + end


def text_pnm(kind: str, array: np.ndarray, largest: str = "255\n") -> bytes:
    rows = "\n".join(" ".join(map(str, row.reshape(-1))) for row in array)
    return f"{kind}\n# a comment\n{WIDTH} {HEIGHT}\n{largest}{rows}\n".encode()


@cache
def jpegs() -> dict[str, bytes]:
    files = {f"jpeg quality {quality}": pil(rgb(), "JPEG", quality=quality) for quality in (30, 75, 95)}
    for sampling in ("444", "422", "420", "411", "440"):
        files[f"jpeg {sampling}"] = bytes(imagecodecs.jpeg8_encode(rgb(), level=90, subsampling=sampling))
    files["jpeg progressive"] = pil(rgb(), "JPEG", quality=85, progressive=True)
    files["jpeg with restarts"] = pil(rgb(), "JPEG", quality=85, restart_marker_blocks=3)
    files["jpeg gray"] = pil(gray(), "JPEG", quality=85)
    files["jpeg cmyk"] = pil(rgb(), "JPEG", "CMYK", quality=85)
    cmyk = 255 - np.asarray(Image.fromarray(rgb()).convert("CMYK"))
    files["jpeg ycck"] = bytes(
        imagecodecs.jpeg8_encode(np.ascontiguousarray(cmyk), level=90, colorspace="CMYK", outcolorspace="YCCK")
    )
    files["jpeg rgb"] = bytes(imagecodecs.jpeg8_encode(rgb(), level=90, colorspace="RGB", outcolorspace="RGB"))
    files["jpeg 1x1"] = pil(rgb()[:1, :1], "JPEG")
    files["jpeg 1 row"] = pil(rgb()[:1], "JPEG")
    files["jpeg 1 column"] = pil(np.ascontiguousarray(rgb()[:, :1]), "JPEG")
    for orientation in range(1, 9):
        files[f"jpeg orientation {orientation}"] = oriented(rgb(), "JPEG", orientation, quality=90)
    files["jpeg gray orientation 6"] = oriented(gray(), "JPEG", 6)
    return files


@cache
def pngs() -> dict[str, bytes]:
    picture = Image.fromarray(rgb())
    files = {
        "png rgb": pil(rgb(), "PNG"),
        "png gray": pil(gray(), "PNG"),
        "png rgba": pil(rgba(), "PNG"),
        "png palette": pil(rgb(), "PNG", "P"),
        "png palette of 4": pil(np.asarray(picture.quantize(4)), "PNG"),
        "png palette transparent": pil(rgb(), "PNG", "P", transparency=5),
        "png rgb transparent": pil(rgb(), "PNG", transparency=tuple(int(v) for v in rgb()[0, 0])),
        "png gray transparent": pil(gray(), "PNG", transparency=int(gray()[0, 0])),
        "png 1 bit": pil(gray(), "PNG", "1"),
        "png 2 bits": png(gray() >> 6, 2, 0),
        "png 4 bits": png(gray() >> 4, 4, 0),
        "png interlaced": png(rgb(), 8, 2, True),
        "png 1 bit interlaced": png(gray() >> 7, 1, 0, True),
        "png gamma": png(rgb(), 8, 2, extra=chunk(b"gAMA", struct.pack(">I", 100000))),
        "png gamma of screens": png(rgb(), 8, 2, extra=chunk(b"gAMA", struct.pack(">I", 45455))),
        "png gamma near 1": png(rgba(), 8, 6, extra=chunk(b"gAMA", struct.pack(">I", 95100))),
        "png srgb": png(rgb(), 8, 2, extra=chunk(b"gAMA", struct.pack(">I", 99000)) + chunk(b"sRGB", b"\1")),
        "png srgb 16": png(rgb16(), 16, 2, extra=chunk(b"sRGB", b"\0")),
        "png gamma 16 with 10 bits": png(
            rgb16(), 16, 2, extra=chunk(b"gAMA", struct.pack(">I", 45455)) + chunk(b"sBIT", b"\5\12\6")
        ),
        "png background": png(rgba(), 8, 6, extra=chunk(b"bKGD", struct.pack(">HHH", 10, 200, 30))),
        "png gray 16": bytes(imagecodecs.png_encode(gray16())),
        "png rgb 16": bytes(imagecodecs.png_encode(rgb16())),
        "png rgba 16": bytes(imagecodecs.png_encode(np.dstack([rgb16(), alpha().astype(np.uint16) * 257]))),
        "png 1x1": pil(rgb()[:1, :1], "PNG"),
    }
    for orientation in (3, 6):
        files[f"png orientation {orientation}"] = oriented(rgb(), "PNG", orientation)
    return files


@cache
def others() -> dict[str, bytes]:
    return {
        "bmp rgb": pil(rgb(), "BMP"),
        "bmp gray": pil(gray(), "BMP"),
        "bmp palette": pil(rgb(), "BMP", "P"),
        "bmp 1 bit": pil(gray(), "BMP", "1"),
        "tiff rgb": pil(rgb(), "TIFF"),
        "tiff gray": pil(gray(), "TIFF"),
        "tiff rgba": pil(rgba(), "TIFF"),
        "tiff palette": pil(rgb(), "TIFF", "P"),
        "tiff lzw": pil(rgb(), "TIFF", compression="tiff_lzw"),
        "tiff deflate": pil(rgb(), "TIFF", compression="tiff_adobe_deflate"),
        "tiff jpeg": pil(rgb(), "TIFF", compression="jpeg"),
        "tiff packbits": pil(rgb(), "TIFF", compression="packbits"),
        "tiff cmyk": pil(rgb(), "TIFF", "CMYK"),
        "tiff gray 16": tiff(gray16()),
        "tiff rgb 16": tiff(rgb16(), photometric="rgb"),
        "tiff rgb 16 big endian": tiff(rgb16(), byteorder=">", photometric="rgb"),
        "tiff tiles": tiff(rgb(), tile=(16, 32), photometric="rgb"),
        "tiff tiles 16": tiff(rgb16(), tile=(16, 32), photometric="rgb"),
        "tiff planes": tiff(np.ascontiguousarray(rgb().transpose(2, 0, 1)), photometric="rgb", planarconfig="separate"),
        "tiff bigtiff": tiff(rgb(), bigtiff=True, photometric="rgb"),
        "tiff white is zero": tiff(gray(), photometric="miniswhite"),
        "tiff float": tiff(gray().astype(np.float32) / 255),
        "tiff rgb float": tiff(rgb().astype(np.float32) / 255, photometric="rgb"),
        "tiff pages": tiff(np.stack([rgb(), rgb()[::-1]]), photometric="rgb"),
        "tiff orientation 6": oriented(rgb(), "TIFF", 6),
        "webp lossy": pil(rgb(), "WEBP", quality=80),
        "webp lossless": pil(rgb(), "WEBP", lossless=True),
        "webp alpha": pil(rgba(), "WEBP", quality=80),
        "webp alpha lossless": pil(rgba(), "WEBP", lossless=True, exact=True),
        "webp orientation 6": oriented(rgb(), "WEBP", 6, quality=80),
        "jpeg2000 rgb": bytes(imagecodecs.jpeg2k_encode(rgb(), codecformat="jp2", reversible=True, level=0)),
        "jpeg2000 gray": bytes(imagecodecs.jpeg2k_encode(gray(), codecformat="jp2", reversible=True, level=0)),
        "jpeg2000 rgba": bytes(imagecodecs.jpeg2k_encode(rgba(), codecformat="jp2", reversible=True, level=0)),
        "jpeg2000 lossy": bytes(imagecodecs.jpeg2k_encode(rgb(), codecformat="jp2", level=40)),
        "jpeg2000 codestream": bytes(imagecodecs.jpeg2k_encode(rgb(), codecformat="j2k", reversible=True, level=0)),
        "jpeg2000 rgb 16": bytes(imagecodecs.jpeg2k_encode(rgb16(), codecformat="jp2", reversible=True, level=0)),
        "jpeg2000 12 bits": bytes(
            imagecodecs.jpeg2k_encode(gray16() >> 4, codecformat="jp2", reversible=True, level=0, bitspersample=12)
        ),
        "jpeg2000 tiles": pil(rgb(), "JPEG2000", tile_size=(32, 32)),
        "pnm p1": text_pnm("P1", 1 - (gray() >> 7), ""),
        "pnm p2": text_pnm("P2", gray()),
        "pnm p3": text_pnm("P3", rgb()),
        "pnm p4": pil(gray(), "PPM", "1"),
        "pnm p5": pil(gray(), "PPM"),
        "pnm p6": pil(rgb(), "PPM"),
        "pnm p5 16": f"P5 {WIDTH} {HEIGHT} 65535\n".encode() + gray16().astype(">u2").tobytes(),
        "pnm p6 16": f"P6 {WIDTH} {HEIGHT} 65535\n".encode() + rgb16().astype(">u2").tobytes(),
        "pnm p6 10 bits": f"P6 {WIDTH} {HEIGHT} 1000\n".encode() + (rgb16() // 66).astype(">u2").tobytes(),
        "pnm p5 to 100": f"P5 {WIDTH} {HEIGHT} 100\n".encode() + (gray() // 3).tobytes(),
    }


def all_files() -> dict[str, bytes]:
    """Every picture above by name."""
    return {**jpegs(), **pngs(), **others()}
