"""Batches from the CPU to a device and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from dali_lab.device.interface import Device, Event, Stream
from dali_lab.device.launcher import Launcher
from dali_lab.device.memory import Block
from dali_lab.device.staging import Staging
from dali_lab.model.batch import Batch

TRANSFER = "transfer"
UPLOAD = "upload"
_PART = 8 << 20
"""Bytes that come from a device at a time."""


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
    """The batch in memory of the CPU; waits for it.

    It comes through pinned memory, a part being copied on while the next one is on its way: to other memory a GPU
    copies slowly, and not beside its kernels.
    """
    if batch.device is None:
        return batch
    out = Batch.allocate(batch.shapes, batch.dtype, batch.layout, batch.sources)
    target = out.owners[0]
    coming: deque[tuple[int, Staging, Event]] = deque()

    def arrive() -> None:
        start, staging, event = coming[0]
        event.synchronize()
        target[start : start + staging.data.nbytes] = staging.data
        coming.popleft()
        staging.give_back(event)

    with stream.lock:
        for owner in batch.owners:
            if isinstance(owner, Block):
                owner.ready_on(stream)
                owner.used_on(stream)
    try:
        for part in _parts(_pieces(batch.addresses, batch.sizes * batch.itemsize)):
            start, (last, _, length) = part[0][0], part[-1]
            staging = Staging.borrow(stream.device, last + length - start)
            with stream.lock:
                for at, address, nbytes in part:
                    stream.download(staging.data[at - start : at - start + nbytes], address)
                coming.append((start, staging, stream.record()))
            if len(coming) > 1:
                arrive()
        while coming:
            arrive()
    finally:
        for _, staging, event in coming:  # broken off: copies under way still use the pinned memory
            staging.give_back(event)
        with stream.lock:
            stream.mark()
    return out


def upload(batch: Batch, device: Device) -> Batch:
    """The batch in memory of a device."""
    with Launcher(device.stream(TRANSFER)) as gpu:
        return gpu.upload(batch) if batch.device is None and batch.nbytes else batch


def download(batch: Batch) -> Batch:
    """The batch in memory of the CPU."""
    device = device_of(batch)
    return batch if device is None else to_host(batch, device.stream(TRANSFER))


def device_of(batch: Batch) -> Device | None:
    """The device that a batch lies on; `None` for the CPU."""
    owner = batch.owners[0] if batch.owners else None
    return owner.device if isinstance(owner, Block) else None


def _pieces(addresses: object, sizes: object) -> list[tuple[int, int, int]]:
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


def _parts(pieces: list[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Pieces that follow each other in the packed whole, together up to the size of a part; longer ones are cut."""
    part: list[tuple[int, int, int]] = []
    for start, address, length in pieces:
        done = 0
        while done < length:
            room = _PART - (start + done - part[0][0]) if part else _PART
            if room <= 0:
                yield part
                part = []
                continue
            taken = min(room, length - done)
            part.append((start + done, address + done, taken))
            done += taken
    if part:
        yield part
