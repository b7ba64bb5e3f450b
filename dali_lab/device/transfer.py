"""Batches from the CPU to a device and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dali_lab.batch.batch import Batch
from dali_lab.device.launcher import Launcher
from dali_lab.device.memory import Block

if TYPE_CHECKING:
    from dali_lab.device.interface import Device, Stream

TRANSFER = "transfer"
UPLOAD = "upload"


def to_device(batch: Batch, gpu: Launcher) -> Batch:
    """The batch in memory of the launcher's device, ready for its stream.

    It is copied on a stream of its own, while kernels of batches before it run.
    """
    if batch.device is None and batch.nbytes:
        stream = gpu.device.stream(UPLOAD)
        stream.ahead = True
        with Launcher(stream) as copies:
            batch = copies.upload(batch)
    gpu.use(batch)
    return batch


def to_host(batch: Batch, stream: Stream) -> Batch:
    """The batch in memory of the CPU; waits for it."""
    if batch.device is None:
        return batch
    out = Batch.allocate(batch.shapes, batch.dtype, batch.layout, batch.sources)
    target = out.owners[0]
    with stream.lock:
        for owner in batch.owners:
            if isinstance(owner, Block):
                owner.ready_on(stream)
                owner.used_on(stream)
        for start, address, nbytes in _pieces(batch.addresses, batch.sizes * batch.itemsize):
            stream.download(target[start : start + nbytes], address)
        event = stream.mark()
    event.synchronize()
    return out


def upload(batch: Batch, device: Device) -> Batch:
    """The batch in memory of a device."""
    with Launcher(device.stream(TRANSFER)) as gpu:
        return gpu.upload(batch) if batch.device is None and batch.nbytes else batch


def download(batch: Batch) -> Batch:
    """The batch in memory of the CPU."""
    return batch if batch.device is None else to_host(batch, batch.device.stream(TRANSFER))


def _pieces(addresses: Any, sizes: Any) -> list[tuple[int, int, int]]:
    """Samples that follow each other as one piece: ``(start in the packed whole, address, bytes)``."""
    pieces: list[tuple[int, int, int]] = []
    at = 0
    for address, size in zip(np.asarray(addresses).tolist(), np.asarray(sizes).tolist(), strict=True):
        if size:
            start, before, length = pieces[-1] if pieces else (0, -1, 0)
            if before + length == address:
                pieces[-1] = (start, before, length + size)
            else:
                pieces.append((at, address, size))
        at += size
    return pieces
