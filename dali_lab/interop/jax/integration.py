"""Tensors as JAX arrays."""

from __future__ import annotations

from typing import Any

import jax

from dali_lab.model.tensor_list import TensorGPU


def _jax_device(jax_array: jax.Array) -> jax.Device:
    """The device of an array that is on one alone.

    Raises
    ------
    RuntimeError
        If it is on several.
    """
    devices = list(jax_array.devices())
    if len(devices) != 1:
        raise RuntimeError("The array must be associated with exactly one device")
    return devices[0]


def _to_jax_array(dali_tensor: Any, copy: bool = True) -> jax.Array:
    """A tensor as a JAX array; `copy` asks for memory of its own, and on the CPU it always has it."""
    if isinstance(dali_tensor, TensorGPU) and dali_tensor.__dlpack_device__()[0] != 1:
        array = jax.dlpack.from_dlpack(dali_tensor)
        return array.copy() if copy else array
    return jax.numpy.array(dali_tensor.as_cpu(), copy=True)
