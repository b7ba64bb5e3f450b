"""Functions that Numba compiles, as objects."""

from __future__ import annotations

from dali_lab.ops import OperatorObject


class NumbaFunction(OperatorObject):
    """Runs a function that Numba compiles; see ``fn.numba_function``."""

    operator_name = "numba_function"
