"""Devices of data and operators."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, Protocol, Self, SupportsInt

from dali_lab.executor.placement import gpu_available

_local = threading.local()
_DLPACK_TYPES = {1: "cpu", 2: "gpu"}


class OnDevice(Protocol):
    """A tensor that tells DLPack's type and number of its device."""

    def __dlpack_device__(self) -> tuple[SupportsInt, SupportsInt]: ...


class Device:
    """The CPU, or the GPU of a number; as a context manager, where operators without inputs run by default.

    Parameters
    ----------
    name
        ``"cpu"``, ``"gpu"``, ``"gpu:1"`` or the same with ``"cuda"``.
    device_id
        Number of the GPU, if it is not in the name.

    Raises
    ------
    ValueError
        If there is no such device.
    """

    CPU: ClassVar[Device]

    def __init__(self, name: str, device_id: int | None = None) -> None:
        kind, _, number = name.partition(":")
        kind = "gpu" if kind == "cuda" else kind
        if kind not in ("cpu", "gpu") or (number and not number.isdecimal()):
            raise ValueError(f"Invalid device type: {name}; 'cpu', 'gpu' and 'gpu:1' are devices")
        if number and device_id is not None:
            raise ValueError(f"Invalid device name: {name}: it has a number, and {device_id} is given too")
        if kind == "cpu" and (number or device_id is not None):
            raise ValueError(f"Invalid device id: {number or device_id} for device type: cpu. Must be `None`")
        self.device_type = kind
        self.device_id = None if kind == "cpu" else int(number or device_id or 0)

    @staticmethod
    def current() -> Device:
        """The innermost device that is entered; without one a GPU if there is any, else the CPU."""
        stack = getattr(_local, "devices", None)
        found: Device = stack[-1] if stack else Device("gpu" if gpu_available() else "cpu")
        return found

    @staticmethod
    def default_device_id(device_type: str) -> int | None:
        """The number of the device that is taken where none is given; the CPU has none.

        Raises
        ------
        ValueError
            If there is no such type of device.
        """
        return Device(device_type).device_id

    @staticmethod
    def type_from_dlpack(dev_type: SupportsInt) -> str:
        """The type of device for a number of DLPack's.

        Raises
        ------
        ValueError
            If it is neither the CPU nor a CUDA device.
        """
        if int(dev_type) not in _DLPACK_TYPES:
            raise ValueError(f"Unsupported device type: {dev_type}")
        return _DLPACK_TYPES[int(dev_type)]

    @staticmethod
    def from_dlpack(dlpack_device: OnDevice) -> Device:
        """The device of a tensor that speaks DLPack."""
        kind, number = dlpack_device.__dlpack_device__()
        name = Device.type_from_dlpack(kind)
        return Device(name, None if name == "cpu" else int(number))

    def __enter__(self) -> Self:
        if not hasattr(_local, "devices"):
            _local.devices = []
        _local.devices.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _local.devices.pop()

    def __str__(self) -> str:
        return self.device_type if self.device_id is None else f"{self.device_type}:{self.device_id}"

    def __repr__(self) -> str:
        number = "" if self.device_id is None else f", device_id={self.device_id}"
        return f"Device(device_type={self.device_type!r}{number})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == str(device(other))
        return isinstance(other, Device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


Device.CPU = Device("cpu")


def device(obj: object, id: int | None = None) -> Any:  # noqa: A002  (NVIDIA DALI's name)
    """A :class:`Device` from its name, a device of PyTorch or another one; `None` stays `None`.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if obj is None or isinstance(obj, Device):
        return obj
    if isinstance(obj, str):
        return Device(obj, id)
    if type(obj).__module__.startswith("torch"):
        return Device(str(obj), id)
    raise TypeError(f"takes a device or its name, got {type(obj).__name__}")
