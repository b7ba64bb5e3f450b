"""Access of CPU kernels to samples: an address in a table becomes an array inside compiled code.

A kernel gets one table per operand (``int64`` addresses) and one row of sizes per sample, so that one
call serves samples of different sizes without a Python object for each of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import math
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba import types as nb_types
from numba.extending import overload

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cpu.machine import OFF
from dali_lab.kernels.cpu.machine.arrays import array_at, borrowed
from dali_lab.kernels.cpu.machine.linking import PART_OPTIONS, once_for_constants
from dali_lab.kernels.cpu.machine.loading import cached
from dali_lab.model.cache_folder import cache_folder

F = TypeVar("F", bound=Callable[..., Any])


_SHARED_PARTS = (
    "memory.py",
    "borders.py",
    "convert.py",
    "extremes.py",
    "header_table.py",
    "machine",
    "philox.py",
    "raster_headers.py",
    "reciprocal_root.py",
    "remap_rows.py",
    "resample_filters.py",
    "resample_pixels.py",
    "resample_planes.py",
    "resample_rows.py",
    "resample_volume.py",
    "standard_random.py",
    "totals.py",
    "warp.py",
)
"""Files with parts that kernels of other files compile in: Numba looks for changes in a kernel's own file only."""


def _parts_digest() -> str:
    """A name for the present text of the shared parts, and for what of them is switched off."""
    digest = hashlib.sha256()
    for place in map(Path(__file__).with_name, _SHARED_PARTS):
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            with contextlib.suppress(OSError):
                digest.update(path.read_bytes())
    return "-".join([digest.hexdigest()[:12], *sorted(OFF)])


def _cache_folder() -> Path | None:
    """The folder of compiled kernels, where they outlive an upgrade of the environment; `None` if there can be none."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for base in [Path(chosen)] if chosen else _own_folders():
        folder = base / _parts_digest()
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            return folder
    return None


def _own_folders() -> Iterator[Path]:
    """The user's cache folder, or else one for temporary files, if no other user can write to it."""
    with contextlib.suppress(RuntimeError):
        yield cache_folder() / "kernels"
    if hasattr(os, "getuid"):
        with contextlib.suppress(OSError):  # there may be no folder for temporary files that can be written to
            folder = Path(tempfile.gettempdir()) / f"dali-lab-{os.getuid()}"
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
                yield folder / "kernels"


CACHE_FOLDER = _cache_folder()
"""The folder of compiled kernels; ``NUMBA_CACHE_DIR`` names the folder above it."""
_OUTER: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True, "nogil": True}


def part(function: F) -> F:
    """Compile `function` as a part of kernels, callable from them."""
    return cast(F, numba.njit(**PART_OPTIONS)(function))


def inner_part(function: F) -> F:
    """Like :func:`part`, for code that runs for every element: always inlined, so that arrays are not passed again."""
    return cast(F, once_for_constants(numba.njit(forceinline=True, **PART_OPTIONS)(function)))


@part
def copy_row(source: Array, target: Array) -> None:
    """Fill `target` with the first elements of `source`.

    Assigning an array to a slice would compile Numba's message about shapes that differ into the kernel, which takes
    longer than most kernels.
    """
    for k in range(target.shape[0]):
        target[k] = source[k]


@part
def keep(array: Array) -> None:
    """Keep a local array up to this line.

    Numba frees an array behind the last line that names it, also while its address is still in use.
    """


def variants(stub: Callable[..., Any]) -> Callable[[F], F]:
    """Let the decorated function choose, by the types of the arguments, what a call of `stub` compiles to."""
    options: Any = {"forceinline": True, **PART_OPTIONS}
    register = overload(stub, jit_options=options)

    def choosing(function: F) -> F:
        # Numba compares the annotations of the function that chooses with those of what it chose.
        function.__annotations__ = {}

        @functools.wraps(function)
        def choose(*kinds: nb_types.Type) -> Callable[..., Any]:
            chosen: Callable[..., Any] = function(*kinds)
            chosen.__annotations__ = {}
            return chosen

        return cast(F, register(choose))

    return choosing


def kernel(function: F) -> F:
    """Compile `function` as a CPU kernel: no GIL, cached on disk, IEEE arithmetic as written.

    Fast-math stays off so that a result never depends on how the loop was vectorised; kernels that may
    reorder sums say so with :func:`fast_kernel`.
    """
    return cast(F, cached(numba.njit(**_OUTER)(function), CACHE_FOLDER))


def fast_kernel(function: F) -> F:
    """Like :func:`kernel`, with sums that may be reordered and multiplies that may be contracted."""
    fast = {"reassoc", "contract", "nsz", "arcp"}
    return cast(F, cached(numba.njit(fastmath=fast, **_OUTER)(function), CACHE_FOLDER))


def array_in_memory(address: int, shape: tuple[int, ...], like: Array) -> Array:
    """:func:`array_at` in Python; the dtype is that of `like`."""
    size = math.prod(shape) * like.itemsize
    memory: Any = (ctypes.c_uint8 * size).from_address(int(address))
    return np.ndarray(shape, like.dtype, buffer=memory)


def as_python(function: Callable[..., Any], **others: Callable[..., Any]) -> Callable[..., Any]:
    """A part or kernel as Python itself runs it, with all parts that it calls.

    Parameters
    ----------
    function
        Made by :func:`part` or :func:`kernel`; its arguments must be NumPy's numbers where their width matters.
    others
        Functions to call instead of parts, by the parts' names in the module.
    """
    plain: FunctionType = function.py_func  # type: ignore[attr-defined]
    names = dict(plain.__globals__)
    for name in plain.__code__.co_names:
        if names.get(name) is array_at:
            others.setdefault(name, array_in_memory)
        elif names.get(name) is borrowed:
            others.setdefault(name, lambda array: array)
        elif hasattr(names.get(name), "py_func"):
            others.setdefault(name, as_python(names[name]))
    return FunctionType(plain.__code__, names | others, plain.__name__, plain.__defaults__)


def like(dtype: npt.DTypeLike) -> Array:
    """The empty array that stands for `dtype` in a kernel call.

    Numba has no float16: it is its bits, and a ``uint16`` array of two dimensions stands for it
    (:mod:`dali_lab.kernels.cpu.convert` tells it from the integer by that).
    """
    dtype = np.dtype(dtype)
    if dtype not in _LIKE:
        _LIKE[dtype] = np.empty((0, 0), np.uint16) if dtype == np.float16 else np.empty(0, dtype)
    return _LIKE[dtype]


def like_size(item_size: int) -> Array:
    """The empty array for kernels that only move elements of `item_size` bytes (1, 2, 4 or 8)."""
    return like(f"u{item_size}")


def rows(values: npt.ArrayLike, dtype: npt.DTypeLike = np.int64) -> Array:
    """`values` as a table of the one kind that kernels are compiled for: contiguous, writable, of `dtype`."""
    table = np.ascontiguousarray(values, dtype)
    return table if table.flags.writeable else table.copy()


_LIKE: dict[np.dtype[Any], Array] = {}

__all__ = [
    "array_at",
    "as_python",
    "borrowed",
    "copy_row",
    "fast_kernel",
    "inner_part",
    "keep",
    "kernel",
    "like",
    "like_size",
    "part",
    "rows",
    "variants",
]
