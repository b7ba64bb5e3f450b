"""How a CPU kernel reaches its samples: an address in a table becomes an array inside compiled code.

A kernel gets one table per operand (``int64`` addresses) and one row of sizes per sample, so that one
call serves samples of different sizes without a Python object for each of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _choose_cache_folder() -> None:
    """Put compiled kernels into the user's cache folder, where they outlive an upgrade of the environment."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "dali-lab" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


_choose_cache_folder()

import numba  # noqa: E402  (the cache folder must be known before Numba is imported)
import numpy as np  # noqa: E402
from numba import types as nb_types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402


@intrinsic
def _address_to_pointer(typingctx: Any, address: Any, like: Any) -> Any:
    """Turn an ``int64`` address into a typed pointer; `like` is an array whose dtype is wanted."""
    pointer = nb_types.CPointer(like.dtype)
    signature = pointer(nb_types.int64, like)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

    return signature, codegen


@numba.njit(inline="always")
def array_at(address: int, shape: Any, like: Any) -> Any:
    """A C-contiguous array over memory that somebody else owns.

    Parameters
    ----------
    address
        Address of the first element, from a sample table (``int64``).
    shape
        A tuple of integers; its length fixes the number of dimensions.
    like
        Any array of the wanted dtype (an empty one will do); it selects the compiled variant.
    """
    return numba.carray(_address_to_pointer(address, like), shape)


def kernel(function: F) -> F:
    """Compile `function` as a CPU kernel: no GIL, cached on disk, IEEE arithmetic as written.

    Fast-math stays off so that a result never depends on how the loop was vectorised; kernels that may
    reorder sums say so with :func:`fast_kernel`.
    """
    return numba.njit(nogil=True, cache=True, error_model="numpy")(function)  # type: ignore[no-any-return]


def fast_kernel(function: F) -> F:
    """Like :func:`kernel`, with sums that may be reordered and multiplies that may be contracted."""
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})(  # type: ignore[no-any-return]
        function
    )


def like(dtype: Any) -> np.ndarray[Any, Any]:
    """The empty array that stands for `dtype` in a kernel call."""
    return _LIKE.setdefault(np.dtype(dtype), np.empty(0, dtype))


_LIKE: dict[np.dtype[Any], np.ndarray[Any, Any]] = {}

__all__ = ["array_at", "fast_kernel", "kernel", "like"]
