"""Memory of devices, as far as batches know it."""

from __future__ import annotations

from typing import Protocol


class BatchDevice(Protocol):
    """The device that a batch lies on; :class:`dali_lab.device.interface.Device` is one."""

    kind: str
    """``"cuda"`` or ``"emulated"``."""
    index: int


class DeviceMemory:
    """A piece of a device's memory, which owns samples of a batch."""

    __slots__ = ()

    device: BatchDevice
