"""Functions that Numba compiles, as functions of operators."""

from dali_lab.plugin.numba.fn import experimental
from dali_lab.plugin.numba.fn.experimental import numba_function

__all__ = ["experimental", "numba_function"]
