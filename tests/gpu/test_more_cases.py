"""Operators without declared cases, and cases that only a GPU could get wrong, on the emulated device and the CPU."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from dali_lab.schema import Case, samples
from dali_lab.schema.operator import PerSample
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


CASES = [*jitters(), *noises()]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{index}" for index, (name, _) in enumerate(CASES)])
def test_agrees_with_the_cpu(name: str, case: Case) -> None:
    compare(run(name, case, "emulated", "gpu"), run(name, case, "never", "cpu"), Case(tolerance=case.tolerance))
