"""Operators without declared cases, and cases that only a GPU could get wrong, on the emulated device and the CPU."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from dali_lab.schema import Case, samples
from dali_lab.schema.cases import PerSample
from dali_lab.types import INTERP_CUBIC, INTERP_LANCZOS3, INTERP_LINEAR, INTERP_NN
from tests.conformance.harness import compare
from tests.gpu.cases import run

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)
PICTURES = samples.pictures()
FLOATS = samples.pictures(dtype=np.float32)
WORDS = samples.pictures(dtype=np.int16)
ODD = samples.pictures(((1, 1), (1, 9), (8, 2)))


def jitters() -> Iterator[tuple[str, Case]]:
    chosen = PerSample([np.int32(v) for v in (0, 1, 2)])
    for degree in (1, 2, 5, 8):
        yield "jitter", Case((PICTURES,), {"nDegree": degree}, batches=2)
    yield "jitter", Case((FLOATS,), {"nDegree": 3, "mask": chosen})
    yield "jitter", Case((samples.sequences(),), {"nDegree": 4})
    yield "jitter", Case((ODD,), {"nDegree": 7})


def noises() -> Iterator[tuple[str, Case]]:
    """Equal to the last bit where both devices have the functions of one library."""
    for dtype in (np.float32, np.int8, np.uint32, np.int32):
        yield "noise.gaussian", Case((samples.pictures(dtype=dtype),), {"stddev": 3.0}, batches=2)
    for dtype in (np.float32, np.int16, np.uint32):
        yield "noise.shot", Case((samples.pictures(dtype=dtype),), {"factor": 0.7})
    yield "noise.shot", Case((PICTURES,), {"factor": PerSample([np.float32(v) for v in (0, 1, 300)])})


def morphologies() -> Iterator[tuple[str, Case]]:
    sizes = PerSample([np.array(row, np.int32) for row in ((1, 4), (5, 3), (2, 2))])
    for name in ("experimental.dilate", "experimental.erode"):
        for border in ("constant", "replicate", "reflect", "wrap", "reflect_101"):
            yield name, Case((PICTURES,), {"border_mode": border, "mask_size": sizes})
            yield name, Case((WORDS,), {"border_mode": border, "mask_size": (4, 3), "anchor": (3, 0), "iterations": 2})
        yield name, Case((samples.planar(),), {"mask_size": (5, 1), "iterations": 3})
        yield name, Case((samples.sequences(),), {"mask_size": sizes})
        yield name, Case((FLOATS,), {"iterations": 0})
        yield name, Case((ODD,), {"mask_size": (9, 9), "border_mode": "replicate"})
    for dtype in (np.uint8, np.uint16, np.int16, np.int32, np.float32):
        yield "experimental.median_blur", Case((samples.pictures(dtype=dtype),), {"window_size": (3, 3)})
        yield "experimental.median_blur", Case((samples.pictures(dtype=dtype),), {"window_size": (1, 7)})
    yield "experimental.median_blur", Case((samples.planar(),), {"window_size": (9, 9)})
    yield "experimental.median_blur", Case((samples.sequences(),), {"window_size": (5, 3)})
    yield "experimental.median_blur", Case((ODD,), {"window_size": (5, 5)})


def remaps() -> Iterator[tuple[str, Case]]:
    shapes = ((19, 30), (40, 7), (5, 5))
    maps = [
        [samples.noise(shape, np.float32, seed) * 60 - 5 for seed, shape in enumerate(shapes, 7 * k)] for k in (0, 1)
    ]
    for interp in (INTERP_NN, INTERP_LINEAR, INTERP_CUBIC, INTERP_LANCZOS3):
        exact = interp == INTERP_NN
        for data in (PICTURES, WORDS, samples.pictures(dtype=np.uint16, channels=5)):
            for origin in ("corner", "center"):
                arguments = {"interp": interp, "pixel_origin": origin}
                yield "experimental.remap", Case((data, *maps), arguments, tolerance=0 if exact else 1)
        yield "experimental.remap", Case((FLOATS, *maps), {"interp": interp}, tolerance=0 if exact else 1e-5)
    yield "experimental.remap", Case((samples.sequences(), *maps), {"interp": INTERP_LINEAR}, tolerance=1)


CASES = [*jitters(), *noises(), *morphologies(), *remaps()]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{index}" for index, (name, _) in enumerate(CASES)])
def test_agrees_with_the_cpu(name: str, case: Case) -> None:
    compare(run(name, case, "emulated", "gpu"), run(name, case, "never", "cpu"), Case(tolerance=case.tolerance))
