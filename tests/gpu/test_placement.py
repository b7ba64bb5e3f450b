"""Nodes that are placed on a GPU and run on the CPU: said with the reason, or refused where a GPU is required."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import imagecodecs
import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from dali_lab.errors import GraphError
from dali_lab.executor import placement
from dali_lab.schema.cases import Case, PerSample
from tests.gpu.cases import run


@pytest.fixture
def require(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated device stands for the GPU that is required."""
    emulated = placement.find_device("emulated")
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: emulated)


def test_an_operator_without_a_gpu_version_runs_on_the_cpu_and_says_so(require: None) -> None:
    def make(gpu: str) -> Pipeline:
        pipeline = Pipeline(2, 1, 0, gpu=gpu)
        with pipeline:
            source = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC", device="gpu")
            mine = fn.python_function(source, function=lambda x: x + 1, device="gpu", name="mine")
            pipeline.set_outputs(fn.cast(mine, dtype=types.FLOAT, device="gpu"))
        return pipeline

    with pytest.warns(UserWarning, match="mine.*no GPU version"):
        output = make("emulated").run()[0]
    assert type(output).__name__ == "TensorListGPU"
    assert (output.as_cpu().as_array() == 2).all()
    with pytest.raises(GraphError, match=r"(?s)mine.*device='cpu'"):
        make("require").build()


ON_THE_CPU: dict[str, tuple[Callable[[Any], Any], str]] = {
    "vng": (lambda data: fn.debayer(data, blue_position=[0, 0], algorithm="vng_ocv"), "vng_ocv"),
    "deflate": (lambda data: fn.decoders.inflate(data, shape=[4], algorithm="DEFLATE"), "DEFLATE"),
    "flow": (lambda data: fn.optical_flow(data), "unit that a GPU has"),
}


@pytest.mark.parametrize("name", ON_THE_CPU)
def test_what_runs_on_the_cpu_is_refused_where_a_gpu_is_required(name: str, require: None) -> None:
    make, reason = ON_THE_CPU[name]
    pipeline = Pipeline(2, 1, 0, gpu="require")
    with pipeline:
        pipeline.set_outputs(make(fn.external_source(source=list, device="gpu")))
    with pytest.raises(GraphError, match=f"(?s){reason}.*device='cpu'"):
        pipeline.build()


def test_a_decoder_that_cannot_use_the_gpu_is_refused(require: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement.find_device("require"), "decodes", False)
    pipeline = Pipeline(1, 1, 0, gpu="require")
    with pipeline:
        pipeline.set_outputs(fn.decoders.image(fn.external_source(source=list), device="mixed"))
    with pytest.raises(GraphError, match="nvidia-nvimgcodec-cu13"):
        pipeline.build()


def _packed() -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Chunks of different numbers in three samples, packed, with their sizes."""
    rng = np.random.default_rng(5)
    rows = [[np.repeat(rng.integers(0, 9, 60), 5 + k).astype(np.uint8)[:300] for k in range(n)] for n in (1, 4, 2)]
    packed = [[np.frombuffer(imagecodecs.lz4_encode(chunk.tobytes()), np.uint8) for chunk in row] for row in rows]
    sizes = [np.array([len(chunk) for chunk in row], np.int32) for row in packed]
    return [np.stack(row) for row in rows], [np.concatenate(row) for row in packed], sizes


@pytest.mark.parametrize("checked", [False, True])
def test_lz4_is_unpacked_on_the_device(checked: bool) -> None:
    chunks, packed, sizes = _packed()
    arguments = {"shape": (30, 5), "dtype": types.INT16, "chunk_sizes": PerSample(sizes), "check_output_size": checked}
    ((result,),) = run("decoders.inflate", Case((packed,), arguments), "emulated", "gpu")
    for found, expected in zip(result["samples"], chunks, strict=True):
        np.testing.assert_array_equal(found, expected.view(np.int16).reshape(-1, 30, 5), strict=True)


def test_lz4_that_is_damaged_stays_in_its_memory_and_is_told_when_asked_for() -> None:
    rng = np.random.default_rng(7)
    whole = np.frombuffer(imagecodecs.lz4_encode(bytes(range(50)) * 8), np.uint8)
    damaged = []
    for _ in range(60):
        data = whole[: rng.integers(1, len(whole) + 1)].copy()
        data[rng.integers(0, len(data), 2)] = rng.integers(0, 256, 2)
        damaged.append(data)
    case = Case((damaged,), {"shape": (400,)}, batch_size=60)
    ((result,),) = run("decoders.inflate", case, "emulated", "gpu")
    assert all(sample.shape == (400,) for sample in result["samples"])
    for data, words in ((whole[:20], "cannot unpack"), (np.concatenate([whole[:-5]]), "sample 1")):
        bad = Case(([whole, data],), {"shape": (400,), "check_output_size": True}, batch_size=2)
        with pytest.raises(dali_lab.DaliLabError, match=words):
            run("decoders.inflate", bad, "emulated", "gpu")
    short = Case(([whole],), {"shape": (401,), "check_output_size": True}, batch_size=1)
    with pytest.raises(dali_lab.DaliLabError, match="401 bytes, and 400 were packed"):
        run("decoders.inflate", short, "emulated", "gpu")
