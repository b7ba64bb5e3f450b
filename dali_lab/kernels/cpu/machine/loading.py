"""Loading of compiled kernels from disk: by Numba's own cache or a faster one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba import config

from dali_lab.kernels.cpu.machine import uses

_config: Any = config
_private: ModuleType | None = None
if uses("loading"):
    with contextlib.suppress(ImportError, AttributeError):  # names that another version of Numba does not have
        from dali_lab.kernels.cpu.machine import numba_cache

        _private = numba_cache


def cached(dispatcher: Any, folder: Path | None) -> Any:
    """A compiled function of Numba that looks for its machine code in a folder.

    Parameters
    ----------
    folder
        It may be one that cannot be written to. Without one, nothing is kept.
    """
    if folder is None or not hasattr(dispatcher, "enable_caching"):
        return dispatcher  # NUMBA_DISABLE_JIT leaves plain functions
    with _folder_of_numba(folder):
        if _private is not None:
            with contextlib.suppress(AttributeError, TypeError):
                return _private.attached(dispatcher)
        dispatcher.enable_caching()
    return dispatcher


def signature_of(arguments: Iterable[Any]) -> tuple[Any, ...]:
    """The types of the arguments of a call."""
    type_of: Any = numba.typeof if _private is None else _private.type_of
    return tuple(type_of(value) for value in arguments)


def is_there(kernel: Any, signature: tuple[Any, ...]) -> bool:
    """Whether a kernel was compiled, or is in the cache on disk as far as that can be told."""
    return signature in kernel.overloads or (_private is not None and _private.is_on_disk(kernel, signature))


def shared(kernel: Any) -> bool:
    """Whether what another process compiles is found by this one."""
    return _private is not None and _private.is_shared(kernel)


@contextlib.contextmanager
def _folder_of_numba(folder: Path) -> Iterator[None]:
    """Have functions that are cached meanwhile kept in a folder."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before
