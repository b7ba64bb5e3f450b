"""Arrays of other libraries in device memory: taken in without a way over the CPU, in the order of both streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn
from dali_lab.device.emulated import EmulatedDevice, EmulatedStream
from dali_lab.device.incoming import device_batch
from dali_lab.device.transfer import download
from dali_lab.executor import placement

HANDLE = 7


class Foreign:
    """An array of another library, in its protocol, written by work of the library's own stream."""

    def __init__(self, device: EmulatedDevice, values: np.ndarray, handle: int = HANDLE, version: int = 3) -> None:
        self._stream = device.external(0 if handle == 1 else handle)
        self._block = device.arena.allocate(values.nbytes, device.stream("memory of another library"))
        self._values = np.ascontiguousarray(values)
        self.__cuda_array_interface__ = {
            "version": version,
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (self._block.address, False),
            "strides": None,
        }
        if version >= 3:
            self.__cuda_array_interface__["stream"] = handle
        self.write(values)

    def write(self, values: np.ndarray) -> None:
        """Write on the library's stream; nothing has run when this returns."""
        self._values = np.ascontiguousarray(values)
        self._stream.upload(self._block.address, self._values.reshape(-1).view(np.uint8))


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> EmulatedDevice:
    emulated = EmulatedDevice()
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: emulated)
    return emulated


def pictures(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 255, (2, 6, 5, 3)).astype(np.uint8)


def listed(device: EmulatedDevice, values: np.ndarray) -> Any:
    return [Foreign(device, row) for row in values]


@pytest.mark.parametrize("make", [Foreign, listed], ids=["one array", "a list"])
def test_a_source_of_device_arrays_in_the_order_of_streams(device: EmulatedDevice, make: Callable[..., Any]) -> None:
    kept: list[Any] = []

    def source(number: int) -> Any:
        kept.append(make(device, pictures(number)))
        return kept[-1]

    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        images = fn.external_source(source=source, device="gpu", layout="HWC")
        pipeline.set_outputs(fn.flip(images), images)
    device.trace = []
    for number in range(4):
        flipped, plain = pipeline.run()
        assert (flipped.as_cpu().as_array() == pictures(number)[:, :, ::-1]).all()
        assert (plain.as_cpu().as_array() == pictures(number)).all()
    copies = [work for work in device.trace if work.stream.name == "upload"]
    assert "a copy" in {work.what for work in copies} and "an upload" not in {work.what for work in copies}
    pipeline.close()


def test_the_library_may_change_its_array_at_once(device: EmulatedDevice) -> None:
    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        pipeline.set_outputs(fn.flip(fn.external_source(name="in", device="gpu", layout="HWC")))
    pipeline.build()
    array = Foreign(device, pictures(0))
    pipeline.feed_input("in", array)
    array.write(pictures(1))  # a RaceError later on, if the library's stream did not wait for the copy
    pipeline.feed_input("in", array)
    for number in (0, 1):
        assert (pipeline.run()[0].as_cpu().as_array() == pictures(number)[:, :, ::-1]).all()
    device.external(HANDLE).synchronize()
    pipeline.close()


def test_the_stream_that_is_given_is_waited_for(device: EmulatedDevice) -> None:
    class Stream:
        ptr = 9

    # By an interface without streams, as PyTorch's: that of the argument counts, or else the default one.
    for handle, given in ((9, 9), (9, Stream()), (0, None), (1, None)):
        array = Foreign(device, pictures(3), handle, version=2)
        batch = device_batch(array, device, given)
        assert batch is not None and (download(batch).stacked() == pictures(3)).all()
    complete = Foreign(device, pictures(3), 11, version=2)
    device.external(11).synchronize()
    batch = device_batch(complete, device, -1)
    assert batch is not None and (download(batch).stacked() == pictures(3)).all()


def test_what_is_not_in_device_memory_goes_by_the_cpu(device: EmulatedDevice) -> None:
    assert device_batch(pictures(0), device) is None
    assert device_batch([pictures(0)[0], Foreign(device, pictures(0)[0])], device) is None
    transposed = Foreign(device, pictures(0))
    transposed.__cuda_array_interface__["strides"] = (90, 3, 18, 1)
    assert device_batch(transposed, device) is None
    transposed.__cuda_array_interface__["strides"] = (90, 15, 3, 1)
    assert device_batch(transposed, device) is not None


def test_outputs_of_one_pipeline_feed_another(device: EmulatedDevice) -> None:
    first = Pipeline(2, 1, 0, gpu="emulated")
    with first:
        first.set_outputs(fn.external_source(source=lambda: pictures(2), layout="HWC").gpu())
    made = first.run()[0]
    for where in ("gpu", "cpu"):
        second = Pipeline(2, 1, 0, gpu="emulated")
        with second:
            second.set_outputs(fn.external_source(name="in", device=where))
        second.build()
        second.feed_input("in", made)
        (output,) = second.run()
        assert (output.as_cpu().as_array() == pictures(2)).all() and output.layout() == "HWC"
        second.close()
    first.close()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (lambda d: [Foreign(d, np.zeros(3, np.uint8)), Foreign(d, np.zeros(3, np.float32))], "sample 1 is <f4"),
        (lambda d: [Foreign(d, np.zeros(3, np.uint8)), Foreign(d, np.zeros((3, 1), np.uint8))], "2 dimensions"),
        (lambda d: Foreign(d, np.zeros(3, np.complex64)), "numbers"),
        (lambda d: Foreign(d, np.zeros((), np.uint8)), "scalar"),
        (lambda d: Foreign(d, np.zeros((5, 2), np.uint8)), "Expected batch_size <= 2, actual: 5"),
    ],
)
def test_what_does_not_fit_is_refused(
    device: EmulatedDevice, arrays: Callable[[EmulatedDevice], Any], words: str
) -> None:
    pipeline = Pipeline(2, 1, 0, gpu="emulated")
    with pipeline:
        pipeline.set_outputs(fn.external_source(name="in", device="gpu"))
    pipeline.build()
    with pytest.raises(dali_lab.DaliLabError, match=words):
        pipeline.feed_input("in", arrays(device))
    assert isinstance(device.external(HANDLE), EmulatedStream)
    pipeline.close()
