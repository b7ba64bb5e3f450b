"""Memory of the emulated device: it is reused, planned ahead, and running out of it is explained."""

from __future__ import annotations

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, types
from dali_lab.device.emulated import EmulatedDevice
from dali_lab.device.launcher import Launcher
from dali_lab.device.transfer import download, upload
from dali_lab.executor import placement
from dali_lab.kernels.cuda import copy
from dali_lab.model.errors import OutOfDeviceMemory
from tests.gpu.transfers import both_ways, small_batch


def test_device_addresses_are_invalid_on_the_cpu() -> None:
    data = upload(small_batch(), EmulatedDevice())
    with pytest.raises(TypeError, match="device memory"):
        data.array(0)
    with pytest.raises(TypeError, match="device memory"):
        data.stacked()


def test_memory_is_used_again_on_the_same_stream_at_once_and_on_another_behind_an_event() -> None:
    device = EmulatedDevice()
    first, second = device.stream("first"), device.stream("second")
    with Launcher(first) as gpu:
        data = gpu.upload(small_batch())
        place = int(data.addresses[0])
        del data
        again = gpu.batch(small_batch().shapes, types.UINT8, "HWC")
        assert int(again.addresses[0]) == place
    held = device.arena.held
    del again, gpu
    with Launcher(second) as gpu:
        other = gpu.upload(small_batch())
        assert int(other.addresses[0]) == place
    assert device.arena.held == held
    second.synchronize()  # raises a RaceError if nothing orders it behind the first stream
    assert (download(other).array(1) == small_batch().array(1)).all()


def test_the_arena_grows_no_more_after_the_first_batches() -> None:
    pipeline = both_ways(gpu="emulated")
    device = placement.find_device("emulated")
    for _ in range(4):
        pipeline.run()[0].as_cpu()
    held = device.arena.held
    for _ in range(12):
        pipeline.run()[0].as_cpu()
    assert device.arena.held == held
    pipeline.close()


def test_memory_is_planned_when_the_first_batch_has_shown_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    device = EmulatedDevice()
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: device)
    pipeline = Pipeline(2, 1, 0, gpu="emulated", prefetch_queue_depth=1)
    with pipeline:
        images = fn.external_source(source=lambda: np.ones((2, 100, 100, 3), np.uint8), layout="HWC").gpu()
        pipeline.set_outputs(fn.resize(images, size=(700, 700)))
    reserved: list[int] = []
    monkeypatch.setattr(device.arena, "reserve", reserved.append)
    outputs = pipeline.run()
    assert len(reserved) == 1 and reserved[0] >= 2 * (2 * 700 * 700 * 3)
    taken: list[int] = []
    take = device.take
    monkeypatch.setattr(device, "take", lambda nbytes: taken.append(nbytes) or take(nbytes))
    for _ in range(6):
        outputs = pipeline.run()
    assert not taken, "later batches take nothing from the device"
    assert (outputs[0].as_cpu().as_array() == 1).all()
    pipeline.close()


def test_out_of_memory_is_tried_again_and_then_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    small = EmulatedDevice(capacity=3 << 20)
    monkeypatch.setattr(placement, "find_device", lambda mode, index=0: small)
    pipeline = both_ways("emulated", size=600)
    with pytest.raises(dali_lab.DaliLabError) as caught:
        pipeline.run()
    message = str(caught.value)
    assert "out of GPU memory" in message and "batch_size" in message and "3 MiB" in message
    pipeline.close()
    # Cached memory is given back before the error is raised.
    with Launcher(small.stream("compute")) as gpu:
        kept = gpu.scratch(1 << 20)
    del kept
    with Launcher(small.stream("compute")) as gpu:
        assert gpu.scratch(small.capacity - (1 << 20)).nbytes
    with pytest.raises(OutOfDeviceMemory), Launcher(small.stream("compute")) as gpu:
        gpu.scratch(4 << 20)


def test_memory_that_another_library_used_is_waited_for_once() -> None:
    device = EmulatedDevice()
    theirs, ours = device.stream("theirs"), device.stream("ours")
    theirs.foreign = True
    theirs.issued = 1
    with Launcher(ours) as gpu:
        data = gpu.upload(small_batch())
    for owner in data.owners:
        owner.ready_on(theirs)
        owner.used_on(theirs)
    theirs.download(np.empty(75, np.uint8), int(data.addresses[0]))
    place = int(data.addresses[0])
    del data, owner
    ours.ahead = True
    with Launcher(ours) as gpu:
        other = gpu.upload(small_batch())
    assert int(other.addresses[0]) != place, "what the other library does with it has not run"
    del other
    theirs.synchronize()
    with Launcher(ours) as gpu:
        again = gpu.batch(small_batch(4).shapes, types.UINT8, "HWC")
    assert again.nbytes == 300 and device.arena.held <= 4 << 20
    ours.synchronize()


def test_memory_that_unissued_work_uses_is_not_given_back() -> None:
    for exact in (False, True):
        device = EmulatedDevice(exact=exact)
        with Launcher(device.stream("compute")) as gpu:
            data = gpu.upload(small_batch())
            out = gpu.batch(data.shapes, data.dtype, "HWC")
            copy.copy(gpu, data.addresses, out.addresses, data.sizes, 1)
            del data
            device.arena.trim()
        assert (download(out).array(2) == small_batch().array(2)).all()
        del out, gpu
        device.stream("compute").synchronize()
        device.stream("transfer").synchronize()
        device.arena.trim()
        with Launcher(device.stream("compute")) as gpu:
            gpu.scratch(1)
        assert device.arena.in_use < 1 << 18
