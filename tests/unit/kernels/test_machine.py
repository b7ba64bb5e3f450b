"""Machine-dependent parts of kernels: each has a portable function with the same bits, and can be switched off."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from dali_lab.kernels.cpu import libm, memory
from dali_lab.kernels.cpu.machine import OFF, PARTS, instructions, row_vectors, switched_off
from dali_lab.kernels.cpu.machine.loading import signature_of

Array = np.ndarray[Any, Any]
_PACKAGE = Path(memory.__file__).parents[2]
_FENCED = ("llvmlite", "numba.core", "numba.np", "numba.extending")
_DOCUMENTED = {
    "kernels/cpu/memory.py": "numba.extending.overload is public",
    "operators/python/numba_function.py": "numba.core.errors are what compiling raises",
    "studio/preview/compilations.py": "numba.core.event is documented",
}

# A process in which parts are switched off has no other side to compare with.
with_all_parts = pytest.mark.skipif(bool(OFF), reason="DALI_LAB_PLAIN switches parts off")


def test_machine_code_and_private_names_are_in_one_folder() -> None:
    outside = set()
    texts = ((path, path.read_text("utf-8")) for path in _PACKAGE.rglob("*.py"))
    for path, text in ((path, text) for path, text in texts if "numba" in text or "llvmlite" in text):
        for node in ast.walk(ast.parse(text)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name == each or name.startswith(f"{each}.") for name in names for each in _FENCED):
                outside.add(path.relative_to(_PACKAGE).as_posix())
    assert {name for name in outside if not name.startswith("kernels/cpu/machine/")} == set(_DOCUMENTED)


@with_all_parts
def test_an_array_that_cannot_be_written_to_needs_no_variant_of_its_own() -> None:
    locked = np.frombuffer(bytes(8), np.float32)
    assert signature_of([locked]) == signature_of([locked.copy()])


def test_names_of_parts() -> None:
    assert switched_off("") == frozenset()
    assert switched_off(" jpeg , vectors,") == {"jpeg", "vectors"}
    assert switched_off("loading,all") == set(PARTS)
    with pytest.raises(ValueError, match="DALI_LAB_PLAIN names jpg; it takes vectors, jpeg"):
        switched_off("jpg")


@memory.part
def _twice(value: int) -> int:
    return value * 2


@memory.part
def _four_times(value: int) -> int:
    return _twice(value) + _twice(value)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _five_times(value: int) -> int:
    return _four_times(value) + value


def test_a_part_of_a_kernel_becomes_machine_code_only_in_the_kernel() -> None:
    assert _five_times(7) == 35
    made = [
        overload.library.__class__.__name__ for each in (_twice, _four_times) for overload in each.overloads.values()
    ]
    assert made == ["JITCodeLibrary" if "linking" in OFF else "_PartLibrary"] * 2


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _multiply_add(a: Array, b: Array, c: Array, one: Array, two: Array, wide: bool) -> None:
    for i in range(len(a)):
        one[i] = instructions.fused_multiply_add(a[i], b[i], c[i])
        if wide:
            two[i] = instructions.multiply_add_of_float64(a[i], b[i], c[i])
        else:
            two[i] = instructions.multiply_add_of_float32(a[i], b[i], c[i])


@with_all_parts
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_multiply_and_add_rounds_once(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(-2, 2, (3, 40_000)) * 2.0 ** rng.integers(-20, 20, (3, 40_000))
    # Sums that nearly cancel, and close to the middle of two numbers, where rounding twice shows.
    c[::4] = -(a * b)[::4] * (1 + rng.integers(-3, 4, 10_000) * 2.0**-24)
    a[1::4], b[1::4], c[1::4] = 1 + 2.0**-23, 2.0**-60, rng.integers(2**22, 2**23, 10_000) * 2 + 1
    a[2::4], b[2::4], c[2::4] = a[2::4] * 1e30, np.inf, np.nan
    values = [each.astype(dtype) for each in (a, b, c)]
    one, two = np.empty(40_000, dtype), np.empty(40_000, dtype)
    _multiply_add(*values, one, two, dtype is np.float64)
    np.testing.assert_array_equal(one, two)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _integers(values: Array, weights: Array, one: Array, two: Array) -> None:
    for i in range(values.shape[0]):
        a, b, c = values[i, 0], values[i, 1], values[i, 2]
        x, y, z, start = weights[0], weights[1], weights[2], weights[3]
        one[i, 0] = instructions.shift_right(a, np.int32(11))
        two[i, 0] = instructions.shift_right_in_python(a, np.int32(11))
        one[i, 1] = instructions.mix_colors(a & 255, b & 255, c & 255, x, y, z, start)
        two[i, 1] = instructions.mix_colors_in_python(a & 255, b & 255, c & 255, x, y, z, start)


@with_all_parts
def test_integers_of_32_bits() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(-(2**31), 2**31, (1000, 3)).astype(np.int32)
    one, two = np.zeros((1000, 2), np.int32), np.ones((1000, 2), np.int32)
    _integers(values, np.array([19595, -38470, 7471, (128 << 16) + 32768]), one, two)
    np.testing.assert_array_equal(one, two)


_four, _four_in_python = row_vectors.dot4(4), row_vectors.dot4_in_python(4)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _rows(lines: Array, weights: Array, stride: int, one: Array, two: Array) -> None:
    pitch, count = lines.shape[1] * 4, weights.shape[0]
    _four(lines.ctypes.data, pitch, weights.ctypes.data, stride, count, one.ctypes.data, 16)
    _four_in_python(lines.ctypes.data, pitch, weights.ctypes.data, stride, count, two.ctypes.data, 16)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _sound(sound: Array, table: Array, turns: int, first: Any, position: Any, steps: Any, center: Any) -> Any:
    places = sound.ctypes.data, turns, table.ctypes.data
    one = row_vectors.sum_in_fours(places[0], places[1], places[2], first, position, steps, center)
    two = row_vectors.sum_in_fours_in_python(places[0], places[1], places[2], first, position, steps, center)
    return one, two


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def _bytes(pixels: Array, one: Array, two: Array) -> None:
    for i in range(one.shape[0]):
        at = pixels.ctypes.data + 12 * i
        a, b, c = row_vectors.four_bytes(at), row_vectors.four_bytes(at + 4), row_vectors.four_bytes(at + 8)
        one[i, 0], one[i, 1] = a, row_vectors.nearest_bytes(a, b, c)
        two[i, 0], two[i, 1] = row_vectors.four_bytes_in_python(at), row_vectors.nearest_bytes_in_python(a, b, c)


@with_all_parts
@pytest.mark.parametrize("count", [1, 2, 7])
def test_sums_of_rows(count: int) -> None:
    rng = np.random.default_rng(count)
    lines, weights = rng.normal(size=(4, 40)).astype(np.float32), rng.normal(size=count).astype(np.float32)
    one, two = np.zeros((4, 4), np.float32), np.ones((4, 4), np.float32)
    _rows(lines, weights, 3, one, two)
    np.testing.assert_array_equal(one, two)


@with_all_parts
def test_sums_of_sound() -> None:
    rng = np.random.default_rng(3)
    sound, table = rng.normal(size=64).astype(np.float32), rng.normal(size=(900, 2)).astype(np.float32)
    for turns in (1, 3, 12):
        arguments = (np.float32(value) for value in (-10.0, 3.7, 9.5, 400.25))
        one, two = _sound(sound, table, turns, *arguments)
        assert one == two


@with_all_parts
def test_bytes_of_pixels() -> None:
    pixels = np.random.default_rng(4).integers(0, 256, 12 * 3000).astype(np.uint8)
    one, two = np.zeros((3000, 2), np.int64), np.ones((3000, 2), np.int64)
    _bytes(pixels, one, two)
    np.testing.assert_array_equal(one, two)


@with_all_parts
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_the_c_library(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    values, others = (rng.uniform(0.1, 9, 500).astype(dtype) for _ in range(2))
    by_address = [values.copy(), values.copy()]
    from_python = [values.copy(), values.copy()]
    for results in (by_address, from_python):
        assert libm.apply("log2", results[0]) and libm.apply("pow", results[1], others)
        monkeypatch.setattr(libm, "address", lambda *_: None)
    np.testing.assert_array_equal(by_address, from_python)
