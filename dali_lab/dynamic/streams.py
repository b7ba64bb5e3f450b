"""CUDA streams: the executor has its own and orders them by events, so that there is none to be set."""

from __future__ import annotations


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
        raise RuntimeError("operators run on streams of the executor's own; none can be given")


def set_current_stream(cuda_stream: object, /) -> None:
    """As :func:`set_default_stream`."""
    set_default_stream(cuda_stream)


__all__ = ["get_current_stream", "get_default_stream", "set_current_stream", "set_default_stream"]
