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


LAST = 0.04
"""Share of elements of a small sample that OpenCV's vector code rounds to the next level: 1 in 50 in larger ones."""


def remaps() -> Iterator[tuple[str, Case]]:
    shapes = ((19, 30), (40, 7), (5, 5))
    maps = [
        [samples.noise(shape, np.float32, seed) * 60 - 5 for seed, shape in enumerate(shapes, 7 * k)] for k in (0, 1)
    ]
    for interp in (INTERP_NN, INTERP_LINEAR, INTERP_CUBIC, INTERP_LANCZOS3):
        exact = interp in (INTERP_NN, INTERP_LINEAR)
        for data in (PICTURES, WORDS, samples.pictures(dtype=np.uint16, channels=5)):
            for origin in ("corner", "center"):
                arguments = {"interp": interp, "pixel_origin": origin}
                yield "experimental.remap", Case((data, *maps), arguments, fraction=0 if exact else LAST)
        yield "experimental.remap", Case((FLOATS, *maps), {"interp": interp}, tolerance=0 if exact else 1e-5)
    yield "experimental.remap", Case((samples.sequences(), *maps), {"interp": INTERP_LINEAR})
    yield "experimental.remap", Case((samples.pictures(channels=2), *maps), {"interp": INTERP_LINEAR})


def projections() -> Iterator[tuple[str, Case]]:
    matrix = (1.0, 0.2, -3.0, 0.1, 0.9, 2.0, 0.001, 0.002, 1.0)
    name = "experimental.warp_perspective"
    for dtype in (np.uint8, np.uint16, np.int16, np.float32):
        small = 1e-5 if dtype == np.float32 else 0
        for interp in (INTERP_NN, INTERP_LINEAR, INTERP_CUBIC):
            more = {"matrix": matrix, "interp_type": interp, "fill_value": (7.0,)}
            data = samples.pictures(dtype=dtype, channels=3)
            yield name, Case((data,), {**more, "border_mode": "reflect"}, tolerance=small, fraction=LAST)
            # Two channels are interpolated in another way.
            pair = samples.pictures(dtype=dtype, channels=2)
            exact = interp != INTERP_CUBIC
            yield name, Case((pair,), more, tolerance=1e-4 if small else 0, fraction=0 if exact else LAST)
    for border in ("constant", "wrap"):
        yield name, Case((samples.planar(),), {"matrix": matrix, "border_mode": border}, fraction=LAST)
    singular = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    yield name, Case((PICTURES,), {"matrix": singular, "inverse_map": False, "border_mode": "replicate"})
    yield name, Case((ODD,), {"matrix": matrix, "border_mode": "reflect_101", "size": (9, 11)}, fraction=LAST)


def standards() -> Iterator[tuple[str, Case]]:
    """A deviation that is found about a mean of another shape than what is left of the axes."""
    data = (samples.tensors([(3, 4), (2, 4), (6, 4)]), "HW")
    row = PerSample([np.array([[0.1, 0.2, 0.3, 0.4]], np.float32) * factor for factor in (1, 2, 0.5)])
    whole = PerSample([np.full((rows, 4), 0.5, np.float32) for rows in (3, 2, 6)])
    for axes in ([0, 1], [1], [0]):
        for mean in (row, whole):
            yield "normalize", Case((data,), {"axes": axes, "mean": mean}, tolerance=1e-6)


CASES = [*jitters(), *noises(), *morphologies(), *remaps(), *projections(), *standards()]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{index}" for index, (name, _) in enumerate(CASES)])
def test_agrees_with_the_cpu(name: str, case: Case) -> None:
    found, expected = run(name, case, "emulated", "gpu"), run(name, case, "never", "cpu")
    compare(found, expected, Case(tolerance=case.tolerance, fraction=case.fraction))
    if case.fraction and name.startswith("experimental.") and case.arguments.get("interp_type") != INTERP_NN:
        compare(found, expected, Case(tolerance=1))
