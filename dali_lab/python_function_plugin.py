"""The current stream for Python functions in a pipeline, under NVIDIA DALI's module name."""

from __future__ import annotations


def current_dali_stream() -> int:
    """The stream that a Python function of an operator works for: 0, the default one, as its data is complete."""
    return 0


__all__ = ["current_dali_stream"]
