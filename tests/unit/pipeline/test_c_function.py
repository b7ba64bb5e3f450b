"""C functions as operators: shapes, types, several outputs, errors, threads, and what their header promises."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, plugin_manager, sysconfig, types
from dali_lab.errors import DaliLabError
from dali_lab.kernels import c_functions
from dali_lab.model.dtypes import DALIDataType
from dali_lab.plugin import c

SOURCE = r"""
#include <dali_lab.h>
#include <stdio.h>
#include <unistd.h>

int invert(dali_lab_chunk *chunk) {
    for (int64_t s = 0; s < chunk->samples; s++) {
        int64_t size = 1;
        for (int d = 0; d < chunk->in[0].ndim; d++) size *= chunk->in[0].shapes[s * chunk->in[0].ndim + d];
        const uint8_t *in = chunk->in[0].data[s];
        uint8_t *out = chunk->out[0].data[s];
        for (int64_t i = 0; i < size; i++) out[i] = 255 - in[i];
    }
    return 0;
}

/* The sum of each row, and the number of rows; numbers: a factor, and a sum that is refused. */
int rows(dali_lab_chunk *chunk) {
    if (chunk->version < DALI_LAB_VERSION || chunk->in[0].type != DALI_LAB_FLOAT) return 7;
    for (int64_t s = 0; s < chunk->samples; s++) {
        const int64_t *shape = chunk->in[0].shapes + 2 * s;
        const float *in = chunk->in[0].data[s];
        double *sums = chunk->out[0].data[s];
        for (int64_t row = 0; row < shape[0]; row++) {
            sums[row] = 0;
            for (int64_t i = 0; i < shape[1]; i++) sums[row] += in[row * shape[1] + i];
            sums[row] *= chunk->number[s * chunk->numbers];
            if (chunk->numbers > 1 && sums[row] == chunk->number[s * chunk->numbers + 1]) {
                snprintf(chunk->message, chunk->message_size, "row %d sums up to %g", (int)row, sums[row]);
                chunk->failed = s;
                return 1;
            }
        }
        *(int32_t *)chunk->out[1].data[s] = (int32_t)shape[0];
    }
    return 0;
}

static volatile int inside;

/* Waits for another call: two run at a time only if none holds Python's lock. */
int meet(dali_lab_chunk *chunk) {
    __sync_fetch_and_add(&inside, 1);
    for (int i = 0; i < 60000 && inside < 2; i++) usleep(1000);
    *(uint8_t *)chunk->out[0].data[0] = inside >= 2;
    return 0;
}
"""


def compiled(folder: Path) -> Path:
    """The library of the functions above."""
    compiler = shutil.which("cc")
    assert compiler, "these tests need a C compiler named cc"
    (folder / "mine.c").write_text(SOURCE)
    path = folder / "libmine.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *sysconfig.get_compile_flags()]
    subprocess.run([*command, "-o", str(path), str(folder / "mine.c"), *sysconfig.get_link_flags()], check=True)
    return path


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = compiled(tmp_path_factory.mktemp("c"))
    c.register("invert", path)
    c.register("row_sums", path, "rows", shapes=lambda shapes: (shapes[:, :1], np.zeros((len(shapes), 0), int)))
    c.register("wrong", path, "rows", shapes=lambda shapes: shapes[:, :1])
    c.register("meet", path)
    return path


def ran(data: list[np.ndarray], threads: int = 2, **arguments: Any) -> tuple[Any, ...]:
    pipeline = Pipeline(len(data), threads, None)
    with pipeline:
        node = fn.external_source(source=[data], layout="HWC" if data[0].ndim == 3 else None)
        made = fn.experimental.c_function(node, **arguments)
        pipeline.set_outputs(*(made if isinstance(made, (list, tuple)) else (made,)))
    return pipeline.run()


def test_outputs_have_shape_type_and_layout_of_the_input_by_default() -> None:
    data = [np.arange(12 * n, dtype=np.uint8).reshape(n, 4, 3) for n in (1, 5, 0, 3)]
    (inverted,) = ran(data, function="invert")
    assert inverted.layout() == "HWC" and inverted.dtype == types.UINT8
    for index, array in enumerate(data):
        np.testing.assert_array_equal(inverted.at(index), 255 - array)


def test_shapes_are_declared_in_python() -> None:
    data = [np.random.default_rng(n).random((n, 3), np.float32) for n in (1, 4, 2)]
    sums, counts = ran(data, function="row_sums", num_outputs=2, dtype=[types.FLOAT64, types.INT32], numbers=[2.0])
    for index, array in enumerate(data):
        np.testing.assert_allclose(sums.at(index), 2 * array.sum(axis=1, dtype=float))
        assert counts.at(index) == len(array)


def test_errors_name_function_and_sample() -> None:
    data = [np.full((2, 3), value, np.float32) for value in (1, 2, 3)]
    kinds = {"function": "row_sums", "num_outputs": 2, "dtype": [types.FLOAT64, types.INT32]}
    with pytest.raises(DaliLabError, match=r"sample 1: rows: row 0 sums up to 6"):
        ran(data, **kinds, numbers=[1.0, 6.0])
    with pytest.raises(DaliLabError, match="rows: returned 7"):
        ran([array.astype(np.int32) for array in data], **kinds, numbers=[1.0])
    with pytest.raises(DaliLabError, match=r"no C function 'invrt'.*'invert'.*plugin\.c\.register"):
        ran(data, function="invrt")
    with pytest.raises(DaliLabError, match="its shapes are for 1 outputs, num_outputs is 2"):
        ran(data, **{**kinds, "function": "wrong"})
    with pytest.raises(DaliLabError, match="has 2 items for 1 outputs"):
        ran(data, function="invert", dtype=[types.UINT8, types.INT32])


def test_chunks_run_at_the_same_time() -> None:
    (met,) = ran([np.zeros(1, np.uint8)] * 8, threads=4, function="meet")
    assert any(met.at(index)[0] for index in range(8))


def test_what_cannot_be_registered(library: Path) -> None:
    with pytest.raises(ValueError, match=r"has no function 'nothing'.*extern \"C\""):
        c.register("nothing", library)
    with pytest.raises(OSError, match="nowhere"):
        c.register("invert", "./nowhere.so")
    with pytest.raises(DaliLabError, match=r"dali_lab\.plugin\.c, .*cuda_kernel.*numba_function"):
        plugin_manager.load_library("libmine.so")


def test_the_header_says_what_the_caller_does() -> None:
    header = Path(sysconfig.get_include_dir(), "dali_lab.h").read_text()
    assert int(re.findall(r"DALI_LAB_VERSION (\d+)", header)[0]) == c_functions.VERSION
    for name, number in re.findall(r"DALI_LAB_(\w+) = (\d+)", header):
        assert DALIDataType[name] == int(number)
    assert ctypes.sizeof(c_functions._Chunk) == 16 + 8 * 7
