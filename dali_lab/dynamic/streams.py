"""CUDA streams: the executor has its own and orders them by events, so that there is none to be set."""

from __future__ import annotations


class Stream:
    """A CUDA stream of NVIDIA DALI's dynamic mode, for annotations and `isinstance`; :func:`stream` cannot make one."""

    def __init__(self, **_: object) -> None:
        raise RuntimeError(_NONE)


_NONE = "operators run on streams of the executor's own; none can be given"


def stream(*, stream: object = Stream, device_id: int | None = None) -> None:
    """Takes ``stream=None``, for which NVIDIA DALI gives `None` as well.

    Raises
    ------
    RuntimeError
        For a stream, and where one would have to be made.
    """
    if stream is not None:
        raise RuntimeError(_NONE)


def get_current_stream() -> None:
    """The stream that was set for this thread: none."""
    return


def get_default_stream(device_id: int | None = None) -> None:
    """The stream that was set for a GPU: none."""
    return


def set_default_stream(cuda_stream: object, /, device_id: int | None = None) -> None:
    """Takes `None`, so that programs which reset the stream run.

    Raises
    ------
    RuntimeError
        For a stream.
    """
    if cuda_stream is not None:
        raise RuntimeError(_NONE)


def set_current_stream(cuda_stream: object, /) -> None:
    """As :func:`set_default_stream`."""
    set_default_stream(cuda_stream)


__all__ = [
    "Stream",
    "get_current_stream",
    "get_default_stream",
    "set_current_stream",
    "set_default_stream",
    "stream",
]
