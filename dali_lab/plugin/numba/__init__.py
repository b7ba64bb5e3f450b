"""Functions that Numba compiles, as operators; under NVIDIA DALI's names."""

from dali_lab.plugin.numba import experimental, fn
from dali_lab.plugin.numba.functions import NumbaFunction

__all__ = ["NumbaFunction", "experimental", "fn"]
