"""Pictures resampled plane by plane, or where the processor cannot by pixels, equal the general rows bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu import normalize, resample, resample_planes
from dali_lab.kernels.cpu.machine.plane_vectors import REACH, STEP
from dali_lab.kernels.cpu.memory import like, rows
from dali_lab.kernels.cpu.resample import LANCZOS3, LINEAR, NN

Array = np.ndarray[Any, Any]


def resampled(function: Any, source: Array, window: list[int], *more: Any) -> Array:
    """One sample through a kernel; the bytes around the output must stay as they are."""
    frames, height, width, _ = source.shape
    edge = 64
    memory = np.full(2 * edge + frames * 3 * window[2] * window[3], -7, np.float32)
    out = memory[edge:-edge]
    function(rows([source.ctypes.data]), rows([out.ctypes.data]), rows([[frames, height, width, 3]]), *more)
    assert (memory[:edge] == -7).all()
    assert (memory[-edge:] == -7).all()
    return out.reshape(frames, 3, window[2], window[3])


def both(
    source: Array, size: tuple[int, int], window: list[int], region: list[float], filters: tuple[int, int],
    *, antialias: bool = True, mirrored: bool = False,
) -> tuple[Array, Array, bool]:  # fmt: skip
    """By the general rows, by vectors, and whether the second was possible: by planes where this processor can."""
    rng = np.random.default_rng(5)
    mean, inverse = (normalize._lanes(rng.uniform(0.1, 100, (1, 3)).astype(np.float32)) for _ in range(2))
    tables = (
        rows([size]), rows([window]), rows([region], np.float32), rows(filters[:1]), rows(filters[1:]), antialias,
    )  # fmt: skip
    done = np.ones(1, np.int64)
    general = resampled(
        normalize._resize_crop_mirror_normalize, source, window, *tables, True, rows([mirrored]),
        rows(mean[:, :3], np.float32), rows(inverse[:, :3], np.float32), 3, True, like(np.uint8), like(np.float32),
    )  # fmt: skip
    more: Any = (*tables, rows([mirrored]), mean, inverse)
    if resample_planes.AVAILABLE:
        vectors = resampled(resample_planes.resize_crop_mirror_normalize, source, window, *more, done)
    else:
        vectors = resampled(normalize._resize_crop_mirror_normalize_pixels, source, window, *more)
    return general, vectors, bool(done[0])


def bytes_of_both(
    source: Array, size: tuple[int, int], window: list[int], region: list[float], filters: tuple[int, int],
    *, antialias: bool,
) -> tuple[Array, Array]:  # fmt: skip
    """A resized window in uint8 by pixels, and by planes, which must not write around it."""
    results = []
    done = np.ones(1, np.int64)
    for kernel, more in ((resample._resize_pixels, ()), (resample_planes.resize_windows, (done,))):
        edge = 64
        memory = np.full(2 * edge + len(source) * 3 * window[2] * window[3], 77, np.uint8)
        out = memory[edge:-edge]
        kernel(
            rows([source.ctypes.data]), rows([out.ctypes.data]), rows([source.shape]), rows([size]), rows([window]),
            rows([region], np.float32), rows(filters[:1]), rows(filters[1:]), antialias, *more,
        )  # fmt: skip
        assert (memory[:edge] == 77).all()
        assert (memory[-edge:] == 77).all()
        results.append(out)
    assert done.all()
    return results[0], results[1]


@pytest.mark.parametrize("seed", range(6))
def test_shapes_windows_regions_and_filters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    possible = 0
    for case in range(40):
        frames, height, width = int(rng.integers(1, 3)), int(rng.integers(1, 300)), int(rng.integers(STEP, 400))
        size = int(rng.integers(1, 250)), int(rng.integers(STEP, 300))
        lines, columns = int(rng.integers(1, size[0] + 1)), int(rng.integers(STEP, size[1] + 1))
        window = [
            int(rng.integers(0, size[0] - lines + 1)),
            int(rng.integers(0, size[1] - columns + 1)),
            lines,
            columns,
        ]
        source = rng.integers(0, 256, (frames, height, width, 3)).astype(np.uint8)
        region = [0.0, 0.0, height, width]
        if case % 2:
            # Also beyond the picture, flipped, and enlarged.
            low, high = rng.uniform(-0.3, 0.4, 2), rng.uniform(0.6, 1.3, 2)
            region = [low[0] * height, low[1] * width, high[0] * height, high[1] * width]
            if case % 3 == 0:
                region = region[2:] + region[:2]
        filters = tuple(rng.integers(NN, 6, 2).tolist())
        general, vectors, done = both(
            source, size, window, region, filters, antialias=case % 4 > 0, mirrored=case % 5 < 2
        )  # fmt: skip
        if done:
            possible += 1
            assert general.tobytes() == vectors.tobytes(), (source.shape, size, window, region, filters)
            if resample_planes.AVAILABLE:
                pixels, planes = bytes_of_both(source, size, window, region, filters, antialias=case % 4 > 0)
                assert pixels.tobytes() == planes.tobytes(), (source.shape, size, window, region, filters)
        else:
            assert (vectors == -7).all()
    assert possible > 20


@pytest.mark.parametrize(("height", "width"), [(400, 60), (60, 400), (400, 120), (120, 400), (100, 33), (33, 100)])
def test_levels_at_both_ends(height: int, width: int) -> None:
    """Black, white, and filters that go beyond both."""
    rng = np.random.default_rng(2)
    source = (rng.integers(0, 2, (1, height, width, 3)) * 255).astype(np.uint8)
    general, vectors, done = both(source, (90, 64), [0, 0, 90, 64], [0, 0, height, width], (LANCZOS3, LANCZOS3))
    assert done is (width < 400 or not resample_planes.AVAILABLE)
    if done:
        assert general.tobytes() == vectors.tobytes()


def test_taps_too_far_apart_for_planes() -> None:
    rng = np.random.default_rng(4)
    source = rng.integers(0, 256, (1, 40, 16 * REACH, 3)).astype(np.uint8)
    *_, done = both(source, (40, 64), [0, 0, 40, 64], [0, 0, 40, 16 * REACH], (LINEAR, LINEAR))
    assert done is not resample_planes.AVAILABLE


@pytest.mark.parametrize("planes", [True, False])
def test_a_chunk_of_both_kinds(planes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that are not for planes, or all without AVX-512, go through pixels, each with its own mean."""
    monkeypatch.setattr(resample_planes, "AVAILABLE", planes and resample_planes.AVAILABLE)
    rng = np.random.default_rng(6)
    shapes = [(50, 40), (20, 20), (40, 1200), (70, 90), (33, 31)]
    sources = [rng.integers(0, 256, (*shape, 3)).astype(np.uint8) for shape in shapes]
    count = len(sources)
    results = [np.full((3, 48, 56), -7, np.float32) for _ in sources]
    mean, inverse = (rng.uniform(0.1, 100, (count, 3)).astype(np.float32) for _ in range(2))
    one = np.ones(count, np.int64)
    table = np.array([(1, *shape, 3) for shape in shapes], np.int64)
    region = np.array([(0, 0, *shape) for shape in shapes], np.float32)
    windows = np.tile([0, 0, 48, 56], (count, 1))
    normalize.resize_crop_mirror_normalize(
        rows([s.ctypes.data for s in sources]), rows([r.ctypes.data for r in results]), table,
        normalize.Resized(windows[:, 2:], windows, region, one, one, True, np.arange(count) % 2, mean, inverse),
        np.uint8, np.float32, out_channels=3, planar_dst=True,
    )  # fmt: skip
    for i, (source, result) in enumerate(zip(sources, results, strict=True)):
        wanted = np.empty((3, 48, 56), np.float32)
        normalize._resize_crop_mirror_normalize_pixels(
            rows([source.ctypes.data]), rows([wanted.ctypes.data]), table[i : i + 1], rows([[48, 56]]),
            rows([[0, 0, 48, 56]]), region[i : i + 1], one[:1], one[:1], True, rows([i % 2]),
            normalize._lanes(mean[i : i + 1]), normalize._lanes(inverse[i : i + 1]),
        )  # fmt: skip
        np.testing.assert_array_equal(result, wanted)
