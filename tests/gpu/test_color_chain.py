"""Colour operators in a row are one launch on a GPU, and give what they give one after the other on the CPU."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from dali_lab import Pipeline, fn, types
from tests.unit.graph.test_color_chain import PICTURES, Definition, chain

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the emulated device needs a C++ compiler"
)


def _pipeline(define: Definition, data: list[np.ndarray], layout: str, gpu: str) -> Pipeline:
    pipeline = Pipeline(len(data), 2, 0, seed=5, gpu=gpu, optimize=gpu != "never")
    with pipeline:
        images = fn.external_source(source=lambda: data, layout=layout)
        pipeline.set_outputs(define(images if gpu == "never" else images.gpu()))
    pipeline.build()
    return pipeline


def same_on_both(define: Definition, data: list[np.ndarray], layout: str = "HWC") -> Pipeline:
    """The pipeline on the emulated device, whose outputs were those of the CPU without passes."""
    ours, plain = (_pipeline(define, data, layout, gpu) for gpu in ("emulated", "never"))
    for _ in range(2):
        found, expected = ours.run()[0].as_cpu(), plain.run()[0]
        for index in range(len(data)):
            np.testing.assert_array_equal(found.at(index), expected.at(index), strict=True)
    plain.close()
    return ours


@pytest.mark.parametrize("number", range(12))
def test_random_chains(number: int) -> None:
    ours = same_on_both(chain(number), PICTURES)
    rows = [row for row in ours.executor_statistics().values() if "gpu_launches" in row]
    assert [row["gpu_launches"] for row in rows] == [1]
    ours.close()


def _twice(images: Any) -> Any:
    return fn.brightness(fn.contrast(images, contrast=1.3), brightness=0.7)


def test_what_is_no_picture_goes_through_the_operators_in_turn() -> None:
    rng = np.random.default_rng(3)
    sequences = [rng.integers(0, 255, (frames, 6, 5, 3)).astype(np.uint8) for frames in (2, 1)]
    same_on_both(_twice, sequences, "FHWC").close()
    same_on_both(_twice, [rng.integers(0, 255, (6, 5, 1)).astype(np.uint8)] * 2).close()
    floats = [rng.random((6, 5, 3)).astype(np.float32)] * 2
    same_on_both(_twice, floats).close()


def test_a_chain_ends_where_the_device_changes() -> None:
    def define(images: Any) -> Any:
        return fn.brightness(fn.contrast(images, contrast=1.3), brightness=0.7).gpu()

    pipeline = Pipeline(4, 2, 0, gpu="emulated")
    with pipeline:
        images = define(fn.external_source(source=lambda: PICTURES, layout="HWC"))
        pipeline.set_outputs(fn.hue(fn.saturation(images, saturation=0.5), hue=30.0))
    found = pipeline.run()[0].as_cpu()
    plan = pipeline._built().plan
    assert sorted((step.node.op, step.gpu) for step in plan.steps() if step.node.op == "_color_chain") == [
        ("_color_chain", False),
        ("_color_chain", True),
    ]
    plain = Pipeline(4, 2, 0, gpu="never", optimize=False)
    with plain:
        images = define(fn.external_source(source=lambda: PICTURES, layout="HWC"))
        plain.set_outputs(fn.hue(fn.saturation(images, saturation=0.5), hue=30.0))
    expected = plain.run()[0].as_cpu()
    for index in range(4):
        np.testing.assert_array_equal(found.at(index), expected.at(index))
    assert found.dtype == types.UINT8
    pipeline.close()
    plain.close()
