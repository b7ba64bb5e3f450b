"""The code that runs while kernels are being compiled has their results, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dali_lab.kernels.cpu import (
    audio_plain,
    color_plain,
    convolve,
    copy,
    copy_plain,
    debayer,
    draws,
    fourier,
    fourier_plain,
    normalize,
    philox,
    resample,
    resample_plain,
    spectra,
    warp,
    warp_plain,
    wave,
)
from dali_lab.kernels.cpu.memory import like, rows
from tests.together import with_each

Array = np.ndarray[Any, Any]


def _compare(
    kernel: Any, meanwhile: Callable[..., None], samples: list[Array], outputs: list[Array], *rest: Any
) -> list[Array]:
    """Call both with tables of samples and outputs and `rest`, and compare what they write, and no more than that."""
    made = []
    for function in (kernel, meanwhile):
        # A byte more on both sides shows what is written beside an output.
        spaces = [np.full(out.nbytes + 2 * 64, 0xA5, np.uint8) for out in outputs]
        src = rows([sample.ctypes.data for sample in samples])
        dst = rows([space.ctypes.data + 64 for space in spaces])
        with np.errstate(all="ignore"):
            function(src, dst, *rest)
        made.append(spaces)
    for one, two in zip(*made, strict=True):
        np.testing.assert_array_equal(one, two)
    return [
        space[64 : 64 + out.nbytes].view(out.dtype).reshape(out.shape)
        for space, out in zip(made[0], outputs, strict=True)
    ]


def _picture(rng: np.random.Generator, frames: int, height: int, width: int) -> Array:
    return rng.integers(0, 256, (frames, height, width, 3)).astype(np.uint8)


@with_each("case", range(30))
def test_resize(case: int) -> None:
    rng = np.random.default_rng(case)
    frames, height, width = int(rng.integers(1, 3)), int(rng.integers(1, 200)), int(rng.integers(8, 200))
    out = np.empty((frames, int(rng.integers(1, 150)), int(rng.integers(8, 150)), 3), np.uint8)
    region = [0, 0, height, width]
    if case % 2:
        low, high = rng.uniform(-0.3, 0.4, 2), rng.uniform(0.6, 1.3, 2)
        region = [low[0] * height, low[1] * width, high[0] * height, high[1] * width]
        if case % 3 == 0:
            region = region[2:] + region[:2]
    filters = rng.integers(0, 6, 2)
    inside = np.array(out.shape[1:3])
    start, end = (rng.integers(0, 20 if case % 5 else 1, 2) for _ in range(2))
    _compare(
        resample._resize_pixels, resample_plain.resize_pixels, [_picture(rng, frames, height, width)], [out],
        rows([[frames, height, width, 3]]), rows([start + inside + end]), rows([[*start, *inside]]),
        rows([region], np.float32), rows(filters[:1]), rows(filters[1:]), case % 4 > 0,
    )  # fmt: skip


_TYPES = [(np.uint8, np.uint8), (np.uint8, np.float32), (np.int16, np.int16), (np.uint16, np.uint16), (np.float32,) * 2]


def _any_kind(rng: np.random.Generator, case: int, dtype: Any) -> tuple[Array, Array]:
    """A sample of a type, and a region of it."""
    height, width = int(rng.integers(1, 60)), int(rng.integers(1, 60))
    sample = rng.integers(0 if np.dtype(dtype).kind == "u" else -200, 255, (case % 2 + 1, height, width, case % 5 + 1))
    low, high = (rng.uniform(-0.3, 0.4, 2), rng.uniform(0.6, 1.3, 2)) if case % 2 else (np.zeros(2), np.ones(2))
    region = [low[0] * height, low[1] * width, high[0] * height, high[1] * width]
    return sample.astype(dtype), rows([region[2:] + region[:2] if case % 3 == 0 else region], np.float32)


@with_each("types", _TYPES)
@with_each("case", range(10))
def test_resize_of_any_kind(case: int, types: Any) -> None:
    rng = np.random.default_rng(case)
    sample, region = _any_kind(rng, case, types[0])
    out = np.empty((len(sample), *rng.integers(1, 60, 2).tolist(), sample.shape[3]), types[1])
    _compare(
        resample._resize, resample_plain.resize, [sample], [out], rows([sample.shape]), rows([out.shape]), region,
        rows(rng.integers(0, 6, 1)), rows(rng.integers(0, 6, 1)), case % 4 > 0, like(types[0]), like(types[1]),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("case", range(10))
def test_resize_and_normalize_of_any_kind(case: int, kind: Any) -> None:
    rng = np.random.default_rng(case)
    sample, region = _any_kind(rng, case, kind)
    size = rng.integers(3, 60, 2)
    window = [1, 2, *(rng.integers(1, size - 1)).tolist()]
    channels, all_channels, planar = sample.shape[3], sample.shape[3] + case % 3, case % 2 == 0
    sides = (all_channels, *window[2:]) if planar else (*window[2:], all_channels)
    mean, inverse = (rows(rng.uniform(0.01, 9, (1, channels if case % 3 else 1)), np.float32) for _ in range(2))
    _compare(
        normalize._resize_crop_mirror_normalize, resample_plain.resize_crop_mirror_normalize, [sample],
        [np.empty((len(sample), *sides), np.float32)], rows([sample.shape]), rows([size]), rows([window]), region,
        rows(rng.integers(0, 6, 1)), rows(rng.integers(0, 6, 1)), case % 4 > 0, kind is np.uint8,
        rows([case // 2 % 2]), mean, inverse, all_channels, planar, like(kind), like(np.float32),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("algorithm", range(4))
def test_debayer(algorithm: int, dtype: Any) -> None:
    rng = np.random.default_rng(algorithm)
    sizes = [(2, 2), (2, 30), (30, 2), (4, 4), (6, 22), (34, 68), (20, 4), (8, 8)]
    raw = [rng.integers(0, np.iinfo(dtype).max, size, endpoint=True).astype(dtype) for size in sizes]
    raw[5][10:20] = np.iinfo(dtype).max
    outputs = [np.empty((*size, 1 if algorithm == 2 else 3), dtype) for size in sizes]
    positions = [divmod(k % 4, 2) for k in range(len(sizes))]
    for turn in range(2):
        tables = rows(sizes), rows(positions[turn:] + positions[:turn]), algorithm, like(dtype)
        _compare(debayer._debayer, debayer._before_compiled, raw, outputs, *tables)


@with_each("case", range(40))
def test_warp(case: int) -> None:
    rng = np.random.default_rng(case)
    frames, height, width = (int(n) for n in rng.integers(1, (3, 90, 90)))
    picture = _picture(rng, frames, height if case % 13 else 0, width)
    out = np.empty((frames, int(rng.integers(1, 90)), int(rng.integers(1, 600)), 3), np.uint8)
    matrix = np.array([1, 0, 0, 0, 1, 0], np.float32)
    matrix += rng.uniform(-1, 1, 6).astype(np.float32) * [[1, 1, 30, 1, 1, 30], [1e-3] * 6, [0] * 6][case % 3]
    if case % 7 == 0:
        matrix[rng.integers(0, 6)] = [np.nan, np.inf, -3e38, 1e7][case // 7 % 4]
    fill = rng.uniform(-40, 300, (1, [1, 3][case % 2])).astype(np.float32)
    _compare(
        warp._warp_pixels, warp_plain.warp_pixels, [picture], [out], rows([picture.shape]), rows([out.shape]),
        rows([matrix], np.float32), case % 4 == 0, rows(fill, np.float32), like(np.uint8),
    )  # fmt: skip


@with_each("types", [(np.uint8, np.uint8), (np.uint8, np.float32), (np.float32, np.float32)])
@with_each("case", range(8))
def test_blur(case: int, types: Any) -> None:
    rng = np.random.default_rng(case)
    source = rng.uniform(-5 if types[0] is np.float32 else 0, 255, (*rng.integers(1, (3, 40, 40)), case % 4 + 1))
    source = source.astype(types[0])
    lengths = np.array([[1, *(2 * rng.integers(0, 20, 2) + 1)]])
    windows = rng.uniform(-0.1, 0.2, (1, 3, 45)).astype(np.float32)
    windows[:, 0, 0] = 1
    _compare(
        convolve._separable, color_plain.separable_slices, [source], [source.astype(types[1])], rows([source.shape]),
        windows, rows(lengths), like(types[0]), like(types[1]),
    )  # fmt: skip


def test_uniform_numbers() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 30, 20)
    outputs = [np.empty(count, np.float32) for count in counts]
    start = rng.uniform(-10, 10, 20).astype(np.float32)
    step = rng.uniform(0, 1e-8, 20).astype(np.float32)
    highs = rng.integers(0, 2**63, 20).astype(np.uint64)

    key = (np.uint64(2**64 - 5), np.uint64(2**64 - 2), np.uint64(3))

    def drawn_by(function: Any) -> Callable[..., None]:
        return lambda _, dst, *rest: function(key, highs, dst, *rest)

    _compare(
        drawn_by(philox.uniform), drawn_by(draws._uniform32_in_python), [], outputs, rows(counts), start, step,
        start + np.float32(5), like(np.float32),
    )  # fmt: skip


@pytest.mark.parametrize("mix", [False, True])
def test_elements_of_sounds(mix: bool) -> None:
    rng = np.random.default_rng(2)
    kinds = [wave.PCM_8, wave.PCM_16, wave.PCM_32, wave.FLOAT] * 2
    channels, lengths = [1, 1, 1, 1, 2, 3, 2, 5], [5, 0, 70, 9, 100, 31, 64, 3]
    files = [rng.integers(0, 256, 13 + 4 * c * n).astype(np.uint8) for c, n in zip(channels, lengths, strict=True)]
    for file in (files[3], files[7]):
        file[13:].view(np.float32)[:] = rng.uniform(-1, 1, (len(file) - 13) // 4)
    outputs = [np.empty(n * (1 if mix else c), np.float32) for c, n in zip(channels, lengths, strict=True)]
    table = [[kind, 13, n, c, 16000] for kind, c, n in zip(kinds, channels, lengths, strict=True)]

    def of_files(function: Any) -> Callable[..., None]:
        return lambda src, dst, table, mix: function(src, table, dst, mix)

    _compare(
        of_files(wave.elements_as_float), of_files(audio_plain.elements_as_float), files, outputs, rows(table), mix
    )


@pytest.mark.parametrize("case", range(8))
def test_powers_of_spectra(case: int) -> None:
    rng = np.random.default_rng(case)
    counts, width = ([1, 2, 58, 8] if case < 4 else [1, 1, 11, 2]), (20 if case < 4 else 33) + [0, 5, 12, 1][case % 4]
    packed = rng.normal(size=(sum(counts), width)).astype(np.float32)
    inners = counts if case % 2 else [1] * len(counts)
    outers = [1] * len(counts) if case % 2 else counts
    bins = width // 2 + 1
    outputs = [np.empty((outer, bins, inner), np.float32) for outer, inner in zip(outers, inners, strict=True)]

    def powers_by(function: Any) -> Callable[..., None]:
        return lambda _, dst, *rest: function(packed, dst, *rest)

    _compare(
        powers_by(spectra._powers), powers_by(audio_plain.powers), [], outputs, rows(outers), rows(inners),
        case % 4 > 1, like(np.float32),
    )  # fmt: skip


@with_each("case", range(8))
def test_powers_of_windows(case: int) -> None:
    rng = np.random.default_rng(case)
    size, length, step, before, lengths = [
        (512, 320, 160, 160, [1, 5000, 3000]),
        (1024, 1000, 130, 0, [5000, 1001]),
        (32, 1, 3, 0, [10, 100]),
        (64, 64, 20, 32, [40, 700]),
    ][case % 4]
    squared, time_first, reflect = case % 2 == 0, case % 3 == 0, case < 4
    sounds = [rng.standard_normal(n).astype(np.float32) for n in lengths]
    window = rng.random(length).astype(np.float32)
    starts = [np.arange((n if before else n - length) // step + 1) * step - before for n in lengths]
    expected = []
    for sound, first in zip(sounds, starts, strict=True):
        places, period = np.arange(-length, len(sound) + length), max(1, 2 * len(sound) - 2)
        padded = sound[np.minimum(places % period, -places % period)]
        padded *= reflect | ((places >= 0) & (places < len(sound)))
        powers = np.abs(np.fft.rfft([padded[length + s :][:length] * window for s in first], size))
        powers **= 2 if squared else 1
        expected.append(powers if time_first else powers.T)

    def powers_by(function: Any) -> Callable[..., None]:
        def run(src: Array, dst: Array) -> None:
            arguments = fourier.arguments_for(window, step, before, reflect, size, squared, time_first)
            function(src, rows(lengths), rows([len(first) for first in starts]), dst, *arguments)

        return run

    outputs = [each.astype(np.float32) for each in expected]
    found = _compare(powers_by(fourier._window_powers), powers_by(fourier_plain.window_powers), sounds, outputs)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=4e-7 * other.max())


@with_each("case", range(60))
def test_copies(case: int) -> None:
    rng = np.random.default_rng(case)
    ndim, item = case % 5, [np.uint8, np.uint32][case % 2]
    shapes = rng.integers(0 if case % 11 == 0 else 1, 9, (3, ndim))
    extents = rng.integers(0 if case % 7 == 0 else 1, 12, (3, ndim))
    steps = rng.choice([-3, -2, -1, 1, 1, 1, 2, 4], (3, ndim))
    starts = rng.integers(-9, 18, (3, ndim)) if case % 4 else np.where(steps > 0, 0, shapes - 1)
    order = rng.permutation(ndim)
    samples = [rng.integers(0, 256, shape).astype(item) for shape in shapes]
    sizes = extents[:, order]
    fill = rng.integers(1, 256, ([1, 3][case // 2 % 2], [1, 4][case // 4 % 2])).astype(item)
    _compare(
        copy._gather, copy_plain.gather, samples, [np.empty(size, item) for size in sizes], rows(shapes), rows(sizes),
        rows(starts), rows(steps), rows(order), rows(fill, item), case % ndim if ndim and case % 3 else -1, like(item),
    )  # fmt: skip
