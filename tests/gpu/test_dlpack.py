"""Arrays in device memory that speak DLPack alone, and arrays whose memory is used as it is."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.device import dlpack
from dali_lab.device.emulated import EmulatedDevice
from dali_lab.device.incoming import device_batch
from dali_lab.device.transfer import download
from dali_lab.errors import OperatorError
from dali_lab.executor import placement
from tests.gpu.test_incoming import Foreign, pictures

HANDLE = 7
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> EmulatedDevice:
    emulated = EmulatedDevice()
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: emulated)
    return emulated


class Memory(np.ndarray):
    """The owner of a capsule's device memory; tests can see when it is freed."""

    foreign: Foreign


class Exporter:
    """An array of another library that has DLPack's methods and nothing else."""

    def __init__(self, device: EmulatedDevice, values: np.ndarray, versioned: bool = False, kind: int = 2) -> None:
        self._foreign = Foreign(device, values, HANDLE)
        self._device, self._versioned, self._kind = device, versioned, kind
        self.memory = values.view(Memory)
        self.memory.foreign = self._foreign

    def write(self, values: np.ndarray) -> None:
        self._foreign.write(values)

    def capsule(self) -> Any:
        """A capsule of NumPy's, changed to say that it is of the device."""
        version = (1, 0) if self._versioned else None
        found = self.memory.__dlpack__(max_version=version)
        name, start = (b"dltensor_versioned", 32) if self._versioned else (b"dltensor", 0)
        tensor = _pointer(found, name) + start
        ctypes.c_uint64.from_address(tensor).value = self._foreign._block.address
        ctypes.c_int32.from_address(tensor + 8).value = self._kind
        return found

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._kind, 0

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        assert stream is not None
        if stream != -1:
            self._device.external(stream).wait(self._device.external(HANDLE).record())
        return self.capsule()


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_a_source_of_arrays_that_speak_dlpack_alone(device: EmulatedDevice, versioned: bool, listed: bool) -> None:
    seen: list[Any] = []

    def source(number: int) -> Any:
        values = pictures(number)
        made = [Exporter(device, row, versioned) for row in values] if listed else Exporter(device, values, versioned)
        seen.extend(weakref.ref(one.memory) for one in (made if listed else [made]))
        return made

    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=source, device="gpu", layout="HWC")
        pipeline.set_outputs(fn.flip(images))
    device.trace = []
    for number in range(3):
        assert (pipeline.run()[0].as_cpu().as_array() == pictures(number)[:, :, ::-1]).all()
    assert "an upload" not in {work.what for work in device.trace if work.stream.name == "upload"}
    pipeline.close()
    gc.collect()
    assert all(reference() is None for reference in seen), "capsules are given back"


def test_an_array_may_be_changed_when_it_was_fed(device: EmulatedDevice) -> None:
    exporter = Exporter(device, pictures(0))
    batch = device_batch(exporter, device)
    exporter.write(pictures(1))
    device.external(HANDLE).synchronize()
    assert batch is not None and (download(batch).stacked() == pictures(0)).all()


def test_bare_capsules_and_capsules_that_were_taken(device: EmulatedDevice) -> None:
    exporter = Exporter(device, pictures(2))
    capsule = exporter.capsule()
    batch = device_batch(capsule, device, HANDLE)
    assert batch is not None and (download(batch).stacked() == pictures(2)).all()
    with pytest.raises(OperatorError, match="taken before"):
        dlpack.taken(capsule, 0)
    on_cpu = np.ones((2, 3), np.uint8)
    assert device_batch(on_cpu.__dlpack__(), device) is None
    assert device_batch(Exporter(device, on_cpu, kind=1), device) is None


def test_strides_and_types_of_capsules(device: EmulatedDevice) -> None:
    values = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    batch = device_batch(Exporter(device, values), device)
    assert batch is not None and batch.dtype.name == "FLOAT64" and (download(batch).stacked() == values).all()
    assert device_batch(Exporter(device, values.transpose(0, 2, 1)), device) is None, "not C-contiguous: by the CPU"
    with pytest.raises(OperatorError, match="numbers"):
        device_batch(Exporter(device, np.ones((2, 2), np.complex64)), device)


@pytest.mark.parametrize("make", [Foreign, Exporter])
def test_without_a_copy_the_memory_itself_is_used_and_kept(device: EmulatedDevice, make: Any) -> None:
    alive: list[Any] = []

    def source(number: int) -> Any:
        found = make(device, pictures(number))
        alive.append(weakref.ref(found.memory if make is Exporter else found))
        return found

    pipeline = Pipeline(2, 1, 0, gpu="emulated", prefetch_queue_depth=2)
    with pipeline:
        images = fn.external_source(source=source, device="gpu", layout="HWC", no_copy=True)
        pipeline.set_outputs(fn.flip(images), images)
    device.trace = []
    for number in range(8):
        flipped, plain = pipeline.run()
        assert (flipped.as_cpu().as_array() == pictures(number)[:, :, ::-1]).all()
        assert (plain.as_cpu().as_array() == pictures(number)).all()
    moved = {work.what for work in device.trace if work.stream.name == "upload"}
    assert not moved & {"a copy", "an upload"}
    gc.collect()
    assert alive[0]() is None and alive[-1]() is not None, "kept for as long as it is used"
    pipeline.close()
    del flipped, plain, pipeline
    gc.collect()
    device.arena.trim()
    assert all(reference() is None for reference in alive)


def test_memory_of_another_device_goes_by_the_cpu(device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    array, exporter = Foreign(device, pictures(4)), Exporter(device, pictures(4))
    address = array.__cuda_array_interface__["data"][0]
    own = device_batch(array, device, copy=False)
    assert own is not None and own.addresses[0] == address and own.device is device
    monkeypatch.setattr(device, "has", lambda address: False)
    assert device_batch(array, device, copy=False) is None
    monkeypatch.setattr(device, "index", 1)  # events of the other device's streams are not this one's to record
    assert device_batch(exporter, device) is None and device_batch(exporter.capsule(), device) is None


def test_a_capsule_with_gaps_can_still_be_read_on_the_cpu(
    device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dali_lab.model.incoming import to_array

    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    capsule = Exporter(device, values.T).capsule()
    assert device_batch(capsule, device) is None
    seen: list[Any] = []

    class Cupy:
        @staticmethod
        def asarray(item: Any) -> Any:
            seen.append(item.__cuda_array_interface__)
            return SimpleNamespace(get=lambda: values.T)

    monkeypatch.setitem(sys.modules, "cupy", Cupy)  # type: ignore[arg-type]
    assert (to_array(capsule) == values.T).all()
    assert seen[0]["shape"] == (4, 3) and seen[0]["strides"] == (4, 16) and seen[0]["typestr"] == "<f4"


def test_what_cannot_be_read_without_cupy_says_so(device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    pipeline = Pipeline(2, 1, 0, gpu="never")
    with pipeline:
        pipeline.set_outputs(fn.external_source(source=lambda: Exporter(device, pictures(0))))
    with pytest.raises(dali_lab.DaliLabError, match=r"Exporter on a GPU.*CuPy"):
        pipeline.run()
    pipeline.close()
