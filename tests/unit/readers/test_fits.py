"""Images from FITS files, compared with NVIDIA DALI and Astropy; damaged files."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is the oracle of these tests")
fits = pytest.importorskip("astropy.io.fits", reason="it writes the files")

import dali_lab  # noqa: E402
from dali_lab.formats import dumps, loads  # noqa: E402
from dali_lab.operators.readers.arrays.fits_images import FitsError, read_image, scaled  # noqa: E402
from tests.programs import LIMIT  # noqa: E402
from tests.unit.readers.both_engines import pipeline_of, read, refused, taken  # noqa: E402

READER = "experimental.readers.fits"
THERE = """
import pickle, sys
import nvidia.dali
from tests.unit.readers.both_engines import read
jobs = pickle.loads(sys.stdin.buffer.read())
results = [read(nvidia.dali, "experimental.readers.fits", *sizes, **arguments) for sizes, arguments in jobs]
sys.stdout.buffer.write(pickle.dumps(results))
"""
Job = tuple[tuple[int, int], dict[str, Any]]


def there(jobs: list[Job]) -> list[Any]:
    """Arrays read by NVIDIA DALI, in a process that is told to do without a GPU's driver."""
    environment = {**os.environ, "DALI_RESTRICT_PINNED_MEM": "1"}
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, "-c", THERE], input=pickle.dumps(jobs), env=environment, cwd=root, capture_output=True,
        timeout=LIMIT,
    )  # fmt: skip
    assert not ended.returncode, ended.stderr.decode()
    return list(pickle.loads(ended.stdout))


def nameless(rows: list[Any]) -> list[Any]:
    """Without the names of files, which NVIDIA DALI leaves out."""
    return [rows[0], *([row[:4] for row in batch] for batch in rows[1:])]


def agree(jobs: list[Job]) -> None:
    for (sizes, arguments), theirs in zip(jobs, there(jobs), strict=True):
        ours = read(dali_lab, READER, *sizes, **arguments)
        assert nameless(ours) == nameless(theirs), arguments


def write(path: Path, *units: Any) -> str:
    fits.HDUList([fits.PrimaryHDU(), *units]).writeto(path)
    return str(path)


def test_types_scales_and_compressed_images(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    paths = []
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
        array = (100 * random.random((5, 7, 3))).astype(kind)
        paths.append(write(tmp_path / f"{kind}.fits", fits.ImageHDU(array)))
        if kind[1] != "8":
            paths.append(write(tmp_path / f"rice_{kind}.fits", fits.CompImageHDU(array)))
    for form in ("GZIP_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1", "RICE_1"):
        array = (100 * random.random((40, 50))).astype("i2")
        paths.append(write(tmp_path / f"{form}.fits", fits.CompImageHDU(array, compression_type=form)))
    floats = (1000 * random.random((30, 40))).astype("f4")
    paths.append(write(tmp_path / "q.fits", fits.CompImageHDU(floats, quantize_method=1, dither_seed=3)))
    paths.append(write(tmp_path / "tiles.fits", fits.CompImageHDU(floats.astype("i4"), tile_shape=(7, 11))))
    for kind in ("u1", "i2", "i4", "i8"):
        for scale, zero in ((2, 0), (1, 5), (0.5, 0), (1, -32768), (257, 0), (1e5, 0), (-1, 255), (2, 1.5)):
            unit = fits.ImageHDU(np.arange(12, dtype=kind).reshape(3, 4))
            unit.header["BSCALE"], unit.header["BZERO"] = float(scale), float(zero)
            paths.append(write(tmp_path / f"{kind}_{scale}_{zero}.fits", unit))
    unit = fits.ImageHDU(np.array([[1.5, np.nan]], "f4"))
    unit.header["BSCALE"] = 2.0
    paths.append(write(tmp_path / "float.fits", unit))
    agree([((1, 1), {"files": [path]}) for path in paths])


def test_units_files_and_their_order(tmp_path: Path) -> None:
    paths = []
    for number in range(11):
        array = np.full((2 + number % 3, 4), number, "i4")
        primary = fits.PrimaryHDU(np.arange(number + 1, dtype="u1"))
        units = fits.HDUList([primary, fits.ImageHDU(array), fits.CompImageHDU(array + 1)])
        units.writeto(tmp_path / f"{number:02d}.fits")
        paths.append(f"{number:02d}.fits")
    (tmp_path / "list.txt").write_text("\n".join(paths[3:]))
    root = str(tmp_path)
    agree(
        [
            ((4, 9), {"file_root": root}),
            ((3, 2), {"file_root": root, "hdu_indices": [3, 1, 2]}),
            ((4, 9), {"file_root": root, "random_shuffle": True, "initial_fill": 4, "num_shards": 2}),
            ((4, 9), {"file_root": root, "shuffle_after_epoch": True, "pad_last_batch": True}),
            ((4, 3), {"file_list": f"{root}/list.txt"}),
            ((2, 2), {"file_root": root, "files": paths[::2], "num_shards": 3, "shard_id": 2}),
            ((4, 2), {"file_root": root, "file_filter": "0*.fits", "hdu_indices": [1]}),
        ]
    )
    reader = pipeline_of(dali_lab, READER, 2, {}, file_root=root)
    assert [row[4] for row in taken(reader)] == ["./00.fits", "./01.fits"]


def test_what_nvidia_dali_does_not_read(tmp_path: Path) -> None:
    """Pixels without a value in compressed images, and compressed integers of 64 bits."""
    floats = np.random.default_rng(0).random((30, 40)).astype("f4")
    floats[3, 4] = np.nan
    path = write(tmp_path / "holes.fits", fits.CompImageHDU(floats, quantize_method=1))
    image = read_image(path, 2)
    assert np.argwhere(np.isnan(image)).tolist() == [[3, 4]]
    assert np.nanmax(np.abs(image - floats)) < 0.1
    wide = np.arange(12).reshape(3, 4) << 40
    path = write(tmp_path / "wide.fits", fits.CompImageHDU(wide, compression_type="GZIP_1"))
    assert np.array_equal(read_image(path, 2), wide)


def test_integers_of_64_bits_are_exact_or_refused() -> None:
    stored = np.array([-(2**63), -1, -5], ">i8")
    assert scaled(stored, 1, float(2**63)).tolist() == [0, 2**63 - 1, 2**63 - 5]
    assert scaled(stored, 1, 7.0).tolist() == [-(2**63) + 7, 6, 2]
    for values, scale, zero in (([0], 1, float(2**63)), ([2**63 - 1], 1, 1.0), ([2**62], 2, 0.5)):
        with pytest.raises(FitsError, match="do not fit"):
            scaled(np.array(values, ">i8"), scale, zero)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"files": ["plain.fits"], "hdu_indices": [3]}, ("no unit 3", "plain.fits")),
        ({"files": ["plain.fits"], "hdu_indices": [1]}, ("NAXIS is 0",)),
        ({"files": ["plain.fits"], "hdu_indices": [0]}, ("hdu_indices",)),
        ({"files": ["plain.fits"], "hdu_indices": []}, ("hdu_indices",)),
        ({"files": ["plain.fits"], "dtypes": [dali_lab.types.INT16] * 2}, ("dtypes", "2 types for 1")),
        ({"files": ["table.fits"]}, ("BINTABLE", "table.fits")),
        ({"files": ["nowhere.fits"]}, ("it does not exist", "nowhere.fits")),
        ({"files": ["plain.fits", "other.fits"]}, ("dimensions", "other.fits")),
        ({"files": ["foreign.fits"]}, ("not a FITS file", "foreign.fits")),
        ({"files": ["empty.fits"]}, ("not a FITS file", "empty.fits")),
        ({"files": ["cut.fits"]}, ("ends in the elements", "cut.fits")),
        ({"files": ["head.fits"]}, ("ends in the header of unit 2", "head.fits")),
        ({"files": ["bits.fits"]}, ("BITPIX is 17", "bits.fits")),
        ({"files": ["tiles.fits"]}, ("compressed image", "tiles.fits")),
        ({"files": ["zip.fits"]}, ("gzip", "zip.fits")),
        ({"file_root": None}, ("file_root",)),
    ],
    ids=str,
)
def test_wrong_files_and_arguments(tmp_path: Path, arguments: dict[str, Any], words: tuple[str, ...]) -> None:
    array = np.arange(1200, dtype="i2").reshape(40, 30)
    plain = Path(write(tmp_path / "plain.fits", fits.ImageHDU(array))).read_bytes()
    write(tmp_path / "other.fits", fits.ImageHDU(array[None]))
    write(tmp_path / "table.fits", fits.BinTableHDU.from_columns([fits.Column("a", "I", array=np.arange(3))]))
    tiles = Path(write(tmp_path / "tiles.fits", fits.CompImageHDU(array))).read_bytes()
    for name, content in (
        ("foreign", b"hello" * 1000), ("empty", b""), ("cut", plain[: 5760 + 300]), ("head", plain[:4000]),
        ("bits", plain[:2880] + plain[2880:].replace(b"  16 /", b"  17 /", 1)), ("tiles", tiles[:-2880]),
        ("zip", b"\x1f\x8bnothing"),
    ):  # fmt: skip
        (tmp_path / f"{name}.fits").write_bytes(content)
    refused(READER, words, **{"file_root": str(tmp_path), **arguments})


def test_a_damaged_file_leaves_the_pipeline_usable(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.fits", fits.ImageHDU(np.full((2, 2), i, "u1"))) for i in range(4)]
    Path(paths[1]).write_bytes(b"nothing")
    reader = pipeline_of(dali_lab, READER, 2, {"prefetch_queue_depth": 1}, files=paths)
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)sample 1.*1\.fits"):
        reader.run()
    assert taken(reader)[0][0] == b"\x02" * 4


def test_checkpoints_and_graphs(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.fits", fits.ImageHDU(np.full((2, 2), i, "u1"))) for i in range(9)]
    arguments: dict[str, Any] = {"files": paths, "random_shuffle": True, "initial_fill": 4, "hdu_indices": [2, 2]}
    settings = {"enable_checkpointing": True}
    reader = pipeline_of(dali_lab, READER, 4, settings, **arguments)
    for _ in range(3):
        reader.run()
    again = pipeline_of(dali_lab, READER, 4, {**settings, "checkpoint": reader.checkpoint()}, **arguments)
    assert [taken(again) for _ in range(4)] == [taken(reader) for _ in range(4)]
    for form in ("json", "python", "nvidia-python", "dali-serialized"):
        assert loads(dumps(reader.graph, form)) == reader.graph, form


def test_compressed_images_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "tiles.fits", fits.CompImageHDU(np.zeros((3, 4), "i2")))
    monkeypatch.setitem(sys.modules, "astropy.io", None)
    refused(READER, ("dali-lab[fits]", "tiles.fits"), files=[path])


@pytest.mark.parametrize("value", ["''", "1.0E400", "-5", "x"])
@pytest.mark.parametrize("key", ["BSCALE", "GCOUNT", "PCOUNT"])
def test_headers_with_odd_numbers_say_so(tmp_path: Path, key: str, value: str) -> None:
    """In the unit that is read, and in the one that is passed over before it."""
    path = tmp_path / "a.fits"
    content = bytearray(Path(write(path, fits.ImageHDU(np.ones((3, 4), np.int16)))).read_bytes())
    read, card = key == "BSCALE", f"{key:8}= {value:>20}".ljust(80).encode()
    ends = [at for at in range(0, len(content), 80) if content[at : at + 80].strip() == b"END"]
    content[ends[read] : ends[read] + 160] = card + b"END".ljust(80)
    path.write_bytes(content)
    if read and value == "-5":
        np.testing.assert_array_equal(read_image(str(path), 2), np.full((3, 4), -5.0))
    else:
        with pytest.raises(FitsError, match=f"its header is damaged: {key} is"):
            read_image(str(path), 2)


@pytest.mark.parametrize("key", ["NAXIS", "ZNAXIS", "TFIELDS"])
def test_counts_of_a_compressed_image_are_bounded(tmp_path: Path, key: str) -> None:
    """Astropy would remove as many cards, one after the other."""
    path = tmp_path / "a.fits"
    content = Path(write(path, fits.CompImageHDU(np.ones((3, 4), np.int16)))).read_bytes()
    at = content.rindex(f"{key:8}= ".encode()) + 10
    path.write_bytes(content[:at] + b"4000000000".rjust(20) + content[at + 20 :])
    with pytest.raises(FitsError, match=f"its header is damaged: {key} is 4000000000"):
        read_image(str(path), 2)
