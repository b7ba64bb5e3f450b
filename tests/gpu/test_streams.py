"""Streams, events and pinned memory where work is broken off, memory is replaced, or several threads take part."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dali_lab.device import cuda, transfer
from dali_lab.device.emulated import EmulatedDevice, EmulatedStream
from dali_lab.device.handles import stream_handle
from dali_lab.device.launcher import Launcher
from dali_lab.kernels.cuda.copy import copy
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DeviceError
from dali_lab.model.tensor_list import TensorListGPU
from dali_lab.types import UINT8
from tests.gpu.test_cuda_code import device as stand_in

__all__ = ["stand_in"]


def _copied(stream: EmulatedStream, more: int = 0) -> tuple[Batch, Batch]:
    """Work for a stream, with `more` bytes of descriptors."""
    with Launcher(stream) as gpu:
        data, out = (gpu.batch(np.full((4, 1), 4), UINT8) for _ in range(2))
        gpu.constant(np.zeros(more, np.uint8))
        copy(gpu, data.addresses, out.addresses, data.sizes, 1)
    return data, out


def test_descriptors_that_are_still_read_are_not_given_to_another_stream() -> None:
    device = EmulatedDevice()
    compute, other = device.stream("compute"), device.stream("other")
    kept = [_copied(compute) for _ in range(3)]
    compute.synchronize()
    kept += [_copied(compute) for _ in range(3)]  # it reads descriptors in memory that was taken long before
    kept.append(_copied(compute, 200 << 10))  # they do not fit there any more
    with Launcher(other):
        blocks = [device.arena.allocate(128 << 10, other) for _ in range(3)]
        for block in blocks:
            other.upload(block.address, np.ones(64, np.uint8))
    other.synchronize()  # a RaceError, if one of them was read by the stream that goes on
    compute.synchronize()


def test_a_copy_that_is_broken_off_keeps_its_pinned_memory_until_it_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    device = EmulatedDevice()
    monkeypatch.setattr(transfer, "_PART", 1 << 10)
    batch = transfer.upload(Batch.of([np.arange(5000, dtype=np.int64)]), device)
    device.stream("transfer").synchronize()
    device.slots.clear()
    borrow, borrowed = transfer.Staging.borrow, []

    def fail_later(*arguments: Any) -> Any:
        if len(borrowed) == 2:
            raise DeviceError("no more")
        borrowed.append(borrow(*arguments))
        return borrowed[-1]

    monkeypatch.setattr(transfer.Staging, "borrow", fail_later)
    with pytest.raises(DeviceError, match="no more"):
        transfer.download(batch)
    assert len(device.slots) == 2, "each slot waits for its event"
    monkeypatch.undo()
    assert (transfer.download(batch).array(0) == np.arange(5000)).all()


def test_what_could_not_be_uploaded_is_not_worked_on_later() -> None:
    device = EmulatedDevice()
    stream = device.stream("compute")
    ran: list[str] = []
    gpu = Launcher(stream)

    def fail(address: int, data: Any) -> None:
        raise DeviceError("the device is lost")

    stream.upload = fail  # type: ignore[method-assign]
    gpu.constant(np.zeros(8, np.uint8))
    gpu.then(lambda: ran.append("without its descriptors"))
    with pytest.raises(DeviceError, match="lost"):
        gpu.issue()
    del stream.upload  # type: ignore[method-assign]
    gpu.issue()  # as at the end of a context that is left by the error
    assert not ran


def test_marks_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = EmulatedDevice().external(7)
    failures: list[BaseException] = []

    def mark() -> None:
        try:
            for _ in range(300):
                stream.mark()
        except BaseException as error:  # told by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=mark) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_handles_of_streams() -> None:
    numba = SimpleNamespace(handle=ctypes.c_void_p(77))
    both = SimpleNamespace(__cuda_stream__=lambda: (0, 78), ptr=5)
    for stream, handle in (
        (None, None), (-1, None), (0, 0), (1, 0), (2, 0), (76, 76), (ctypes.c_void_p(0), 0), (ctypes.c_void_p(9), 9),
        (numba, 77), (both, 78), (SimpleNamespace(cuda_stream=79), 79), (SimpleNamespace(ptr=0), 0),
    ):  # fmt: skip
        assert stream_handle(stream) == handle, stream
    with pytest.raises((TypeError, ValueError)):
        stream_handle("the first one")


@pytest.mark.parametrize("stream", [None, 1, 55, ctypes.c_void_p(55), SimpleNamespace(cuda_stream=55)])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_copies_to_memory_of_others_by_handles_as_scripts_give_them(
    stand_in: cuda.CudaDevice, monkeypatch: pytest.MonkeyPatch, stream: Any, non_blocking: bool
) -> None:
    waited: list[str] = []
    synchronize = cuda.CudaStream.synchronize

    def wait(self: cuda.CudaStream) -> None:
        waited.append(self.name)
        synchronize(self)

    monkeypatch.setattr(cuda.CudaStream, "synchronize", wait)
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    made = TensorListGPU(transfer.upload(Batch.of(list(values)), stand_in))
    target = np.zeros_like(values)
    made.copy_to_external(ctypes.c_void_p(target.ctypes.data), stream, non_blocking)
    assert (target == values).all()
    assert [name for name in waited if name.startswith("external")] == (
        [] if non_blocking else ["external 0x0" if stream in (None, 1) else "external 0x37"]
    )
    made[1].copy_to_external(target[0].ctypes.data, cuda_stream=stream, non_blocking=non_blocking)
    assert (target[0] == values[1]).all()


def test_threads_that_ask_at_once_get_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    began = threading.Barrier(4)
    made: list[Any] = []

    class Slow:
        def __init__(self, index: int) -> None:
            made.append(index)
            threading.Event().wait(0.05)

    monkeypatch.setattr(cuda, "CudaDevice", Slow)
    monkeypatch.setattr(cuda, "_devices", {})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found: list[Any] = []

    def ask() -> None:
        began.wait()
        found.append(cuda.cuda_device(0))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(map(id, found))) == 1


def test_a_child_forgets_what_its_parent_has_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    there = object()
    monkeypatch.setattr(cuda, "_devices", {0: there})
    monkeypatch.setattr(cuda, "_abandoned", [])
    monkeypatch.setattr(cuda, "_devices_lock", cuda._devices_lock)
    cuda._after_fork()
    assert not cuda._devices and cuda._abandoned == [{0: there}]
