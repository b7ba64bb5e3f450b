"""Folders and flags for compiling extensions, under NVIDIA DALI's names.

The header is that of C functions as operators (:mod:`dali_lab.plugin.c`). There is no library to link with:
operators in C++ that are compiled against NVIDIA DALI's cannot be loaded.
"""

from __future__ import annotations

from pathlib import Path


def get_lib_dir() -> str:
    """The folder of the package."""
    return str(Path(__file__).parent)


def get_include_dir() -> str:
    """The folder of ``dali_lab.h``."""
    return str(Path(__file__).parent / "include")


def get_include_flags() -> list[str]:
    """Flags of compilers that name the folder of headers."""
    return [f"-I{get_include_dir()}"]


def get_compile_flags() -> list[str]:
    """Flags to compile with."""
    return get_include_flags()


def get_link_flags() -> list[str]:
    """Flags to link with: none are needed."""
    return []


__all__ = ["get_compile_flags", "get_include_dir", "get_include_flags", "get_lib_dir", "get_link_flags"]
