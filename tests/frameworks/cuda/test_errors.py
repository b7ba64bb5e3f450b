"""Error messages where a GPU cannot be used; stand-ins for CuPy, since no machine has all of these faults."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.device import cuda
from dali_lab.device.emulated import EmulatedDevice
from dali_lab.errors import GraphError
from dali_lab.executor import placement
from dali_lab.kernels.cuda import nvrtc
from dali_lab.model.errors import DeviceError, SampleError
from tests.gpu import cupy_stand_in
from tests.gpu.test_cuda_code import device, make_flipped

__all__ = ["device"]


class RuntimeFault(RuntimeError):
    """As CuPy raises."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


def _cupy(
    count: int = 1, status: int = 0, driver: int = 13000, capability: tuple[int, int] = (9, 0), busy: int = 0
) -> Any:
    def devices() -> int:
        if status:
            raise RuntimeFault(status)
        return count

    def memory() -> tuple[int, int]:
        raise RuntimeFault(busy)

    runtime = SimpleNamespace(
        memGetInfo=memory,
        getDevice=lambda: 0,
        getDeviceCount=devices,
        driverGetVersion=lambda: driver,
        runtimeGetVersion=lambda: 13020,
        deviceGetAttribute=lambda which, index: capability[which - 75],
        CUDARuntimeError=RuntimeFault,
    )
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


@pytest.mark.parametrize(
    ("fault", "index", "words"),
    [
        ({"status": 35, "driver": 0}, 0, ["no NVIDIA driver"]),
        ({"status": 35, "driver": 12020}, 0, ["driver is too old", "12.2", "13.2", "update", "cupy-cuda12x"]),
        ({"status": 100}, 0, ["no GPU", "CUDA_VISIBLE_DEVICES"]),
        ({"count": 2}, 5, ["no GPU 5", "2 GPUs", "0 to 1", "device_id"]),
        ({"capability": (7, 0)}, 0, ["7.0", "7.5"]),
        ({"busy": 46}, 0, ["GPU 0 cannot be used", "46", "nvidia-smi", "device_id"]),
        ({"status": 3}, 0, ["forked", "'spawn'"]),
        ({"busy": 3}, 0, ["forked", "'spawn'"]),  # the number of GPUs is known from the parent
    ],
)
def test_a_device_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any], index: int, words: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", _cupy(**fault))
    with pytest.raises(DeviceError) as caught:
        cuda.CudaDevice(index)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "index", "words"),
    [
        ({"status": 35, "driver": 0}, 0, "no NVIDIA driver"),
        ({"status": 35, "driver": 12020}, 0, "driver is too old"),
        ({"status": 100}, 0, "CUDA_VISIBLE_DEVICES"),
        ({"count": 2}, 5, "no GPU 5"),
        ({"capability": (7, 0)}, 0, "7.5"),
        ({"busy": 46}, 0, "cannot be used.*nvidia-smi"),
        (None, 0, "dali-lab\\[gpu\\]"),
    ],
    ids=["no driver", "old driver", "no GPU", "no such GPU", "old GPU", "busy GPU", "no CuPy"],
)
def test_a_pipeline_says_so_and_runs_on_the_cpu_or_is_refused(
    monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any] | None, index: int, words: str
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None if fault is None else _cupy(**fault))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def make(mode: str) -> Pipeline:
        pipeline = Pipeline(2, 1, index, gpu=mode)
        with pipeline:
            images = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC")
            pipeline.set_outputs(fn.flip(images.gpu(), name="mine"))
        return pipeline

    with pytest.raises(GraphError, match=f"(?s){words}.*mine"):
        make("require").build()
    usable = make("auto")
    with pytest.warns(UserWarning, match=f"(?s){words}.*mine.*DALI_LAB_GPU=require"):
        usable.build()
    assert usable.run()[0].as_cpu().as_array().shape == (2, 4, 4, 3)
    usable.close()


def test_cupy_that_is_missing_or_for_another_cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "cupy.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with pytest.raises(DeviceError, match=r"libcudart.*cupy-cuda13x"):
        cuda.load_cupy()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"dali-lab\[gpu\]|cupy-cuda13x"):
        cuda.load_cupy()


def test_the_cpu_remains_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(mode: str, index: int = 0) -> None:
        raise DeviceError("the NVIDIA driver is too old")

    monkeypatch.setattr(placement, "find_device", refuse)
    pipeline = Pipeline(2, 1, 0, gpu="auto")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC")
        pipeline.set_outputs(fn.flip(images.gpu()))
    with pytest.warns(UserWarning, match="driver is too old.*run on the CPU.*DALI_LAB_GPU=require"):
        pipeline.build()
    assert pipeline.run()[0].as_cpu().as_array().shape == (2, 4, 4, 3)


def test_what_is_no_picture_is_told_by_a_mixed_decoder_too() -> None:
    @dali_lab.pipeline_def(batch_size=1, num_threads=1, device_id=0, gpu="emulated")
    def broken() -> object:
        return fn.decoders.image(fn.external_source(lambda: [np.frombuffer(b"junk", np.uint8)]), device="mixed")

    with pytest.raises(SampleError, match="not an image"):
        broken().run()


def test_a_cap_on_memory_in_several_units() -> None:
    total = 16 << 30
    sizes = [cuda.memory_size(text, total) for text in ("8GiB", "500MiB", "0.5", "50%", "1000000")]
    assert sizes == [8 << 30, 500 << 20, 8 << 30, 8 << 30, 1000000]


def test_what_cannot_be_started_is_told_of_the_node_it_belongs_to() -> None:
    from dali_lab.plugin import cuda as kernels

    kernels.register("wrong", source="__device__ void wrong(const Sample& s, i64 i) { s.out[i] = nonsense; }")
    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC").gpu()
        flipped = fn.flip(images, name="flipped")
        odd = fn.experimental.cuda_kernel(flipped, kernel="wrong", name="odd")
        pipeline.set_outputs(fn.flip(odd, name="again"))
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)node 'odd'.*run_wrong.*nonsense"):
        pipeline.run()
    pipeline.close()


def test_a_sample_larger_than_memory_is_told_with_its_node_and_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    small = EmulatedDevice(capacity=8 << 20)
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: small)
    pipeline = Pipeline(1, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((1, 400, 400, 3), np.uint8), layout="HWC").gpu()
        flipped = fn.flip(images, name="flipped")
        pipeline.set_outputs(fn.resize(flipped, size=(4000, 4000), name="large"))
    with pytest.raises(dali_lab.DaliLabError) as caught:
        pipeline.run()
    message = str(caught.value)
    assert "node 'large'" in message and "out of GPU memory" in message and "tried once more" in message
    assert "flipped " in message and "0.5 MiB" in message, message
    pipeline.close()


def test_a_pipeline_goes_on_after_a_sample_that_was_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    small = EmulatedDevice(capacity=8 << 20)
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: small)
    sizes = iter([(64, 64), (4000, 4000), (64, 64), (64, 64), (64, 64), (64, 64)])
    pipeline = Pipeline(1, 1, 0, gpu="emulated", prefetch_queue_depth=1)
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((1, 40, 40, 3), np.uint8), layout="HWC").gpu()
        size = fn.external_source(source=lambda: [np.array(next(sizes), np.float32)])
        pipeline.set_outputs(fn.resize(images, size=size, name="large"))
    assert pipeline.run()[0].shape() == [(64, 64, 3)]
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)node 'large'.*out of GPU memory.*tried once more"):
        pipeline.run()
    for _ in range(2):
        output = pipeline.run()[0].as_cpu()
        assert output.shape() == [(64, 64, 3)] and (output.as_array() == 1).all()
    pipeline.close()


def test_code_that_the_driver_cannot_load_says_what_to_do(
    device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(module: Any, cubin: bytes) -> None:
        raise RuntimeError("CUDA_ERROR_INVALID_IMAGE")

    with monkeypatch.context() as patch:
        patch.setattr(cupy_stand_in.Module, "load", load)
        patch.setattr(nvrtc, "compiled_again", nvrtc.cubin)
        pipeline = make_flipped()
        with pytest.raises(dali_lab.DaliLabError, match=r"(?s)'mine'.*CUDA 13\.0.*INVALID_IMAGE.*Update the driver"):
            pipeline.run()
        pipeline.close()
    assert (make_flipped().run()[0].as_cpu().as_array() == 1).all(), "what was refused is tried again"
