"""Linkage of parts of kernels: each compiled like a function of its own, or no further than kernels need it."""

from __future__ import annotations

import contextlib
from typing import Any

from numba import types

from dali_lab.kernels.cpu.machine import uses

PART_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Numba's options for a part; there are no entries for callers in Python and C."""
if uses("linking"):
    with contextlib.suppress(ImportError, AttributeError):  # names that another version of Numba does not have
        from dali_lab.kernels.cpu.machine.numba_parts import PartCompiler

        PART_OPTIONS["pipeline_class"] = PartCompiler


def once_for_constants(inlined: Any) -> Any:
    """Have a function that is always inlined compiled once for all constants that it is called with.

    Numba compiles a function again for each constant among the arguments; what is inlined gets them from LLVM.
    """
    own = getattr(inlined, "get_call_template", None)
    if own is not None and uses("linking"):  # NUMBA_DISABLE_JIT leaves plain functions
        kind_of: Any = types.unliteral
        inlined.get_call_template = lambda args, named: own(
            tuple(map(kind_of, args)), {name: kind_of(each) for name, each in named.items()}
        )
    return inlined
