"""Plain pictures of a chunk, JPEG also turned: the pixels and the failures of decoding them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.codecs import convert
from dali_lab.codecs.backends.libjpeg import as_stored
from dali_lab.codecs.headers import read_headers
from dali_lab.codecs.headers.jpeg_chunk import read_orientations
from tests.together import with_each
from tests.unit.codecs import pictures
from tests.unit.codecs.decoding import COMPILED, batch, by_kernels, decode

pytestmark = pytest.mark.usefixtures("fast_jpeg")

Array = np.ndarray[Any, Any]


def table_of(files: list[bytes]) -> tuple[Array, Array]:
    """Addresses and sizes of what somebody else keeps alive."""
    data = batch(files)
    return data.addresses, data.shapes[:, 0]


def oriented_files(seed: int, count: int = 48) -> list[bytes]:
    """Colour and grey photographs of all orientations, samplings and small sizes."""
    rng = np.random.default_rng(seed)
    files = []
    for index in range(count):
        height, width = rng.integers(1, (62, 84)).tolist()
        pixels = pictures.gray() if index % 5 == 4 else pictures.rgb()
        options: dict[str, Any] = {} if index % 5 == 4 else {"subsampling": int(rng.integers(0, 3))}
        options["progressive"] = bool(rng.integers(0, 2))
        files.append(pictures.oriented(np.ascontiguousarray(pixels[:height, :width]), "JPEG", index % 8 + 1, **options))
    return files


def random_windows(sizes: Array, rng: np.random.Generator) -> Array:
    low = rng.integers(0, sizes)
    return np.concatenate([low, rng.integers(low + 1, sizes + 1)], axis=1)


@with_each("output_type", ["RGB", "BGR", "GRAY", "ANY_DATA"])
@with_each("adjust", [True, False])
@with_each("cut", [False, True])
@with_each("fast", [False, True])
def test_pixels_are_those_of_other_decoders(output_type: str, adjust: bool, cut: bool, fast: bool) -> None:
    files = oriented_files(seed=cut)
    sizes = read_headers(batch(files)).sizes(adjust)
    windows = random_windows(sizes, np.random.default_rng(3)) if cut else None
    arguments: dict[str, Any] = {"adjust_orientation": adjust, "use_fast_idct": fast}
    expected, failures = decode(files, windows, COMPILED, output_type=output_type, **arguments)
    assert not failures
    for array, reference in zip(
        by_kernels(files, windows, output_type=output_type, **arguments), expected, strict=True
    ):
        assert array is not None
        np.testing.assert_array_equal(array, reference)


def test_only_plain_pictures_are_decoded() -> None:
    files = pictures.all_files()
    wanted, _ = decode(list(files.values()), without=COMPILED)
    for name, array, reference in zip(files, by_kernels(list(files.values())), wanted, strict=True):
        jpeg = name.startswith("jpeg") and "2000" not in name and name[5:] not in ("cmyk", "ycck")
        assert (array is not None) == (jpeg or name in pictures.RASTERS + pictures.CURVED), name
        if array is not None:
            np.testing.assert_array_equal(array, reference, err_msg=name)


def test_what_is_left_out() -> None:
    assert by_kernels([pictures.pngs()[name] for name in pictures.CURVED], output_type="GRAY") == [None] * len(
        pictures.CURVED
    )
    turned = pictures.jpegs()["jpeg orientation 6"]
    plain = pictures.jpegs()["jpeg quality 75"]
    outside = np.array([[0, 0, pictures.HEIGHT + 1, 5], [0, 0, pictures.WIDTH, pictures.HEIGHT]], np.int64)
    backwards = np.array([[4, 3, 3, 9], [9, 9, 3, 12]], np.int64)
    assert by_kernels([]) == []
    assert by_kernels([plain, turned], output_type="YCbCr") == [None, None]
    assert by_kernels([plain, turned], max_pixels=1000) == [None, None]
    assert by_kernels([plain, turned], backwards) == [None, None]
    first, second = by_kernels([plain, turned], outside)
    assert first is None
    assert second is not None
    assert [array is None for array in by_kernels([plain[:400], plain, turned[:-400], turned, b"", b"junk"])] == [
        True, False, True, False, True, True,
    ]  # fmt: skip


def test_turned_pictures_are_read_to_the_end() -> None:
    """As the decoder that NVIDIA DALI has for them; of others, what is below the window is not looked at."""
    for orientation in range(1, 9):
        data = pictures.oriented(pictures.rgb(), "JPEG", orientation, quality=95)
        sizes = np.array([[pictures.HEIGHT, pictures.WIDTH]])
        corner = np.array([[1, 2, 9, 8]], np.int64)
        there = as_displayed(corner, sizes, orientation)
        whole = data[:-600]
        (array,) = by_kernels([whole], there)
        _, failures = decode([whole], there, COMPILED)
        assert (array is None) == (orientation > 1) == bool(failures)


def as_displayed(windows: Array, sizes: Array, orientation: int) -> Array:
    """The inverse of `as_stored`, by looking where the window's corners go."""
    marks = np.zeros((*sizes[0], 1), np.uint8)
    y0, x0, y1, x1 = windows[0].tolist()
    marks[y0:y1, x0:x1] = 1
    rows, columns, _ = np.nonzero(convert.upright(marks, orientation))
    return np.array([[rows.min(), columns.min(), rows.max() + 1, columns.max() + 1]], np.int64)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_windows_as_stored(orientation: int) -> None:
    rng = np.random.default_rng(orientation)
    for _ in range(20):
        sizes = rng.integers(1, 9, (1, 2))
        window = random_windows(sizes, rng)
        there = as_displayed(window, sizes, orientation)
        np.testing.assert_array_equal(as_stored(there, sizes, np.array([orientation])), window)


def test_orientations() -> None:
    files = [pictures.oriented(pictures.rgb(), "JPEG", orientation) for orientation in range(1, 9)]
    assert read_orientations(*table_of(files)).tolist() == list(range(1, 9))
    turned = files[5]
    at = turned.index(b"Exif\x00\x00")
    segment = turned[at - 4 : at + 2 + int.from_bytes(turned[at - 2 : at], "big") - 4]
    strange = [
        pictures.jpegs()["jpeg 420"],
        turned[:2] + segment + turned[2:],
        turned[:2] + b"\x00" + turned[2:],
        turned.replace(b"MM\x00*", b"MM\x00+"),
        turned.replace(b"\x01\x12\x00\x03", b"\x01\x12\x00\x04"),
        turned.replace(b"\x01\x12\x00\x03", b"\x01\x0f\x00\x03"),
        turned.replace(b"MM\x00*\x00\x00\x00\x08\x00\x01", b"MM\x00*\x00\x00\x00\x08\x00\x63"),
        pictures.others()["tiff orientation 6"],
        b"",
    ]
    assert read_orientations(*table_of(strange)).tolist() == [0] * len(strange)
    assert not read_orientations(*table_of([turned[:size] for size in range(turned.index(b"\xff\xda") + 3)])).any()


def test_damaged_exif_blocks_are_left_to_the_others() -> None:
    """Whether a damaged block turns the picture is for the older path to say."""
    rng = np.random.default_rng(8)
    good = pictures.oriented(pictures.rgb()[:20, :30], "JPEG", 6)
    at = good.index(b"Exif")
    files = []
    for _ in range(300):
        broken = bytearray(good)
        for place in rng.integers(at - 4, at + 40, 2).tolist():
            broken[place] = int(rng.choice([0, 1, 3, 5, 18, 255]))
        files.append(bytes(broken))
    expected, _ = decode(files, without=COMPILED)
    for array, reference in zip(by_kernels(files), expected, strict=True):
        if array is not None:
            np.testing.assert_array_equal(array, reference)
