"""The names of NVIDIA DALI's compiled module that programs use: lists of operators, memory, versions."""
# ruff: noqa: N802  (the names are NVIDIA DALI's)

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from dali_lab import types
from dali_lab.model.dtypes import TensorLayout
from dali_lab.model.errors import DeviceError
from dali_lab.plugin_manager import load_directory as LoadDirectory  # noqa: N812
from dali_lab.plugin_manager import load_library as LoadLibrary  # noqa: N812
from dali_lab.schema.op_schema import OpSchema, find_schema
from dali_lab.schema.registry import all_operators
from dali_lab.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU


def RegisteredCPUOps() -> list[str]:
    """Serialized names of the operators that run on the CPU."""
    return _registered("cpu")


def RegisteredGPUOps() -> list[str]:
    """Serialized names of the operators that can be placed on a GPU."""
    return _registered("gpu")


def RegisteredMixedOps() -> list[str]:
    """Serialized names of the operators that read on the CPU and write on a GPU."""
    return _registered("mixed")


def _registered(device: str) -> list[str]:
    from dali_lab.schema.aliases import ALIASES

    placed = {name: operator.schema_name for name, operator in all_operators().items() if device in operator.devices}
    older = {alias.schema_name for alias in ALIASES.values() if alias.successor in placed}
    return sorted({*placed.values(), *older})


def _all_registered() -> set[str]:
    return {*RegisteredCPUOps(), *RegisteredGPUOps(), *RegisteredMixedOps()}


def GetSchema(name: str) -> OpSchema:
    """An operator's declaration, by its serialized name, such as ``readers__File``.

    Raises
    ------
    KeyError
        If there is no such operator.
    """
    found = find_schema(name)
    if found is None:
        raise KeyError(f"there is no operator with the serialized name '{name}'")
    return found


def TryGetSchema(name: str) -> OpSchema | None:
    """As :func:`GetSchema`, or `None` without such an operator."""
    return find_schema(name)


def GetCUDADeviceCount() -> int:
    """Number of GPUs that pipelines can use; 0 without one, or without CuPy."""
    from dali_lab.device.cuda import device_count, load_cupy

    try:
        return device_count(load_cupy())
    except DeviceError:
        return 0


def CheckDLPackCapsule(capsule: object) -> tuple[bool, bool]:
    """Whether an object is a DLPack capsule that nobody has taken, and whether its memory is on a GPU."""
    from dali_lab.device import dlpack

    unused = dlpack.is_unused_capsule(capsule)
    return unused, unused and dlpack.takes(capsule)


def GetCudaVersion() -> int:
    """Version of CUDA that the program was built with: 0, as it was built with none."""
    return 0


def GetCufftVersion() -> int:
    """Version of cuFFT: -1, as it is not used."""
    return -1


def GetNppVersion() -> int:
    """Version of NPP: -1, as it is not used."""
    return -1


def GetNvjpegVersion() -> int:
    """Version of nvJPEG: -1, as it is used by nvImageCodec alone."""
    return -1


def GetOpenCVVersion() -> str:
    """Version of OpenCV, which some operators use; "" where it is not installed."""
    return _version("opencv-python-headless") or _version("opencv-python")


def GetNvimgcodecVersion() -> int:
    """Version of nvImageCodec as a number, 900 for 0.9.0; -1 where it is not installed."""
    found = _version("nvidia-nvimgcodec-cu13")
    if not found:
        return -1
    major, minor, patch = map(int, found.split("."))
    return 10_000 * major + 100 * minor + patch


def _version(distribution: str) -> str:
    """The three parts of a distribution's version that its library has, too."""
    try:
        return ".".join(version(distribution).split(".")[:3])
    except PackageNotFoundError:
        return ""


__cuda_version__ = 0


def check_cuda_runtime() -> None:
    """Do nothing: a pipeline itself reports where its nodes run."""


def PreallocateDeviceMemory(bytes: int, device_id: int) -> None:  # noqa: A002
    """Reserve GPU memory beforehand: not needed, as a pipeline reserves it before its first batch."""


def PreallocatePinnedMemory(bytes: int) -> None:  # noqa: A002
    """Reserve pinned memory beforehand: not needed, as pipelines keep theirs."""


def ReleaseUnusedMemory() -> None:
    """Release unused memory: not needed, as pipelines do so when they are closed."""


def RestrictPinnedMemUsage(restrict: bool) -> None:
    """Use less pinned memory; without effect."""


_policy = {"device growth": 1.1, "host growth": 1.1, "host shrink": 0.5}


def GetDeviceBufferGrowthFactor() -> float:
    """The number that was set; without effect here, as buffers grow to what batches need."""
    return _policy["device growth"]


def GetHostBufferGrowthFactor() -> float:
    """The number that was set; without effect here."""
    return _policy["host growth"]


def GetHostBufferShrinkThreshold() -> float:
    """The number that was set; without effect here."""
    return _policy["host shrink"]


def SetDeviceBufferGrowthFactor(factor: float) -> None:
    """Store the number; without effect here."""
    _policy["device growth"] = factor


def SetHostBufferGrowthFactor(factor: float) -> None:
    """Store the number; without effect here."""
    _policy["host growth"] = factor


def SetBufferGrowthFactor(factor: float) -> None:
    """Store the number for both devices; without effect here."""
    SetDeviceBufferGrowthFactor(factor)
    SetHostBufferGrowthFactor(factor)


def SetHostBufferShrinkThreshold(factor: float) -> None:
    """Store the number; without effect here."""
    _policy["host shrink"] = factor


__all__ = [
    "CheckDLPackCapsule",
    "GetCUDADeviceCount",
    "GetCudaVersion",
    "GetCufftVersion",
    "GetDeviceBufferGrowthFactor",
    "GetHostBufferGrowthFactor",
    "GetHostBufferShrinkThreshold",
    "GetNppVersion",
    "GetNvjpegVersion",
    "GetSchema",
    "LoadDirectory",
    "LoadLibrary",
    "OpSchema",
    "PreallocateDeviceMemory",
    "PreallocatePinnedMemory",
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "ReleaseUnusedMemory",
    "RestrictPinnedMemUsage",
    "SetBufferGrowthFactor",
    "SetDeviceBufferGrowthFactor",
    "SetHostBufferGrowthFactor",
    "SetHostBufferShrinkThreshold",
    "TensorCPU",
    "TensorGPU",
    "TensorLayout",
    "TensorListCPU",
    "TensorListGPU",
    "TryGetSchema",
    "check_cuda_runtime",
    "types",
]
