"""The few names of NVIDIA DALI's compiled module that programs import."""

from __future__ import annotations

from dali_lab.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from dali_lab.types import TensorLayout


def RegisteredCPUOps() -> list[str]:  # noqa: N802  (NVIDIA DALI's name)
    """Serialized names of the operators that run on the CPU."""
    return _registered("cpu")


def RegisteredGPUOps() -> list[str]:  # noqa: N802
    """Serialized names of the operators that can be placed on a GPU."""
    return _registered("gpu")


def RegisteredMixedOps() -> list[str]:  # noqa: N802
    """Serialized names of the operators that read on the CPU and write on a GPU."""
    return _registered("mixed")


def _registered(device: str) -> list[str]:
    from dali_lab.schema.registry import all_operators

    return sorted(operator.schema_name for operator in all_operators().values() if device in operator.devices)


def GetCudaVersion() -> int:  # noqa: N802
    """Version of CUDA that the program was built with: 0, as it was built with none."""
    return 0


__all__ = [
    "GetCudaVersion",
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "TensorCPU",
    "TensorGPU",
    "TensorLayout",
    "TensorListCPU",
    "TensorListGPU",
]
