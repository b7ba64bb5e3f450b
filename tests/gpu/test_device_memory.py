"""On a GPU: memory is given back, other libraries' memory makes room, and what does not fit is told.

Part of ``pytest -m gpu``. These tests take nearly all memory of the GPU for a moment: nothing should run beside them.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from tests.gpu.real import MODE, gpu, pipeline
from tests.programs import run_python

FOUND = gpu()
pytestmark = pytest.mark.gpu
LEFT = 256 << 20
"""Bytes that other libraries leave: less than a few batches need."""
EXAMPLE = Path(__file__).parents[2] / "examples" / "torchrun_training.py"


def test_batches_leave_no_memory_behind() -> None:
    made = pipeline()
    for _ in range(10):
        made.run()
    FOUND.stream("compute").synchronize()
    gc.collect()
    held, free = FOUND.arena.held, FOUND.memory()[0]
    for _ in range(200):
        made.run()
    FOUND.stream("compute").synchronize()
    assert FOUND.arena.held == held
    assert FOUND.memory()[0] >= free - (16 << 20)
    made.close()
    del made
    gc.collect()
    FOUND.arena.trim()
    assert FOUND.arena.in_use < 8 << 20


def test_pipelines_that_come_and_go_leave_no_memory_behind() -> None:
    for round_number in range(12):
        made = pipeline(128, 8)
        made.run()
        made.close()
        del made
        gc.collect()
        FOUND.arena.trim()
        if round_number == 3:
            free, slots = FOUND.memory()[0], len(FOUND.slots)
    assert FOUND.memory()[0] >= free - (8 << 20)
    assert len(FOUND.slots) <= slots + 8, "pinned memory is used again"


def test_memory_is_planned_before_the_first_batch() -> None:
    made = Pipeline(16, 2, 0, gpu=MODE)
    with made:
        pictures = np.ones((16, 300, 300, 3), np.uint8)
        images = fn.external_source(source=lambda: pictures, layout="HWC", dtype=types.UINT8).gpu()
        images = fn.color_space_conversion(images, image_type=types.RGB, output_type=types.GRAY)
        made.set_outputs(fn.resize(images, size=(900, 900)))
    made.build()
    assert " declared " in (made.gpu_memory() or {})["table"]
    assert FOUND.arena.held >= 2 * 16 * 900 * 900
    made.run()
    made.close()


def test_pressure_from_cupy_is_relieved() -> None:
    cupy = pytest.importorskip("cupy")
    FOUND.arena.trim()
    # CuPy keeps nearly all memory in its pool; it is asked to give it back when a batch does not fit.
    block = cupy.empty(FOUND.memory()[0] - LEFT, cupy.uint8)
    del block
    outputs = [pipeline(512, 64).run()[0] for _ in range(4)]
    assert all(output.as_cpu().as_array().shape == (64, 3, 512, 512) for output in outputs)


def test_pressure_from_torch_is_relieved() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    FOUND.arena.trim()
    block = torch.empty(FOUND.memory()[0] - LEFT, dtype=torch.uint8, device="cuda")
    kept = block[: 1 << 20].clone()
    del block
    outputs = [pipeline(512, 64).run()[0] for _ in range(4)]
    assert all(output.as_cpu().as_array().shape == (64, 3, 512, 512) for output in outputs)
    assert kept.sum() >= 0
    del kept
    torch.cuda.empty_cache()


def test_a_batch_larger_than_the_cap_says_what_to_do() -> None:
    FOUND.arena.trim()
    FOUND.arena.limit = FOUND.arena.held + (8 << 20)
    try:
        with pytest.raises(dali_lab.DaliLabError, match="out of GPU memory"):
            pipeline(512, 64).run()
    finally:
        FOUND.arena.limit = None
    assert pipeline(32, 2).run()[0].as_cpu().as_array().shape == (2, 3, 32, 32)


def test_a_sample_larger_than_the_gpu_is_told_with_the_table_and_the_pipeline_goes_on() -> None:
    edge = int((FOUND.memory()[1] * 1.2 / 3) ** 0.5)
    sizes = iter([(64, 64), (edge, edge), (64, 64), (64, 64), (64, 64)])
    made = Pipeline(1, 1, 0, gpu=MODE, prefetch_queue_depth=1)
    with made:
        images = fn.external_source(source=lambda: np.ones((1, 40, 40, 3), np.uint8), layout="HWC").gpu()
        size = fn.external_source(source=lambda: [np.array(next(sizes), np.float32)])
        made.set_outputs(fn.resize(images, size=size, name="large"))
    assert made.run()[0].shape() == [(64, 64, 3)]
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)node 'large'.*out of GPU memory.*tried once more"):
        made.run()
    assert made.run()[0].shape() == [(64, 64, 3)]
    made.close()


def test_the_example_for_several_gpus_trains_on_this_one(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    rng = np.random.default_rng(0)
    for index in range(20):
        folder = tmp_path / f"class{index % 2}"
        folder.mkdir(exist_ok=True)
        cv2.imwrite(str(folder / f"{index}.jpg"), rng.integers(0, 255, (70, 80, 3)).astype(np.uint8))
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", str(EXAMPLE), str(tmp_path)]
    assert "1 x cuda" in run_python(*command, "--epochs", "1", "--batch-size", "4").stdout
