"""Functions that Numba compiles, as operators, in both engines."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import types

SHAPES = ((4, 6, 3), (5, 2, 3), (1, 1, 3))
IMAGES = [np.random.default_rng(index).integers(0, 256, shape, np.uint8) for index, shape in enumerate(SHAPES)]


def invert(out: Any, image: Any) -> None:
    for i, j, k in np.ndindex(image.shape):
        out[i, j, k] = 255 - image[i, j, k]


def invert_batch(outs: Any, images: Any) -> None:
    for index in range(len(outs)):
        out, image = outs[index], images[index]
        for i, j, k in np.ndindex(image.shape):
            out[i, j, k] = 255 - image[i, j, k]


def measure(rows: Any, turned: Any, image: Any) -> None:
    for i in range(image.shape[0]):
        rows[i] = image[i].sum()
    for i, j, k in np.ndindex(turned.shape):
        turned[i, j, k] = image[j, i, k] * np.float32(0.5)


def measured_shapes(outs: Any, ins: Any) -> None:
    for index in range(len(ins[0])):
        outs[0][index][0] = ins[0][index][0]
        outs[1][index][0] = ins[0][index][1]
        outs[1][index][1] = ins[0][index][0]
        outs[1][index][2] = ins[0][index][2]


def broken(out: Any, image: Any) -> None:
    out[:] = unknown_name(image)  # type: ignore[name-defined]  # noqa: F821


ONE = {"in_types": ["UINT8"], "out_types": ["UINT8"], "ins_ndim": [3], "outs_ndim": [3]}
PROGRAMS: dict[str, dict[str, Any]] = {
    "sample": {**ONE, "run_fn": invert},
    "batch": {**ONE, "run_fn": invert_batch, "batch_processing": True},
    "outputs": {
        **ONE,
        "run_fn": measure,
        "setup_fn": measured_shapes,
        "out_types": ["INT64", "FLOAT"],
        "outs_ndim": [1, 3],
    },
}


def run(engine: Any, options: dict[str, Any]) -> list[list[Any]]:
    module = importlib.import_module(f"{engine.__name__}.plugin.numba.fn.experimental")
    named = {
        key: [getattr(engine.types, name) for name in value] if key.endswith("types") else value
        for key, value in options.items()
    }
    pipeline = engine.Pipeline(len(IMAGES), 2, None)
    with pipeline:
        nodes = module.numba_function(engine.fn.external_source(source=lambda: IMAGES, layout="HWC"), **named)
        pipeline.set_outputs(*(nodes if isinstance(nodes, list) else [nodes]))
    pipeline.build()
    return [[output.layout(), *(np.array(output.at(i)) for i in range(len(IMAGES)))] for output in pipeline.run()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_dali(name: str) -> None:
    oracle = pytest.importorskip("nvidia.dali")
    ours, theirs = (run(engine, PROGRAMS[name]) for engine in (dali_lab, oracle))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine[0] == other[0]
        for left, right in zip(mine[1:], other[1:], strict=True):
            assert left.dtype == right.dtype and np.array_equal(left, right)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run_fn": broken}, "unknown_name"),
        ({"run_fn": 3}, "takes a function"),
        ({"ins_ndim": [3, 3]}, "1 in_types, 2 ins_ndim"),
        ({"in_types": ["FLOAT"]}, "`in_types` at index 0 .*: uint8 != float"),
        ({"ins_ndim": [2], "outs_ndim": [2]}, "`ins_ndim` at index 0 .*: 3 != 2"),
        ({"outs_ndim": [2]}, "setup_fn"),
        ({"out_types": ["FLOAT16"]}, "FLOAT16"),
        ({"in_types": ["UINT8"] * 2, "ins_ndim": [3] * 2, "outs_ndim": [3] * 2, "out_types": ["UINT8"] * 2}, "1 input"),
    ],
)
def test_wrong_declarations(change: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words) as caught:
        run(dali_lab, {**ONE, "run_fn": invert, **change})
    assert "numba_function" in str(caught.value) and "test_numba_function.py" in str(caught.value)


def test_objects() -> None:
    from dali_lab.plugin.numba import NumbaFunction

    pipeline = dali_lab.Pipeline(3, 1, None)
    with pipeline:
        halve = NumbaFunction(invert, types.UINT8, types.UINT8, 3, 3)
        pipeline.set_outputs(halve(dali_lab.fn.external_source(source=lambda: IMAGES)))
    assert np.array_equal(pipeline.run()[0].at(1), 255 - IMAGES[1])
