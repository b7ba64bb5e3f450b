"""Kernels compiled for the host: the same text under a small header, called on host memory."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy.typing as npt

from dali_lab.kernels.cuda import cache
from dali_lab.kernels.cuda.kernel import HERE, Variant
from dali_lab.model.errors import DeviceError

# Products must not be contracted with sums: numbers are then the same on every compiler and processor.
OPTIONS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-w")
# A float that does not fit an integer becomes another number on a GPU than here, so that it must not come to that.
SANITIZERS = (
    "-O0",  # it compiles in two thirds of the time, and nothing undefined is optimised away
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-g1",
    "-fno-sanitize=alignment",
)


class CompileError(DeviceError):
    """A kernel does not compile; the message holds what the compiler said."""


@functools.lru_cache(maxsize=1)
def compiler() -> str:
    """The C++ compiler: ``CXX``, else g++ or clang++.

    Raises
    ------
    CompileError
        If there is none.
    """
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise CompileError("the emulated device needs a C++ compiler (g++ or clang++) and there is none")


def options() -> tuple[str, ...]:
    """Options of the compiler; ``DALI_LAB_SANITIZE=1`` adds AddressSanitizer and UBSan."""
    return OPTIONS + (SANITIZERS if os.environ.get("DALI_LAB_SANITIZE") == "1" else ())


def build(variant: Variant) -> Path:
    """The shared library of a variant, made if it is not on disk yet.

    Raises
    ------
    CompileError
        With the compiler's words.
    """
    text = variant.host_source()
    path = cache.place(".so", text, (HERE / "host.h").read_text(), compiler(), *options())
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        source, target = Path(scratch) / "kernel.cpp", Path(scratch) / "kernel.so"
        source.write_text(text)
        made = subprocess.run(
            [compiler(), *options(), f"-I{HERE}", str(source), "-o", str(target)], capture_output=True, text=True
        )
        if made.returncode:
            raise CompileError(f"{variant.label} does not compile for the host:\n{made.stderr[:4000]}")
        target.replace(path)
    return path


_lock = threading.Lock()
_loaded: dict[Variant, Any] = {}


def function(variant: Variant) -> Any:
    """The entry point of a variant: ``entry(table, param, blocks across, blocks down, threads)``."""
    with _lock:
        if variant not in _loaded:
            entry = ctypes.CDLL(str(build(variant))).entry
            entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
            entry.restype = None
            _loaded[variant] = entry
        return _loaded[variant]


def call(
    variant: Variant, table: npt.NDArray[Any], param: npt.NDArray[Any], across: int, down: int, threads: int
) -> None:
    """Run a variant over a table of host addresses; one at a time, since indices are global in the library."""
    entry = function(variant)
    with _lock:
        entry(table.ctypes.data, param.ctypes.data, across, down, threads)
