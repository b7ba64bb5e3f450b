"""Frees idle memory of the compiler."""

from __future__ import annotations

import sys

from dali_lab.model.system import drop_code_pages


def release_compiler() -> None:
    """Unmap the compiler's machine code: once kernels are loaded it is idle, and 50 MiB of it are resident.

    Pages that are needed again are mapped again, from the system's file cache. Does nothing except on Linux.
    """
    if "llvmlite.binding" in sys.modules:
        drop_code_pages("libllvmlite")
