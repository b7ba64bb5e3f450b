"""Pictures of batches: every layout and dtype, a sensible range, and numbers that are true."""

from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import ImageFile

from dali_lab.model.batch import Batch
from dali_lab.schema.samples import picture as sample
from dali_lab.studio.preview.pictures import Picture, Scale, encoded_picture, fitted, picture
from dali_lab.studio.preview.summaries import display_scale, encoded_text, histogram, positions, summary, value_range
from dali_lab.types import FLOAT, INT64, UINT8, UINT16
from tests.together import with_each

WHOLE = Scale(0, 255)


def decoded(item: Picture | None) -> np.ndarray:
    assert item is not None
    flag = cv2.IMREAD_UNCHANGED
    frame = cv2.imdecode(np.frombuffer(item.data, np.uint8), flag)
    assert frame.shape[:2] == (item.height, item.width)
    return frame if frame.ndim == 2 else frame[..., ::-1] if frame.shape[2] == 3 else frame


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_colours_stay_what_they_are(layout: str) -> None:
    red = np.zeros((20, 30, 3), np.uint8)
    red[..., 0] = 255
    array = red if layout == "HWC" else np.ascontiguousarray(red.transpose(2, 0, 1))
    frame = decoded(picture(array, layout, "image", WHOLE, 96))
    np.testing.assert_array_equal(frame, red)


def test_large_pictures_shrink_and_small_ones_stay() -> None:
    item = picture(sample(300, 200), "HWC", "image", WHOLE, 96)
    assert (item.width, item.height, item.mime) == (64, 96, "image/jpeg")
    expected = cv2.resize(sample(300, 200), (64, 96), interpolation=cv2.INTER_AREA)
    assert np.abs(decoded(item).astype(int) - expected).mean() < 4
    small = picture(sample(1, 7), "HWC", "image", WHOLE, 96)
    assert (small.width, small.height, small.mime) == (7, 1, "image/png")
    assert picture(sample(1000, 2), "HWC", "image", WHOLE, 50).width == 1


def _shares(length: int, count: int) -> np.ndarray:
    """Weight of each old pixel in each of the new ones."""
    edges, old = np.linspace(0, length, count + 1), np.arange(length)
    covered = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)
    return np.maximum(covered, 0) * count / length


@pytest.mark.parametrize("size", [(90, 120), (251, 320), (480, 641), (1000, 700), (37, 2000), (1, 5000)])
@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "planes"])
def test_shrunk_pictures_are_means_of_what_is_under_each_pixel(size: tuple[int, int], kind: str) -> None:
    height, width = size
    y, x = np.mgrid[:height, :width]
    waves = np.stack([np.sin(x * 9 / width), np.cos(y * 7 / height), np.sin((x + y) * 8 / (width + height))], axis=-1)
    frame = 100 + 90 * waves
    given = frame.astype("float32" if kind == "planes" else kind)
    if kind == "planes":
        given = np.ascontiguousarray(given.transpose(2, 0, 1)).transpose(1, 2, 0)
    small = fitted(given, 64)
    assert small.dtype == given.dtype and max(small.shape[:2]) == 64
    rows, columns = (_shares(length, count) for length, count in zip(size, small.shape, strict=False))
    means = np.einsum("ay,yxc,bx->abc", rows, frame, columns, optimize=True)
    assert np.abs(small - means).max() < 3


@with_each(
    ("shape", "layout"),
    [
        ((12, 10), "HW"), ((12, 10, 1), "HWC"), ((12, 10, 2), "HWC"), ((12, 10, 4), "HWC"), ((12, 10, 7), "HWC"),
        ((5, 12, 10, 3), "FHWC"), ((5, 3, 12, 10), "FCHW"), ((4, 12, 10, 1), "DHWC"), ((2, 4, 12, 10, 3), "FDHWC"),
        ((12, 10, 3), ""), ((1, 1, 3), "HWC"),
    ],
)  # fmt: skip
@with_each("dtype", ["uint8", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "bool"])
def test_every_layout_and_dtype_gives_a_picture(shape: tuple[int, ...], layout: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    array = rng.random(shape) * (1 if dtype in ("bool",) or dtype.startswith("float") else 100)
    batch = Batch.of([(array > 0.5) if dtype == "bool" else array.astype(dtype)], layout)
    described = summary(batch, 1, (), "image")
    item = picture(batch.array(0), layout, described.output.kind, described.scale, 64)
    if described.output.kind == "image":
        assert decoded(item).size > 0
    else:
        assert not layout


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (4, 4, 0)])
def test_empty_samples_are_no_picture(shape: tuple[int, ...]) -> None:
    batch = Batch.of([np.zeros(shape, np.uint8)], "HWC")
    described = summary(batch, 1, (), "image")
    item = picture(batch.array(0), "HWC", described.output.kind, described.scale, 64)
    assert item is None
    assert described.output.range is None


@pytest.mark.parametrize(
    ("dtype", "low_high", "expected"),
    [
        (UINT8, (10, 20), Scale(0, 255)),
        (UINT16, (0, 60000), Scale(0, 65535)),
        (FLOAT, (0.0, 1.0), Scale(0, 1)),
        (FLOAT, (0.0, 255.0), Scale(0, 255)),
        (FLOAT, (-12.0, 270.0), Scale(0, 255)),
        (FLOAT, (-1.0, 1.0), Scale(-1.05, 1.05)),
        (FLOAT, (-2.1, 2.6), Scale(-2.7, 2.7)),
        (FLOAT, (-900.0, 900.0), Scale(-900.0, 900.0)),
        (FLOAT, None, Scale(0, 1)),
        (INT64, (1000, 1000), Scale(999, 1001)),
    ],
)
def test_range_that_is_shown(dtype: object, low_high: tuple[float, float] | None, expected: Scale) -> None:
    assert display_scale(dtype, low_high) == expected


def test_a_slider_does_not_change_the_exposure() -> None:
    """Scaling a normalised picture must be seen: the range it is shown in stays the same."""
    scales = {display_scale(FLOAT, (-1.9 * factor, 2.2 * factor)) for factor in (0.6, 0.8, 1.0, 1.2)}
    assert len(scales) == 1


def test_nan_and_infinity_do_no_harm() -> None:
    array = np.full((10, 10, 3), np.nan, np.float32)
    batch = Batch.of([array, array + np.inf], "HWC")
    described = summary(batch, 2, (), "image")
    assert described.output.range is None
    assert decoded(picture(array, "HWC", "image", described.scale, 32)).max() == 0
    array[0] = [np.inf, -np.inf, 3.0]
    described = summary(Batch.of([array], "HWC"), 1, (), "image")
    assert described.output.range == ("-inf", "inf")
    assert described.output.histogram is None
    assert picture(array, "HWC", "image", described.scale, 32) is not None


def test_range_and_histogram_are_true() -> None:
    arrays = [np.arange(256, dtype=np.uint8).reshape(16, 16, 1), np.zeros((16, 16, 1), np.uint8)]
    assert value_range(arrays) == (0, 255)
    counts = histogram(arrays, (0, 255))
    assert len(counts) == 32
    assert sum(counts) == 512
    assert counts[0] >= 256
    assert all(7 <= count <= 9 for count in counts[1:])
    assert histogram(arrays, (3, 3)) is None


def test_missing_samples_leave_gaps() -> None:
    assert positions(3, 4, {1}) == [0, None, 1, 2]
    assert positions(4, 4, ()) == [0, 1, 2, 3]
    assert positions(0, 2, {0, 1}) == [None, None]
    batch = Batch.of([np.zeros((4, 4, 3), np.uint8)] * 3, "HWC")
    fields = summary(batch, 4, {1}, "image").output
    assert fields.shapes == [[4, 4, 3], [], [4, 4, 3], [4, 4, 3]]
    assert fields.batch == 4


def test_numbers_and_texts() -> None:
    fields = summary(Batch.of([np.float32(1.5), np.float32(np.nan)]), 2).output
    assert fields.numbers == [[1.5], ["nan"]]
    assert fields.values == ["1.5", "nan"]
    fields = summary(Batch.of([np.arange(40)]), 1).output
    assert fields.values == ["40: 0, 1, 2, 3, …"]
    assert summary(Batch.of([np.zeros((0,), np.int32)]), 1).output.values == ["empty"]


def test_encoded_files_are_shown() -> None:
    data = cv2.imencode(".jpg", sample(400, 600))[1]
    item = encoded_picture(data, 100)
    assert (item.width, item.height) == (100, 67)
    assert encoded_text(data).startswith("JPEG, ")
    assert encoded_picture(np.zeros(5, np.uint8), 100) is None
    assert encoded_picture(np.frombuffer(b"this is no picture at all", np.uint8), 100) is None
    assert encoded_text(np.frombuffer(b"this is no picture at all", np.uint8)) == "25 bytes"


def test_labels_are_folders_under_the_root() -> None:
    batch = Batch.of([np.zeros((4, 4, 3), np.uint8)] * 3, "HWC")
    batch.sources = ("/data/cats/a.jpg", "/data/b.jpg", "./c.jpg")
    fields = summary(batch, 3, (), "image", {"/data"}).output
    assert fields.files == ["a.jpg", "b.jpg", "c.jpg"]
    assert fields.labels == ["cats", None, None]


def test_pictures_that_hold_classes_are_masks() -> None:
    mask = np.zeros((40, 50, 1), np.uint8)
    mask[5:20, 10:40], mask[25:30] = 3, 255
    empty, light = np.zeros((30, 30, 1), np.uint8), sample(60, 80)[..., :1]

    def kind(*arrays: np.ndarray, layout: str = "HWC") -> str:
        return summary(Batch.of(list(arrays), layout), len(arrays), (), "image").output.kind

    assert kind(mask, empty) == "mask"
    assert kind(mask[..., 0], layout="HW") == "mask"
    assert kind(empty) == kind(light) == kind(mask, light) == "image"
    assert kind(light // 8) == kind(np.where(mask == 3, 255, 0).astype(np.uint8)) == "image"
    assert kind(np.repeat(mask, 3, axis=2)) == kind(mask[:, :1]) == "image"
    assert kind(mask[None], layout="FHWC") == kind(mask.transpose(2, 0, 1), layout="CHW") == "mask"
    shown = encoded_picture(cv2.imencode(".png", mask)[1], 64)
    assert len(np.unique(decoded(shown).reshape(-1, 3), axis=0)) == 3
    assert decoded(shown).max() > 200


@pytest.mark.parametrize("layout", ["HWC", ""])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16])
def test_wider_integers_hold_classes_by_the_same_rule(dtype: type[np.integer], layout: str) -> None:
    mask = np.zeros((40, 48, 1), dtype)
    mask[5:20, 10:40], mask[25:30] = 200, 255
    light = sample(40, 48).astype(dtype)

    def kind(array: np.ndarray) -> str:
        return summary(Batch.of([array], layout), 1, (), "image").output.kind

    assert kind(mask) == kind(mask * 0 + 1) == "mask"
    assert kind(mask + 100) == kind(light) == kind(light[..., :1]) == "image"
    assert kind(np.repeat(mask, 3, axis=2)) == "image"
    np.testing.assert_array_equal(decoded(picture(light, layout, "image", WHOLE, 48)), light)


def test_masks_sounds_and_matrices() -> None:
    mask = np.zeros((20, 20, 1), np.int32)
    mask[5:10] = 3
    frame = decoded(picture(mask, "HWC", "mask", WHOLE, 64))
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) == 2
    wave = np.sin(np.linspace(0, 50, 4000)).astype(np.float32)
    item = picture(wave, "", "audio", WHOLE, 120)
    assert (item.width, item.height) == (120, 40)
    assert picture(np.zeros(0, np.float32), "", "audio", WHOLE, 120) is None
    gap = np.where(np.arange(4000) % 1000 < 10, np.nan, wave)
    for same in ((wave * 32767).round().astype(np.int16), gap):
        assert np.abs(decoded(picture(same, "", "audio", WHOLE, 120)).astype(int) - decoded(item)).mean() < 3
    assert picture(np.random.default_rng(0).random((64, 80)).astype(np.float32), "ft", "tensor", WHOLE, 96) is not None


@pytest.mark.parametrize(("form", "mark", "width"), [(".png", b"IHDR", 4), (".jpg", b"\xff\xc0", 2)])
def test_a_small_file_with_too_many_pixels_is_not_decoded(
    form: str, mark: bytes, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a reader's output: a file of a megabyte may unfold to gigabytes."""

    def decoded(*arguments: object) -> None:
        raise AssertionError("it was decoded")

    data = bytearray(cv2.imencode(form, np.zeros((64, 64, 3), np.uint8))[1])
    size = (30_000).to_bytes(width, "big")
    begin = data.index(mark) + (4 if form == ".png" else 5)
    data[begin : begin + 2 * len(size)] = size + size
    monkeypatch.setattr(cv2, "imdecode", decoded)
    monkeypatch.setattr(ImageFile.ImageFile, "load", decoded)
    assert encoded_picture(np.frombuffer(bytes(data), np.uint8), 96) is None


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def test_a_png_is_read_up_to_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """libpng unfolds whatever follows: gigabytes for a file of some megabytes."""
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
    lines = zlib.compress(b"".join(b"\0" + bytes([200, 100, 0]) * 64 for _ in range(64)) + bytes(50_000_000))
    data = np.frombuffer(head + chunk(b"IDAT", lines) + chunk(b"IEND", b""), np.uint8)
    monkeypatch.setattr(cv2, "imdecode", None)
    shown = encoded_picture(data, 64)
    monkeypatch.undo()
    assert np.abs(decoded(shown).astype(int) - [200, 100, 0]).max() < 5


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png_files_of_every_kind_are_shown(channels: int, dtype: type) -> None:
    grey = np.repeat(sample(40, 40)[..., :1], channels, 2).astype(np.int64)
    image = (grey * np.iinfo(dtype).max // 255).astype(dtype)
    shown = decoded(encoded_picture(cv2.imencode(".png", image)[1], 40))[..., :3]
    assert np.array_equal(shown, np.repeat(sample(40, 40)[..., :1], 3, 2))
