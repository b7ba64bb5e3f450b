"""Device memory for other libraries: ``__cuda_array_interface__``, DLPack, and copies to memory of theirs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from dali_lab.device.handles import stream_handle
from dali_lab.device.interface import Stream
from dali_lab.device.launcher import Launcher
from dali_lab.device.memory import Block
from dali_lab.device.transfer import TRANSFER, device_of, download
from dali_lab.model.batch import Batch
from dali_lab.model.errors import DeviceError

if TYPE_CHECKING:
    from dali_lab.device.cuda import CudaDevice, CudaStream


def cuda_device_of(batch: Batch) -> CudaDevice:
    """The GPU that has the batch.

    Raises
    ------
    DeviceError
        If its memory is the CPU's or the emulated device's.
    """
    device = batch.device
    if device is None or device.kind != "cuda":
        where = "the CPU's: there is no GPU" if device is None else "that of the emulated device"
        raise DeviceError(f"this was placed on the GPU, but its memory is {where}")
    return device  # type: ignore[return-value]


def array_interface(batch: Batch, index: int) -> dict[str, Any]:
    """``__cuda_array_interface__`` of a sample: the consumer waits for the stream that is named in it.

    The protocol does not name the consumer. The memory is reused only after all work that the current streams of CuPy
    and PyTorch were given by then; work on other streams must be waited for before the sample is dropped.
    """
    device = cuda_device_of(batch)
    stream = device.stream(TRANSFER)
    with stream.lock:
        hand_to(batch, stream)
        stream.mark()  # else the memory would wait for the stream's next work before it is used again
    for consumer in _takers(device):
        for owner in batch.owners:
            if isinstance(owner, Block):
                owner.used_on(consumer)
    return {
        "version": 3,
        "shape": tuple(batch.shapes[index].tolist()),
        "typestr": batch.kind.str,
        "data": (int(batch.addresses[index]) if batch.sizes[index] else 0, False),
        "strides": None,
        "stream": stream.pointer,
    }


_current: WeakValueDictionary[tuple[int, int], CudaStream] = WeakValueDictionary()


def _takers(device: CudaDevice) -> list[CudaStream]:
    """The current streams of other libraries (CuPy, PyTorch) in this thread."""
    with device:
        stream = device.cupy.cuda.get_current_stream()
    pointer = int(stream.ptr)
    taker = _current.get((device.index, pointer)) if pointer else device.external(0)
    if taker is None:
        taker = _current[device.index, pointer] = type(device.external(0)).external(device, pointer)
        taker.stream = stream  # kept, so that it is not destroyed before the memory is used again
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return [taker]
    return [taker, device.external(int(torch.cuda.current_stream(device.index).cuda_stream))]


def dlpack(batch: Batch, index: int, stream: object, options: dict[str, Any]) -> Any:
    """A DLPack capsule of a sample, for work on a consumer's stream (its handle; 1 is the default one, −1 no stream).

    The memory is reused only after the work that the consumer's stream was given on it.
    """
    device = cuda_device_of(batch)
    options = dict(options)
    if options.pop("copy", None):
        batch, index = gathered_on_device(batch.take([index])), 0
    owners: list[Any] = [batch]
    if stream != -1:
        consumer = device.external(stream_handle(stream) or 0)
        hand_to(batch, consumer)
    else:
        batch_ready(batch)
    cupy = device.cupy
    kind = batch.kind
    size = max(1, int(batch.sizes[index]) * kind.itemsize)
    memory = cupy.cuda.UnownedMemory(int(batch.addresses[index]), size, owners, device.index)
    with device:
        array = cupy.ndarray(tuple(batch.shapes[index].tolist()), kind, cupy.cuda.MemoryPointer(memory, 0))
        return array.__dlpack__(stream=-1, **options)


def hand_to(batch: Batch, stream: Stream) -> None:
    """Let a stream's later work use the batch: it waits for its producer; memory is kept until that work has run."""
    for owner in batch.owners:
        if isinstance(owner, Block):
            owner.ready_on(stream)
            owner.used_on(stream)


def batch_ready(batch: Batch) -> None:
    """Wait until a batch is there."""
    device = device_of(batch)
    if device is not None:
        stream = device.stream(TRANSFER)
        with stream.lock:
            hand_to(batch, stream)
            event = stream.mark()
        event.synchronize()


def gathered_on_device(batch: Batch) -> Batch:
    """The same samples one after the other, copied by a kernel."""
    from dali_lab.kernels.cuda.copy import copy

    device = device_of(batch)
    assert device is not None
    with Launcher(device.stream(TRANSFER)) as gpu:
        gpu.use(batch)
        out = gpu.batch(batch.shapes, batch.dtype, batch.layout)
        out.sources = batch.sources
        copy(gpu, batch.addresses, out.addresses, batch.sizes, batch.itemsize)
    return out


def copy_to_device_memory(batch: Batch, address: int, cuda_stream: object, *, wait: bool = True) -> None:
    """Copy all samples, one after the other, to memory of the same GPU, in the order of a consumer's stream.

    The calling thread waits for it, unless `wait` is false.
    """
    device = cuda_device_of(batch)
    consumer = device.external(stream_handle(cuda_stream) or 0)
    hand_to(batch, consumer)
    sizes = batch.sizes * batch.itemsize
    gaps = np.flatnonzero(batch.addresses[:-1] + sizes[:-1] != batch.addresses[1:]) + 1
    for run in np.split(np.arange(len(sizes)), gaps):  # samples that lie one after the other are one copy
        nbytes = int(sizes[run].sum())
        if nbytes:
            consumer.copy(address, int(batch.addresses[run[0]]), nbytes)
        address += nbytes
    if wait:
        consumer.synchronize()


__all__ = [
    "array_interface",
    "batch_ready",
    "copy_to_device_memory",
    "cuda_device_of",
    "dlpack",
    "download",
    "gathered_on_device",
    "hand_to",
]
