"""A GPU through CuPy."""

from __future__ import annotations

import functools

from dali_lab.device.interface import Device, DeviceError


@functools.lru_cache(maxsize=16)
def cuda_device(index: int) -> Device:
    """The GPU of a number.

    Raises
    ------
    DeviceError
        With what is wrong and what to do.
    """
    raise DeviceError("there is no GPU here")
