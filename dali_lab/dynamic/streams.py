"""CUDA streams: programs make, pass and compare them; operators run on streams of the executor's own.

What an operator gives is complete, or ordered by events, when it is taken, whichever stream is set.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from typing import Any, ClassVar

_handles = itertools.count(1 << 32)
_defaults: dict[int, Stream] = {}


class Stream:
    """A CUDA stream, made by :func:`stream`: one of another library, or a new one.

    Without a GPU, or without CuPy, a new stream is a handle alone, on which nothing runs.

    Parameters
    ----------
    stream
        An object with ``__cuda_stream__``, a stream of PyTorch or CuPy, a raw handle, or `Stream.create_new`.
    device_id
        Number of its GPU; by default that of the object, or 0.

    Raises
    ------
    ValueError
        If `stream` is `None`, or is on another GPU than `device_id`.
    TypeError
        If it is no stream.
    """

    create_new: ClassVar[object] = object()

    def __init__(self, *, stream: Any = create_new, device_id: int | None = None) -> None:
        if stream is None:
            raise ValueError("The stream must not be None. To create a new stream, omit the stream parameter.")
        self._object: Any = stream
        if stream is Stream.create_new:
            self._device_id = device_id or 0
            self._object = _new_stream(self._device_id)
            self._handle = next(_handles) if self._object is None else int(self._object.ptr)
            return
        self._handle = _raw_handle(stream)
        own = _device_of(stream)
        if None not in (own, device_id) and own != device_id:
            raise ValueError(
                f"The device_id {device_id} doesn't match the id {own} inferred from the stream handle {self._handle}."
            )
        self._device_id = own if own is not None else device_id or 0

    @property
    def handle(self) -> int:
        """The raw handle."""
        return self._handle

    @property
    def device_id(self) -> int:
        """Number of the GPU."""
        return self._device_id

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle

    def __str__(self) -> str:
        return f"CUDA stream {self._handle}, device_id={self._device_id}"

    def __repr__(self) -> str:
        shown = self._handle if self._object is None else self._object
        return f"Stream(stream={shown!r}, device_id={self._device_id})"

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same handle on the same GPU."""
        if other is None:
            return False
        try:
            found = stream(stream=other)
        except TypeError:
            return NotImplemented
        assert found is not None
        return (self._handle, self._device_id) == (found._handle, found._device_id)

    def __hash__(self) -> int:
        return hash((self._handle, self._device_id))

    def synchronize(self) -> None:
        """Wait for all work on it."""
        wait = getattr(self._object, "synchronize", None)
        if wait is not None:
            wait()


def stream(*, stream: Any = Stream.create_new, device_id: int | None = None) -> Stream | None:
    """A new stream, or an existing one as :class:`Stream`; `None` for `None`.

    Raises
    ------
    ValueError
        If the stream is on another GPU than `device_id`.
    TypeError
        If it is no stream.
    """
    if stream is None:
        return None
    if not isinstance(stream, Stream):
        return Stream(stream=stream, device_id=device_id)
    if device_id is not None and device_id != stream.device_id:
        raise ValueError(
            f"The device_id {device_id} doesn't match the id {stream.device_id} found in the stream object."
        )
    return stream


class _Current(threading.local):
    stream: Stream | None = None


_current = _Current()


def get_current_stream() -> Stream | None:
    """The stream that was set for this thread, else the default one; `None` where none was set."""
    return _current.stream or get_default_stream()


def set_current_stream(cuda_stream: Any, /) -> None:
    """Set the stream of this thread; `None` leaves it to :func:`get_default_stream`."""
    _current.stream = stream(stream=cuda_stream)


def get_default_stream(device_id: int | None = None) -> Stream | None:
    """The stream that was set for a GPU; `None` where none was set."""
    return _defaults.get(device_id or 0)


def set_default_stream(cuda_stream: Any, /, device_id: int | None = None) -> None:
    """Set the stream of threads that have none of their own, for a GPU; `None` clears it."""
    found = stream(stream=cuda_stream, device_id=device_id)
    if found is None:
        _defaults.pop(device_id or 0, None)
    else:
        _defaults[found.device_id] = found


def _new_stream(device_id: int) -> Any:
    """A stream of CuPy, or `None` where there is no GPU or no CuPy."""
    try:
        import cupy

        with cupy.cuda.Device(device_id):
            return cupy.cuda.Stream(non_blocking=True)
    except (ImportError, RuntimeError):  # CuPy's errors of the driver are RuntimeErrors
        return None


def _raw_handle(item: Any) -> int:
    """The raw handle of a stream of any library.

    Raises
    ------
    TypeError
        If the object is no stream.
    """
    protocol = getattr(item, "__cuda_stream__", None)
    found = protocol()[1] if protocol is not None else None
    for name in ("cuda_stream", "ptr", "handle"):
        found = getattr(item, name, None) if found is None else found
    if found is None and isinstance(item, int):
        found = item
    if found is None and isinstance(item, ctypes.c_void_p):
        found = item.value or 0
    if found is None:
        raise TypeError(f"Cannot interpret the object {item} as a CUDA stream.")
    return int(found)


def _device_of(item: Any) -> int | None:
    """The number of the GPU that a stream of another library tells, if it does."""
    for found in (getattr(item, "device_id", None), getattr(item, "device", None)):
        for number in (found, getattr(found, "index", None), getattr(found, "id", None)):
            if isinstance(number, int) and number >= 0:
                return number
    return None


__all__ = [
    "Stream",
    "get_current_stream",
    "get_default_stream",
    "set_current_stream",
    "set_default_stream",
    "stream",
]
