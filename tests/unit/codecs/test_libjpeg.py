"""libjpeg-turbo from compiled code: windows equal those of whole pictures; damage is told and harms nobody."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from dali_lab.codecs.backends import libjpeg
from dali_lab.kernels.cpu.machine import jpeg
from dali_lab.kernels.cpu.memory import rows
from dali_lab.schema.samples import picture

Pixels = npt.NDArray[np.uint8]
SAMPLINGS = (
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)


pytestmark = pytest.mark.usefixtures("fast_jpeg")


def encoded(pixels: Pixels, sampling: int = SAMPLINGS[1], progressive: int = 0, restart: int = 0) -> Pixels:
    flags = [cv2.IMWRITE_JPEG_QUALITY, 90, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling]
    flags += [cv2.IMWRITE_JPEG_PROGRESSIVE, progressive, cv2.IMWRITE_JPEG_RST_INTERVAL, restart]
    return np.asarray(cv2.imencode(".jpg", pixels, flags)[1]).reshape(-1)


def reference(data: Pixels) -> Pixels:
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)[..., ::-1]


def decoded(
    files: list[Pixels],
    sizes: list[tuple[int, int]],
    windows: list[tuple[int, int, int, int]] | None = None,
    color: str = "RGB",
    fast: bool = False,
) -> tuple[list[Pixels], list[int]]:
    """Pictures, and by whom each was decoded: 0 for nobody, 1 for the library, 2 with codes read by our own reader."""
    channels = 1 if color == "GRAY" else 3
    boxes = np.array(windows or [(0, 0, *size) for size in sizes])
    outs = [np.full((y1 - y0, x1 - x0, channels), 7, np.uint8) for y0, x0, y1, x1 in boxes.tolist()]
    done, ones = np.zeros(len(files), np.int64), np.ones(len(files), np.int64)
    shapes = np.array([(*size, channels) for size in sizes])
    jpeg.decode(
        *libjpeg.tables(), rows([data.ctypes.data for data in files]), rows([len(data) for data in files]), shapes,
        rows(boxes), ones, ones * jpeg.COLORS[color], fast, rows([out.ctypes.data for out in outs]), done,
        jpeg.memory_for(int(shapes[:, 1].max()) * channels),
    )  # fmt: skip
    return outs, done.tolist()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("progressive", [0, 1])
def test_windows_equal_those_of_the_whole_picture(sampling: int, progressive: int) -> None:
    rng = np.random.default_rng(sampling + progressive)
    files, sizes, windows, expected, readers = [], [], [], [], []
    for index in range(60):
        height, width = rng.integers(1, 130, 2).tolist()
        pixels = rng.integers(0, 256, (height, width, 3), np.uint8) if index % 2 else picture(height, width, seed=index)
        restart = int(rng.integers(0, 4)) * (index % 3 == 0)
        files.append(encoded(pixels, sampling, progressive, restart))
        readers.append(1 if progressive or restart else 2)
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        bottom, right = int(rng.integers(top + 1, height + 1)), int(rng.integers(left + 1, width + 1))
        sizes.append((height, width))
        windows.append((top, left, bottom, right))
        whole = reference(files[-1])
        expected.append((whole, whole[top:bottom, left:right]))
    for outs, done, place in ((*decoded(files, sizes), 0), (*decoded(files, sizes, windows), 1)):
        assert done == readers
        for out, pair in zip(outs, expected, strict=True):
            np.testing.assert_array_equal(out, pair[place])


def test_colours() -> None:
    colour, grey = encoded(picture(40, 50)), encoded(picture(40, 50, 1)[..., 0])
    size = (40, 50)
    for color, flag in (("BGR", cv2.IMREAD_COLOR), ("GRAY", cv2.IMREAD_GRAYSCALE)):
        for data in (colour, grey):
            (out,), done = decoded([data], [size], color=color)
            assert done == [2]
            np.testing.assert_array_equal(out.squeeze(), np.asarray(cv2.imdecode(data, flag)))


def test_the_fast_transform_differs_a_little() -> None:
    data = encoded(picture(64, 64))
    (exact,), _ = decoded([data], [(64, 64)])
    (fast,), done = decoded([data], [(64, 64)], fast=True)
    assert done == [2]
    assert 0 < np.abs(exact.astype(int) - fast).max() < 16


def test_damage_is_told_and_the_others_are_unaffected() -> None:
    """Damage that the library does not notice either gives the same pixels."""
    good = encoded(picture(90, 120))
    rng = np.random.default_rng(5)
    bad = [good[: len(good) // 2], good[:30], good[:0], np.zeros(50, np.uint8)]
    for _ in range(300):
        broken = good.copy()
        broken[rng.integers(2, len(good), 5)] = rng.integers(0, 256, 5)
        bad.append(broken)
    files = [part for data in bad for part in (data, good)]
    outs, done = decoded(files, [(90, 120)] * len(files))
    assert all(done[1::2])
    assert not any(done[0:8:2])
    whole = reference(good)
    for out in outs[1::2]:
        np.testing.assert_array_equal(out, whole)
    unnoticed = [index for index in range(0, len(files), 2) if done[index]]
    assert len(unnoticed) > 20
    for index in unnoticed:
        np.testing.assert_array_equal(outs[index], reference(files[index]))


def test_a_header_that_says_something_else_is_refused() -> None:
    data = encoded(picture(64, 64))
    for size in ((64, 63), (63, 64), (640, 640)):
        outs, done = decoded([data], [size])
        assert done == [0]
        assert (outs[0] == 7).all()


def test_what_is_below_a_window_is_not_read() -> None:
    data = encoded(picture(200, 60), SAMPLINGS[-1])
    whole = reference(data)
    (out,), done = decoded([data[: len(data) * 3 // 4]], [(200, 60)], [(3, 5, 40, 50)])
    assert done == [2]
    np.testing.assert_array_equal(out, whole[3:40, 5:50])


def test_another_binary_interface_is_refused() -> None:
    found = libjpeg._load()
    assert found is not None
    none, shapes, boxes = np.zeros(0, np.int64), np.zeros((0, 3), np.int64), np.zeros((0, 4), np.int64)
    for structure in ((80, 1000), (90, 656)):
        memory = jpeg.memory_for(0)
        table = np.array(structure, np.int64)
        assert not jpeg.decode(found[1], table, none, none, shapes, boxes, none, none, False, none, none, memory)
