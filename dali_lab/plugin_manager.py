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
        f"'{library_path}' holds operators compiled for NVIDIA DALI's executor, which cannot run here;"
        " write the operator in Python and register it with dali_lab.schema.register"
    )


def load_directory(plugin_dir_path: str, global_symbols: bool = False) -> NoReturn:
    """Refuse, as :func:`load_library` does."""
    load_library(plugin_dir_path, global_symbols)
