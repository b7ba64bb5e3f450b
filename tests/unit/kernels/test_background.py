"""The first batches, which do not wait for the compiler, and runs that have nothing left to compile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dali_lab.codecs import random_window
from dali_lab.codecs.headers import jpeg_chunk
from dali_lab.kernels.cpu import background, file_access, normalize, philox, polygon_masks, resample_plain, tfrecord
from dali_lab.kernels.cpu.header_table import COLUMNS, FORMAT, JPEG
from dali_lab.kernels.cpu.machine import uses
from dali_lab.kernels.cpu.memory import as_python, rows
from dali_lab.studio import warming
from tests.programs import run_python
from tests.together import with_each
from tests.unit.compilations import NOTED

_RUN = f"""
import hashlib, os, signal, sys
import numpy as np
from dali_lab import fn
from dali_lab.pipeline import Pipeline
from dali_lab.kernels.cpu import background
{NOTED}
pipeline = Pipeline(6, 2, None, seed=3)
with pipeline:
    encoded, _ = fn.readers.file(file_root=sys.argv[1], random_shuffle=True, initial_fill=8, name="Reader")
    images = fn.resize(fn.decoders.image_random_crop(encoded), size=[64, 72])
    pipeline.set_outputs(
        fn.crop_mirror_normalize(images, mean=[120.0, 110, 100], std=[58.0, 57, 59], mirror=fn.random.coin_flip())
    )
digests = []
for _ in range(4):
    (output,) = pipeline.run()
    if background.busy():
        # What one batch asks for must do: nothing is ready before the last.
        os.kill(background._compiler._process.pid, signal.SIGSTOP)
    digests.append(hashlib.sha256(b"".join(np.asarray(sample).tobytes() for sample in output)).hexdigest())
pipeline.close()
if background.busy():
    os.kill(background._compiler._process.pid, signal.SIGCONT)
print(background.detours(), *compiled)
print(*digests)
print("ready to compile" if "numba.np.linalg" in sys.modules else "only loaded")
background.finish()
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(1)
    for index in range(9):
        image = cv2.resize(rng.integers(0, 256, (9, 9, 3)).astype(np.uint8), (90 + 10 * index, 140 - 7 * index))
        (root / str(index % 2)).mkdir(exist_ok=True)
        cv2.imwrite(str(root / str(index % 2) / f"{index}.jpg"), image)
    return root


def _train(pictures: Path, cache: Path, mode: str) -> tuple[int, list[str], str]:
    """Count of a process's detours, its compiled kernels, and digests of its batches.

    A process that compiles nothing does not import what Numba needs for it.
    """
    done = run_python("-c", _RUN, pictures, NUMBA_CACHE_DIR=str(cache), DALI_LAB_COMPILE=mode)
    first, digests, last = done.stdout.splitlines()
    detours, *compiled = first.split()
    assert compiled or last == "only loaded"
    return int(detours), compiled, digests


@pytest.mark.skipif(not uses("loading"), reason="nothing is compiled in the background then")
def test_training_from_an_empty_cache_and_again(pictures: Path, tmp_path: Path) -> None:
    detours, compiled, digests = _train(pictures, tmp_path, "background")
    assert detours > 0 and compiled == []
    assert _train(pictures, tmp_path, "at-once") == (0, [], digests), (
        "the other process compiled all that training needs"
    )


def test_warming_reaches_the_kernels_of_readers() -> None:
    """Whose cases come without files."""
    warming._compile_readers()
    kernels = [
        file_access.read_whole,
        file_access.read_heads,
        file_access.copy_heads,
        file_access.groups_of_rows,
        polygon_masks.draw,
    ]
    kernels += [tfrecord.scan, tfrecord.take_floats, tfrecord.take_integers]
    assert all(kernel.signatures for kernel in kernels)


def test_without_another_process(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none can be started, kernels are compiled when they are called."""
    monkeypatch.delenv("DALI_LAB_COMPILE", raising=False)
    monkeypatch.setattr(background, "_ready", set())
    monkeypatch.setattr(background, "_is_there", lambda *_: False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    out = np.zeros((1, 4), np.int64)
    assert background.ready(random_window._draw, out)
    assert background._compiler is None


def test_a_process_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DALI_LAB_COMPILE", raising=False)
    monkeypatch.setattr(background, "_ready", set())
    monkeypatch.setattr(background, "_is_there", lambda *_: False)
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    table = np.zeros((1, 4), np.int64)
    background.ready(random_window._draw, table)
    background.finish()
    assert background.ready(random_window._draw, table)


@with_each("case", range(60))
def test_the_resize_in_numpy(case: int) -> None:
    rng = np.random.default_rng(case)
    frames, height, width = int(rng.integers(1, 3)), int(rng.integers(1, 300)), int(rng.integers(8, 300))
    out_height, out_width = int(rng.integers(1, 250)), int(rng.integers(8, 250))
    columns, lines = int(rng.integers(8, out_width + 1)), int(rng.integers(1, out_height + 1))
    window = [
        int(rng.integers(0, out_height - lines + 1)),
        int(rng.integers(0, out_width - columns + 1)),
        lines,
        columns,
    ]
    source = rng.integers(0, 256, (frames, height, width, 3)).astype(np.uint8)
    region = [0, 0, height, width]
    if case % 2:
        # Also beyond the picture, flipped, and enlarged.
        low, high = rng.uniform(-0.3, 0.4, 2), rng.uniform(0.6, 1.3, 2)
        region = [low[0] * height, low[1] * width, high[0] * height, high[1] * width]
        if case % 3 == 0:
            region = region[2:] + region[:2]
    filters = rng.integers(0, 6, 2)
    mean, inverse = (normalize._lanes(rng.uniform(0.1, 100, (1, 3)).astype(np.float32)) for _ in range(2))
    results = []
    for function in (
        normalize._resize_crop_mirror_normalize_pixels,
        resample_plain.resize_crop_mirror_normalize_pixels,
    ):
        results.append(np.full((frames, 3, lines, columns), -7, np.float32))
        arguments: list[Any] = [[source.ctypes.data], [results[-1].ctypes.data], [[frames, height, width, 3]]]
        arguments += [[[out_height, out_width]], [window]]
        function(
            *(rows(value) for value in arguments), rows([region], np.float32), rows(filters[:1]), rows(filters[1:]),
            case % 4 > 0, rows([case % 5 == 0]), mean, inverse,
        )  # fmt: skip
    assert results[0].tobytes() == results[1].tobytes()


def test_random_windows_in_python() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 5000, (300, 2))
    sizes[:20] = rng.integers(60_000, 100_000, (20, 2))
    sizes[20] = 0
    for area, ratio, attempts in (
        ((0.08, 1.0), (3 / 4, 4 / 3), 10),
        ((0.9, 1.0), (0.1, 0.2), 1),
        ((1e-5, 2e-5), (1, 9), 3),
    ):
        limits = [*map(np.float32, area), *map(np.float32, ratio), *(np.float32(np.log(np.float64(r))) for r in ratio)]
        key = (np.uint64(2**63 + 9), np.uint64(2**64 - 3), np.uint64(2))
        both = []
        for function in (random_window._draw, as_python(random_window._draw)):
            both.append(np.zeros((len(sizes), 4), np.int64))
            with np.errstate(all="ignore"):
                function(
                    sizes,
                    key,
                    np.uint64(2**64 - 70) + np.arange(len(sizes), dtype=np.uint64),
                    *limits,
                    attempts,
                    both[-1],
                )
        np.testing.assert_array_equal(both[0], both[1])


def test_coins_in_python() -> None:
    thresholds = np.random.default_rng(0).integers(0, 2**32, 64).astype(np.uint64)
    highs = np.arange(64, dtype=np.uint64) * np.uint64(2**58)
    key = (np.uint64(2**64 - 5), np.uint64(2**64 - 2), np.uint64(3))
    both = []
    for function in (philox.coin_flips, as_python(philox.coin_flips)):
        both.append(np.full((64, 3), 7, np.int32))
        addresses = both[-1].ctypes.data + np.arange(64) * 12
        with np.errstate(all="ignore"):
            function(key, highs, addresses, np.full(64, 3), thresholds, np.empty(0, np.int32))
    np.testing.assert_array_equal(both[0], both[1])


def test_headers_in_python(pictures: Path) -> None:
    contents = [np.frombuffer(path.read_bytes(), np.uint8) for path in sorted(pictures.rglob("*.jpg"))]
    contents += [file[:cut] for file in contents[:3] for cut in (0, 1, 5, 30, 170)]
    addresses, lengths = rows([file.ctypes.data for file in contents]), rows([len(file) for file in contents])
    both = []
    for function in (jpeg_chunk._read, as_python(jpeg_chunk._read)):
        both.append(np.zeros((len(contents), COLUMNS), np.int64))
        with np.errstate(all="ignore"):
            function(addresses, lengths, both[-1], np.empty(0, np.uint8))
    assert (both[0][:, FORMAT] == JPEG).sum() == 9
    np.testing.assert_array_equal(both[0], both[1])
