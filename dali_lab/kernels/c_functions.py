"""C functions of the user, over the chunks of a batch (``include/dali_lab.h``)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab.kernels.registered import Registered
from dali_lab.model.batch import Batch

VERSION = 1
MESSAGE_SIZE = 1024
Shapes = npt.NDArray[np.int64]


class _Samples(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("data", ctypes.c_void_p),
        ("shapes", ctypes.c_void_p),
    )


class _Chunk(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int32),
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("numbers", ctypes.c_int32),
        ("samples", ctypes.c_int64),
        ("in_", ctypes.POINTER(_Samples)),
        ("out", ctypes.POINTER(_Samples)),
        ("number", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("message_size", ctypes.c_int64),
        ("failed", ctypes.c_int64),
    )


class CallFailed(Exception):
    """A function returned an error; `sample` is its place in the chunk, or `None`."""

    def __init__(self, message: str, sample: int | None) -> None:
        super().__init__(message)
        self.sample = sample


@dataclass(frozen=True)
class CFunction:
    """A function of a shared library, with the function of Python that gives the outputs their shapes."""

    name: str
    library: str
    symbol: str
    shapes: Callable[..., Any] | None
    call: Any

    def run(self, inputs: Sequence[Batch], outputs: Sequence[Batch], numbers: npt.NDArray[np.float64]) -> None:
        """Call it; Python's lock is released meanwhile.

        Raises
        ------
        CallFailed
            If it returns an error.
        """
        tables: list[Any] = []  # kept until the call is over
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        chunk = _Chunk(
            version=VERSION,
            inputs=len(inputs),
            outputs=len(outputs),
            numbers=numbers.shape[1],
            samples=len(numbers),
            in_=_tables(inputs, tables),
            out=_tables(outputs, tables),
            number=numbers.ctypes.data,
            message=ctypes.cast(message, ctypes.c_char_p),
            message_size=MESSAGE_SIZE,
            failed=-1,
        )
        status = self.call(ctypes.byref(chunk))
        if status != 0:
            text = message.value.decode("utf-8", "replace") or f"returned {status}"
            raise CallFailed(f"{self.symbol}: {text}", chunk.failed if 0 <= chunk.failed < len(numbers) else None)


def _tables(batches: Sequence[Batch], kept: list[Any]) -> Any:
    table = (_Samples * len(batches))()
    for place, batch in enumerate(batches):
        addresses, shapes = np.ascontiguousarray(batch.addresses), np.ascontiguousarray(batch.shapes, np.int64)
        kept += (addresses, shapes)
        table[place] = _Samples(int(batch.dtype), batch.ndim, addresses.ctypes.data, shapes.ctypes.data)
    kept.append(table)
    return ctypes.cast(table, ctypes.POINTER(_Samples))


_registered: Registered[CFunction] = Registered("C function", "dali_lab.plugin.c.register")
registered = _registered.find


def register(
    name: str,
    library: str | os.PathLike[str],
    symbol: str | None = None,
    shapes: Callable[..., Any] | None = None,
) -> None:
    """Register a C function for ``fn.experimental.c_function``; one of the same name is replaced.

    Parameters
    ----------
    name
        Its name in graphs.
    library
        The shared library that it is in, compiled with the header in ``dali_lab.sysconfig.get_include_dir()``.
    symbol
        Its name in the library; by default `name`.
    shapes
        Called with the shapes of each input, ``int64[samples, dimensions]``, before the function; returns those of the
        output, or of each output in a tuple. By default outputs have the shapes of the first input.

    Raises
    ------
    OSError
        If the library cannot be loaded.
    ValueError
        If it has no such function.
    """
    path = os.fspath(library)
    loaded = ctypes.CDLL(os.path.abspath(path) if os.path.exists(path) else path)
    try:
        function = loaded[symbol or name]
    except AttributeError:
        raise ValueError(f"'{path}' has no function '{symbol or name}' (in C++ it is declared extern \"C\")") from None
    function.argtypes, function.restype = (ctypes.POINTER(_Chunk),), ctypes.c_int
    _registered[name] = CFunction(name, path, symbol or name, shapes, function)
