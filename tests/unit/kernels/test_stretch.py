"""Operands repeated to shapes that differ from sample to sample, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab.kernels.cpu.stretch import stretch


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.float64])
def test_equals_numpy(dtype: type) -> None:
    random = np.random.default_rng(4)
    for ndim in (1, 2, 3, 4):
        wanted = random.integers(0 if ndim == 3 else 1, 6, (40, ndim))
        shapes = np.where(random.random((40, ndim)) < 0.5, 1, wanted)
        shapes[0], shapes[1] = wanted[0], 1
        sources = [random.integers(0, 100, shape).astype(dtype) for shape in shapes.tolist()]
        results = [np.full(int(shape.prod()) + 2, 7, dtype) for shape in wanted]
        places = np.array([result.ctypes.data + result.itemsize for result in results])
        stretch(np.array([each.ctypes.data for each in sources]), places, shapes, wanted, np.dtype(dtype).itemsize)
        for source, result, shape in zip(sources, results, wanted.tolist(), strict=True):
            np.testing.assert_array_equal(result[1:-1].reshape(shape), np.broadcast_to(source, shape))
            assert result[0] == result[-1] == 7
