"""Libraries of compiled operators, which NVIDIA DALI can load and DALI Lab cannot."""

from __future__ import annotations

from typing import NoReturn

from dali_lab.model.errors import GraphError


def load_library(library_path: str, global_symbols: bool = False) -> NoReturn:
    """Refuse: compiled operators are made for NVIDIA DALI's own executor.

    Raises
    ------
    GraphError
        Always; it says what to do instead.
    """
    raise GraphError(
        f"'{library_path}' holds operators compiled for NVIDIA DALI's C++ interface, which cannot run here. Instead:"
        " a C function over chunks (dali_lab.plugin.c, docs/how-to/c-functions.md), CUDA C++"
        " (fn.experimental.cuda_kernel), Python or Numba (fn.python_function, fn.numba_function), or an operator"
        " in Python (dali_lab.schema.register)"
    )


def load_directory(plugin_dir_path: str, global_symbols: bool = False) -> NoReturn:
    """Refuse, as :func:`load_library` does."""
    load_library(plugin_dir_path, global_symbols)
