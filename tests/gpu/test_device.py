"""On a GPU: every case against the CPU, iterators, memory pressure, leaks. ``pytest -m gpu`` runs this alone."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.device.interface import Device, DeviceError
from dali_lab.executor.placement import find_device
from dali_lab.schema import Case, all_operators
from tests.conformance.harness import compare
from tests.gpu.cases import cases, place, run

LEVEL = 1.0
REAL = 2e-6
SHARE = 1e-3
"""CUDA's sine, exponential and so on differ from the C library's in the last bits: real numbers by this much of the
largest one, and a share of whole numbers by a level."""


def _device() -> Device | str:
    try:
        return find_device("require")
    except DeviceError as error:
        return str(error)


FOUND = _device()
if isinstance(FOUND, str):
    pytest.skip(FOUND, allow_module_level=True)
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("name", "case"), [pytest.param(name, case, id=label) for name, label, case in cases()])
def test_agrees_with_the_cpu(name: str, case: Case) -> None:
    assert isinstance(FOUND, Device)
    if place(name) == "mixed" and not FOUND.decodes:
        pytest.skip("nvImageCodec cannot decode on the GPU here")
    ours = run(name, case, "require", place(name))
    theirs = run(name, case, "never", "cpu")
    operator = all_operators()[name]
    tolerance, share = operator.gpu_tolerance[0], max(SHARE, operator.gpu_share)
    for our_row, their_row in zip(ours, theirs, strict=True):
        for our_output, their_output in zip(our_row, their_row, strict=True):
            real = np.dtype(their_output["samples"][0].dtype).kind == "f" if their_output["samples"] else False
            largest = max((np.abs(s.astype(np.float64)).max(initial=0) for s in their_output["samples"]), default=0)
            decoded = place(name) == "mixed"
            allowed = (
                Case(tolerance=max(tolerance, REAL * largest))
                if real
                else Case(tolerance=max(LEVEL, tolerance), fraction=share)
            )
            if decoded:  # another decoder: its inverse transform and its chroma differ by a few levels
                allowed = Case(tolerance=24.0, fraction=0.02)
            compare([[our_output]], [[their_output]], allowed)


def _pipeline(size: int = 224, batch: int = 32, **settings: Any) -> Pipeline:
    pipeline = Pipeline(batch, 4, 0, seed=7, gpu="require", **settings)
    rng = np.random.default_rng(3)
    pictures = [rng.integers(0, 255, (300 + k, 400, 3)).astype(np.uint8) for k in range(batch)]
    with pipeline:
        images = fn.external_source(source=lambda: pictures, layout="HWC").gpu()
        images = fn.random_resized_crop(images, size=(size, size))
        images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True, fill_value=0)
        pipeline.set_outputs(fn.crop_mirror_normalize(images, mean=[120.0], std=[60.0]))
    return pipeline


def _plain(size: int, batch: int) -> Pipeline:
    device = Pipeline(batch, 4, 0, seed=7, gpu="never")
    rng = np.random.default_rng(3)
    pictures = [rng.integers(0, 255, (300 + k, 400, 3)).astype(np.uint8) for k in range(batch)]
    with device:
        images = fn.external_source(source=lambda: pictures, layout="HWC")
        images = fn.random_resized_crop(images, size=(size, size))
        images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True, fill_value=0)
        device.set_outputs(fn.crop_mirror_normalize(images, mean=[120.0], std=[60.0]))
    return device


def test_many_batches_agree_while_memory_is_used_again() -> None:
    ours, theirs = _pipeline(64, 8), _plain(64, 8)
    for _ in range(30):
        difference = np.abs(ours.run()[0].as_cpu().as_array() - theirs.run()[0].as_array())
        assert difference.max() <= 1 / 60 + 1e-4 and (difference > 1e-4).mean() < SHARE


def test_torch_gets_the_memory_itself_in_the_order_of_its_stream() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    from dali_lab.plugin.pytorch import DALIGenericIterator

    expected = _plain(64, 8)
    iterator = DALIGenericIterator(_pipeline(64, 8), ["data"], size=80)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for row in iterator:
            data = row[0]["data"]
            assert data.is_cuda and data.shape == (8, 3, 64, 64)
            total = data.double().sum()  # on torch's stream, with no synchronisation before
            wanted = expected.run()[0].as_array().astype(np.float64).sum()
            assert abs(float(total) - wanted) <= 1e-4 * abs(wanted) + 8


def test_cupy_sees_the_memory_by_both_protocols() -> None:
    cupy = pytest.importorskip("cupy")
    tensor = _pipeline(32, 4).run()[0].as_tensor()
    expected = np.array(tensor.as_cpu())
    assert (cupy.asnumpy(cupy.asarray(tensor)) == expected).all()
    assert (cupy.asnumpy(cupy.from_dlpack(tensor)) == expected).all()


def test_batches_leave_no_memory_behind() -> None:
    assert isinstance(FOUND, Device)
    pipeline = _pipeline()
    for _ in range(10):
        pipeline.run()
    FOUND.stream("compute").synchronize()
    gc.collect()
    held, free = FOUND.arena.held, FOUND.memory()[0]
    for _ in range(200):
        pipeline.run()
    FOUND.stream("compute").synchronize()
    assert FOUND.arena.held == held
    assert FOUND.memory()[0] >= free - (16 << 20)
    pipeline.close()
    del pipeline
    gc.collect()
    FOUND.arena.trim()
    assert FOUND.arena.in_use < 8 << 20


def test_pressure_from_torch_and_cupy_is_relieved() -> None:
    cupy = pytest.importorskip("cupy")
    assert isinstance(FOUND, Device)
    free = FOUND.memory()[0]
    # CuPy keeps nearly all memory in its pool; it is asked to give it back when a batch does not fit.
    block = cupy.empty(int(free * 0.97), cupy.uint8)
    del block
    outputs = [_pipeline(512, 64).run()[0] for _ in range(4)]
    assert all(output.as_cpu().as_array().shape == (64, 3, 512, 512) for output in outputs)


def test_a_batch_larger_than_the_cap_says_what_to_do() -> None:
    assert isinstance(FOUND, Device)
    FOUND.arena.trim()
    FOUND.arena.limit = FOUND.arena.held + (8 << 20)
    try:
        with pytest.raises(dali_lab.DaliLabError, match="out of GPU memory"):
            _pipeline(512, 64).run()
    finally:
        FOUND.arena.limit = None
    assert _pipeline(32, 2).run()[0].as_cpu().as_array().shape == (2, 3, 32, 32)
