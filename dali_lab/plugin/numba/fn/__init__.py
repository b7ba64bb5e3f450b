"""Functions that Numba compiles, as functions of operators."""

from dali_lab.plugin.numba.fn import experimental

__all__ = ["experimental"]
