"""Functions that Numba compiles, where NVIDIA DALI keeps them."""

from dali_lab.interop.numba import NumbaFunction

__all__ = ["NumbaFunction"]
