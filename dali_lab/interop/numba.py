"""Functions that Numba compiles, as objects."""

from __future__ import annotations

from dali_lab.ops import OperatorObject


class NumbaFunction(OperatorObject):
    """Runs a function that Numba compiles; see ``fn.numba_function``."""

    operator_name = "numba_function"

    @staticmethod
    def _check_minimal_numba_version(throw: bool = True) -> bool:
        """Whether these functions run on a GPU, which programs ask before they place one there: they do not.

        Raises
        ------
        RuntimeError
            In place of the answer, if `throw` is set.
        """
        if throw:
            raise RuntimeError(
                "functions that Numba compiles run on the CPU; dali_lab.plugin.cuda has kernels for GPUs"
            )
        return False
