"""Functions that Numba compiles, where NVIDIA DALI keeps them."""

from dali_lab.plugin.numba.functions import NumbaFunction

__all__ = ["NumbaFunction"]
