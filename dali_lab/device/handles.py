"""Streams of other libraries by their handles."""

from __future__ import annotations

import ctypes
from typing import Any

_NAMES = ("cuda_stream", "ptr", "handle")
"""Attributes that hold the handle: in PyTorch, in CuPy, and in Numba and others."""
_NO_STREAM = -1
_DEFAULT_STREAMS = (1, 2)
"""The default stream of all threads, and that of one thread; they wait for each other."""


def stream_handle(stream: Any) -> int | None:
    """The handle of a stream, 0 for the default one; `None` for `None` and −1, which stand for no stream.

    Parameters
    ----------
    stream
        A handle (an integer, a ``ctypes.c_void_p``), or a stream of PyTorch, CuPy, Numba or anything with
        ``__cuda_stream__``.

    Raises
    ------
    TypeError
        If it is none of them.
    """
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    for name in _NAMES:
        stream = getattr(stream, name, stream)
    if isinstance(stream, ctypes.c_void_p):
        stream = stream.value or 0
    if stream is None or int(stream) == _NO_STREAM:
        return None
    return 0 if int(stream) in _DEFAULT_STREAMS else int(stream)
