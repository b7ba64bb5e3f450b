"""Decoded pictures against NVIDIA DALI's, bit for bit."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

from dali_lab.codecs.backends import imagecodecs, nvimgcodec, simplejpeg
from dali_lab.codecs.headers import read_headers
from tests.programs import run_python
from tests.unit.codecs import oracle, pictures
from tests.unit.codecs.decoding import batch, decode, decode_one

types = oracle.types
OUTPUT_TYPES = ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA")
DTYPES = {np.uint8: types.UINT8, np.uint16: types.UINT16, np.int16: types.INT16, np.float32: types.FLOAT}
#: NVIDIA DALI 2.4 refuses these with ANY_DATA, and ends the process on some grey JPEG files.
NOT_AS_STORED = ("jpeg gray", "jpeg cmyk", "jpeg ycck")


def files_for(output_type: str) -> dict[str, bytes]:
    files = pictures.all_files()
    if output_type == "ANY_DATA":
        files = {name: data for name, data in files.items() if not name.startswith(NOT_AS_STORED)}
    return files


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("output_type", OUTPUT_TYPES)
def test_equals_dali(output_type: str, dtype: type) -> None:
    files = files_for(output_type)
    wanted = oracle.images(list(files.values()), output_type=getattr(types, output_type), dtype=DTYPES[dtype])
    arrays, failures = decode(list(files.values()), output_type=output_type, dtype=dtype)
    assert not failures
    for name, array, reference in zip(files, arrays, wanted, strict=True):
        assert array is not None
        assert array.dtype == reference.dtype == dtype
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, reference, err_msg=name)


@pytest.mark.parametrize("adjust", [True, False])
def test_orientation(adjust: bool) -> None:
    files = [data for name, data in pictures.all_files().items() if "orientation" in name]
    wanted = oracle.images(files, adjust_orientation=adjust)
    arrays, failures = decode(files, adjust_orientation=adjust)
    assert not failures
    sizes = read_headers(batch(files)).sizes(adjust)
    for array, reference, size in zip(arrays, wanted, sizes, strict=True):
        np.testing.assert_array_equal(array, reference)
        assert array is not None
        assert array.shape == (*size, 3)


def test_fast_idct() -> None:
    files = list(pictures.jpegs().values())
    wanted = oracle.images(files, use_fast_idct=True)
    arrays, _ = decode(files, use_fast_idct=True)
    for array, reference in zip(arrays, wanted, strict=True):
        np.testing.assert_array_equal(array, reference)


@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize("output_type", ["RGB", "GRAY", "ANY_DATA"])
def test_region_is_a_crop_of_the_whole(output_type: str, adjust: bool) -> None:
    files = list(pictures.all_files().values())
    whole, failures = decode(files, output_type=output_type, adjust_orientation=adjust)
    assert not failures
    random = np.random.default_rng(1)
    for _ in range(4):
        regions = np.zeros((len(files), 4), np.int64)
        for index, array in enumerate(whole):
            assert array is not None
            for axis in (0, 1):
                low = random.integers(array.shape[axis])
                regions[index, [axis, axis + 2]] = low, random.integers(low + 1, array.shape[axis] + 1)
        parts, failures = decode(files, regions=regions, output_type=output_type, adjust_orientation=adjust)
        assert not failures
        for array, part, (y0, x0, y1, x1) in zip(whole, parts, regions, strict=True):
            assert array is not None
            np.testing.assert_array_equal(part, array[y0:y1, x0:x1])


def test_what_dali_refuses_is_decoded() -> None:
    gray_alpha = np.dstack([pictures.gray(), pictures.alpha()])
    data = pictures.pil(gray_alpha, "PNG")
    np.testing.assert_array_equal(decode_one(data, output_type="ANY_DATA"), gray_alpha)
    np.testing.assert_array_equal(decode_one(data, output_type="RGB"), np.dstack([pictures.gray()] * 3))
    assert decode_one(pictures.jpegs()["jpeg cmyk"], output_type="ANY_DATA").shape[2] == 4
    gray_jpeg = pictures.jpegs()["jpeg gray"]
    np.testing.assert_array_equal(
        decode_one(gray_jpeg, output_type="ANY_DATA"), decode_one(gray_jpeg, output_type="GRAY")
    )
    bitmap = pictures.pil(pictures.gray(), "TIFF", "1")
    assert set(np.unique(decode_one(bitmap, output_type="GRAY"))) == {0, 255}


@pytest.mark.parametrize("missing", [(nvimgcodec,), (simplejpeg,), (nvimgcodec, simplejpeg, imagecodecs)])
@pytest.mark.parametrize("output_type", ["RGB", "GRAY", "ANY_DATA"])
def test_without_a_backend(missing: tuple[ModuleType, ...], output_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other libraries give the same bits; the plain install refuses pictures that it would read otherwise."""
    files = {**pictures.jpegs(), **pictures.pngs(), **pictures.others()}
    compiled = ("libjpeg", "rasters")
    wanted, _ = decode(list(files.values()), without=compiled, output_type=output_type)
    for module in missing:
        monkeypatch.setattr(module, "available", lambda: False)
    arrays, failures = decode(list(files.values()), without=compiled, output_type=output_type)
    for index, reason in failures:
        name = list(files)[index]
        assert imagecodecs in missing
        assert "16" in name or "12" in name or name in ("tiff cmyk", "tiff rgb float")
        assert "takes imagecodecs, which is not installed: pip install 'dali-lab[images]'" in reason
    libtiff_makes_rgb = {"tiff cmyk"} if imagecodecs not in missing else set()
    for name, array, reference in zip(files, arrays, wanted, strict=True):
        if array is not None and name not in libtiff_makes_rgb:
            np.testing.assert_array_equal(array, reference, err_msg=name)


def test_threads_decode_side_by_side() -> None:
    files = list(pictures.jpegs().values()) * 4
    wanted, _ = decode(files)
    with ThreadPoolExecutor(4) as pool:
        chunks = pool.map(lambda start: decode(files[start : start + 7])[0], range(0, len(files), 7))
        arrays = [array for chunk in chunks for array in chunk]
    for array, reference in zip(arrays, wanted, strict=True):
        np.testing.assert_array_equal(array, reference)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_decoding_after_a_fork() -> None:
    """A child process decodes by itself, and its end does not disturb the parent."""
    program = (
        "import os\n"
        "from tests.unit.codecs import pictures\n"
        "from tests.unit.codecs.decoding import decode\n"
        "files = [pictures.jpegs()['jpeg orientation 6']] * 8\n"
        "decode(files)\n"
        "child = os.fork()\n"
        "failed = bool(decode(files)[1])\n"
        "if child == 0:\n"
        "    os._exit(failed)\n"
        "print(os.waitpid(child, 0)[1], failed)\n"
    )
    assert run_python("-c", program).stdout.split() == ["0", "False"]


def test_nothing_is_printed_where_there_are_no_libraries_for_a_gpu() -> None:
    """In a process of its own: the library is loaded once."""
    program = """
import os
from dali_lab.codecs.backends import nvimgcodec
nvimgcodec._has_library = lambda name: False
print(nvimgcodec.available(), "NVIMGCODEC_EXTENSIONS_PATH" in os.environ)
"""
    done = run_python("-c", program)
    assert done.stderr == ""
    assert done.stdout.split() == [str(nvimgcodec.available()), "False"]
