"""The code for GPUs, run over a stand-in for CuPy: calls, types of arguments, lifetimes. No GPU takes part."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from dali_lab.device import cuda
from dali_lab.device.interface import FilePart
from dali_lab.executor import placement
from dali_lab.kernels.cuda import nvrtc
from dali_lab.kernels.cuda.kernel import Variant
from dali_lab.plugin import cuda as user_kernels
from tests.gpu import cupy_stand_in

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="the stand-in needs a C++ compiler"
)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> cuda.CudaDevice:
    stand_in = cupy_stand_in.module()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    monkeypatch.setitem(sys.modules, "cupy.cuda", stand_in.cuda)
    monkeypatch.setattr(cuda, "_decodes", lambda device: False)
    monkeypatch.setattr(nvrtc, "target", lambda major, minor: f"sm_{major}{minor}")

    def cubin(variant: Variant, architecture: str) -> bytes:
        assert architecture == "sm_90"
        number = str(len(cupy_stand_in.Module.variants)).encode()
        cupy_stand_in.Module.variants[number] = variant
        return number

    monkeypatch.setattr(nvrtc, "cubin", cubin)
    made = cuda.CudaDevice(0)
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: made)
    return made


def _pipeline(gpu: str) -> Pipeline:
    rng = np.random.default_rng(3)
    pictures = [rng.integers(0, 255, (30 + k, 40, 3)).astype(np.uint8) for k in range(4)]
    pipeline = Pipeline(4, 2, 0, seed=7, gpu=gpu)
    with pipeline:
        images = fn.external_source(source=lambda: pictures, layout="HWC")
        images = fn.random_resized_crop(images.gpu() if gpu == "require" else images, size=(16, 20))
        images = fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True, fill_value=0)
        pipeline.set_outputs(fn.crop_mirror_normalize(images, mean=[120.0], std=[60.0]), images)
    return pipeline


def test_a_pipeline_gives_what_the_cpu_gives(device: cuda.CudaDevice) -> None:
    ours, theirs = _pipeline("require"), _pipeline("never")
    for _ in range(6):
        for own, other in zip(ours.run(), theirs.run(), strict=True):
            assert (own.as_cpu().as_array() == other.as_array()).all()
    statistics = ours.executor_statistics()
    assert any(row.get("gpu_seconds", 0) > 0 for row in statistics.values())
    ours.close()
    del own
    device.arena.trim()
    assert device.arena.held == sum(block.nbytes - 256 for block in device.runtime.memory.values())


def test_outputs_are_handed_over_without_a_copy(device: cuda.CudaDevice) -> None:
    pipeline = _pipeline("require")
    tensor = pipeline.run()[1].as_tensor()
    expected = np.array(tensor.as_cpu())
    interface = tensor.__cuda_array_interface__
    assert interface["data"][0] in range(*_span(device)) and interface["stream"] > 1
    assert tensor.__dlpack_device__() == (2, 0)

    class OnCpu:  # the stand-in's memory is the CPU's
        def __dlpack__(self, **options: Any) -> Any:
            return tensor.__dlpack__(stream=1, **options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert (np.from_dlpack(OnCpu()) == expected).all()
    pipeline.close()


def _span(device: cuda.CudaDevice) -> tuple[int, int]:
    places = [(address, address + block.nbytes) for address, block in device.runtime.memory.items()]
    return min(start for start, _ in places), max(end for _, end in places)


@pytest.mark.parametrize("no_copy", [False, True])
def test_arrays_of_other_libraries_and_functions_of_the_user(device: cuda.CudaDevice, no_copy: bool) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    interface = {
        "version": 3,
        "shape": values.shape,
        "typestr": "<f4",
        "data": (values.ctypes.data, False),
        "stream": 1,
    }
    theirs = SimpleNamespace(__cuda_array_interface__=interface)

    def double(outputs: list[Any], inputs: list[Any], numbers: Any) -> None:
        for out, data in zip(outputs[0], inputs[0], strict=True):
            out.values[...] = data.values * 2

    user_kernels.register("double", function=double)
    pipeline = Pipeline(2, 1, 0, gpu="require")
    with pipeline:
        data = fn.external_source(source=lambda: theirs, device="gpu", no_copy=no_copy)
        twice = fn.experimental.cuda_kernel(data, kernel="double")
        pipeline.set_outputs(twice, fn.cast(data, dtype=types.INT32))
    twice_made, cast = pipeline.run()
    assert (twice_made.as_cpu().as_array() == values * 2).all()
    assert (cast.as_cpu().as_array() == values).all()
    pipeline.close()


def test_memory_that_runs_out_is_told_with_what_to_do(device: cuda.CudaDevice) -> None:
    device.arena.limit = 1 << 20
    pipeline = Pipeline(1, 1, 0, gpu="require")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((1, 100, 100, 3), np.uint8), layout="HWC")
        pipeline.set_outputs(fn.resize(images.gpu(), size=(900, 900), name="large"))
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)node 'large'.*out of GPU memory.*batch_size"):
        pipeline.run()
    pipeline.close()
    device.arena.limit = None
    with pytest.raises(cuda.OutOfDeviceMemory, match="MiB do not fit"):
        device.take(cupy_stand_in.CAPACITY + 1)


class Reading:
    """A future of KvikIO: the bytes arrive when it is asked, in compatibility mode with an error for missing ones."""

    def __init__(self, path: str, array: cupy_stand_in.Array, size: int, offset: int) -> None:
        self.path, self.array, self.size, self.offset = path, array, size, offset

    def get(self) -> int:
        data = Path(self.path).read_bytes()[self.offset :][: self.size]
        if len(data) < self.size:
            raise RuntimeError("POSIX error on pread: EOF")
        self.array.values[:] = np.frombuffer(data, np.uint8)
        return len(data)


class CuFile:
    """``kvikio.CuFile``."""

    def __init__(self, path: str, flags: str) -> None:
        assert flags == "r"
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.path = ""

    def pread(self, array: cupy_stand_in.Array, size: int, offset: int) -> Reading:
        return Reading(self.path, array, size, offset)


def test_kvikio_reads_all_files_and_errors_name_the_one_that_fails(
    device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "kvikio", SimpleNamespace(CuFile=CuFile))
    for name, count in (("whole", 60), ("short", 30), ("last", 60)):
        (tmp_path / name).write_bytes(bytes(range(count)))
    memory = np.zeros((3, 40), np.uint8)
    rows = [memory[index].ctypes.data for index in range(3)]
    parts = [FilePart(str(tmp_path / "whole"), 20, rows[0], 40), FilePart(str(tmp_path / "last"), 10, rows[2], 40)]
    device.read_files(device.stream("compute"), parts)
    assert memory.tolist() == [list(range(20, 60)), [0] * 40, list(range(10, 50))]

    memory[:] = 0
    parts.insert(1, FilePart(str(tmp_path / "short"), 0, rows[1], 40))
    with pytest.raises(OSError, match=r"bytes 0 to 40 of .*short cannot be read: .*EOF"):
        device.read_files(device.stream("compute"), parts)
    assert memory[2].tolist() == list(range(10, 50)), "a read that goes on would write to memory with another owner"


def make_flipped() -> Pipeline:
    pipeline = Pipeline(2, 1, 0, gpu="require")
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 4, 4, 3), np.uint8), layout="HWC")
        pipeline.set_outputs(fn.flip(images.gpu(), name="mine"))
    return pipeline


def test_a_damaged_kernel_on_disk_is_compiled_again(device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, load = nvrtc.cubin, cupy_stand_in.Module.load
    monkeypatch.setattr(nvrtc, "cubin", lambda variant, architecture: b"damaged")
    monkeypatch.setattr(nvrtc, "compiled_again", whole)

    def load_whole(module: Any, cubin: bytes) -> None:
        if cubin == b"damaged":
            raise RuntimeError("CUDA_ERROR_INVALID_IMAGE")
        load(module, cubin)

    monkeypatch.setattr(cupy_stand_in.Module, "load", load_whole)
    flipped = make_flipped()
    assert (flipped.run()[0].as_cpu().as_array() == 1).all()
    flipped.close()


def test_nvrtc_that_is_missing_says_what_to_install(device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    def cubin(variant: Variant, architecture: str) -> bytes:
        raise nvrtc.NvrtcMissing("NVRTC compiles the GPU kernels and is not installed: pip install nvidia-cuda-nvrtc")

    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "cubin", cubin)
        pipeline = make_flipped()
        with pytest.raises(dali_lab.DaliLabError, match=r"(?s)node 'mine'.*pip install nvidia-cuda-nvrtc"):
            pipeline.run()
        pipeline.close()
    assert (make_flipped().run()[0].as_cpu().as_array() == 1).all()


def test_outputs_that_are_only_looked_at_by_their_interface_leave_no_memory_behind(device: cuda.CudaDevice) -> None:
    pictures = np.ones((2, 300, 300, 3), np.uint8)
    pipeline = Pipeline(2, 1, 0, gpu="require")
    with pipeline:
        images = fn.external_source(source=lambda: pictures, layout="HWC").gpu()
        pipeline.set_outputs(fn.cast(images, dtype=types.FLOAT))
    held = []
    for _ in range(60):
        assert pipeline.run()[0][1].__cuda_array_interface__["data"][0]
        held.append(device.arena.held >> 20)
    assert held[-1] == held[20], held
    pipeline.close()


def test_memory_that_was_handed_over_waits_for_the_current_stream_of_other_libraries(
    device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[int] = []
    record = cupy_stand_in.Event.record

    def noted(event: cupy_stand_in.Event, stream: cupy_stand_in.Stream) -> None:
        recorded.append(stream.ptr)
        record(event, stream)

    monkeypatch.setattr(cupy_stand_in.Event, "record", noted)
    flipped = make_flipped()
    sample = flipped.run()[0][0]
    assert sample.__cuda_array_interface__["data"][0] and cupy_stand_in.Stream.null.ptr not in recorded
    del sample
    flipped.run()
    flipped.close()
    device.arena.trim()
    assert cupy_stand_in.Stream.null.ptr in recorded


def test_dlpack_to_the_cpu_is_a_copy_and_on_the_gpu_one_may_be_asked_for(device: cuda.CudaDevice) -> None:
    pipeline = _pipeline("require")
    tensor = pipeline.run()[1].as_tensor()
    expected = np.array(tensor.as_cpu())
    found = np.from_dlpack(_Passing(tensor, {"dl_device": (1, 0)}))
    assert (found == expected).all() and not np.shares_memory(found, np.from_dlpack(_Passing(tensor, {})))
    with pytest.raises(BufferError, match="copy"):
        tensor.__dlpack__(stream=1, dl_device=(1, 0), copy=False)
    copied = np.from_dlpack(_Passing(tensor, {"copy": True}))
    assert (copied == expected).all() and not np.shares_memory(copied, np.from_dlpack(_Passing(tensor, {})))
    pipeline.close()


class _Passing:
    """Hands a tensor of the stand-in, whose memory is the CPU's, to NumPy, with what another consumer would ask for."""

    def __init__(self, tensor: Any, options: dict[str, Any]) -> None:
        self._tensor, self._options = tensor, options

    def __dlpack__(self, **_: Any) -> Any:
        return self._tensor.__dlpack__(stream=1, **self._options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_where_no_more_memory_can_be_pinned_copies_go_without(device: cuda.CudaDevice) -> None:
    device.runtime.most_pinned = 0
    flipped = make_flipped()
    assert (flipped.run()[0].as_cpu().as_array() == 1).all()
    flipped.close()


def test_a_stream_that_its_owner_destroyed_keeps_no_memory(
    device: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cupy_stand_in.Stream, "destroyed", set())
    flipped = make_flipped()
    output = flipped.run()[0]
    capsule = output[0].__dlpack__(stream=77)
    cupy_stand_in.Stream.destroyed.add(77)
    del output, capsule
    for _ in range(5):
        assert (flipped.run()[0].as_cpu().as_array() == 1).all()
    assert device.runtime.synchronized == 1, "its last work is waited for"
    flipped.close()
