"""Folders and flags for compiling extensions, under NVIDIA DALI's names.

There are no C++ headers and no library to link with: what is compiled against NVIDIA DALI's cannot be loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

INSTEAD = (
    "operators of your own are Python or Numba functions (fn.python_function, fn.numba_function), or CUDA C++ in "
    "dali_lab.plugin.cuda; see docs/migrating.md"
)


def get_lib_dir() -> str:
    """The folder of the package."""
    return str(Path(__file__).parent)


def get_include_dir() -> NoReturn:
    """Refuse, as there are no C++ headers.

    Raises
    ------
    NotImplementedError
        Always; it says what takes their place.
    """
    raise _absent("C++ headers to compile against")


def get_include_flags() -> NoReturn:
    """Refuse, as :func:`get_include_dir` does."""
    raise _absent("C++ headers to compile against")


def get_compile_flags() -> NoReturn:
    """Refuse, as :func:`get_include_dir` does."""
    raise _absent("C++ headers to compile against")


def get_link_flags() -> NoReturn:
    """Refuse, as :func:`get_include_dir` does."""
    raise _absent("C++ library to link with")


def _absent(what: str) -> NotImplementedError:
    return NotImplementedError(f"DALI Lab has no {what}: {INSTEAD}")


__all__ = ["get_compile_flags", "get_include_dir", "get_include_flags", "get_lib_dir", "get_link_flags"]
