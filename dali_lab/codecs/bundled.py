"""Shared libraries that packages bring along, for compiled code that calls them by address."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.cpu.machine import uses

PACKAGES = ("imagecodecs", "PIL")


def libraries(pattern: str, functions: Sequence[str]) -> Iterator[tuple[Any, npt.NDArray[np.int64]]]:
    """Libraries beside the packages that have all these functions, each with the functions' addresses, ``int64[N]``.

    The packages are not imported. A library is to be kept as long as its functions may be called. There are none where
    pointers are not of 64 bits, the system is not Linux, or calls by address are switched off.
    """
    if not uses("libraries") or not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    for path in _files(pattern):
        try:
            library = ctypes.CDLL(str(path))
            addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in functions]
        except (OSError, AttributeError):
            continue
        yield library, np.array(addresses, np.int64)


def _files(pattern: str) -> Iterator[Path]:
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            folder = Path(spec.origin).parents[1]
            for package in (f"{name.lower()}.libs", "pillow.libs" if name == "PIL" else f"{name}.libs"):
                yield from sorted((folder / package).glob(pattern))
