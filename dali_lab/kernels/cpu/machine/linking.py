"""How parts of kernels are compiled: each like a function of its own, or no further than kernels need it."""

from __future__ import annotations

import contextlib
from typing import Any

from dali_lab.kernels.cpu.machine import uses

PART_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Numba's options for a part; there are no entries for callers in Python and C."""
if uses("linking"):
    with contextlib.suppress(ImportError, AttributeError):  # names that another version of Numba does not have
        from dali_lab.kernels.cpu.machine.numba_parts import PartCompiler

        PART_OPTIONS["pipeline_class"] = PartCompiler
