"""Functions that Numba compiles, as operators; under NVIDIA DALI's names."""

from dali_lab.interop.numba import NumbaFunction
from dali_lab.plugin.numba import experimental, fn

__all__ = ["NumbaFunction", "experimental", "fn"]
