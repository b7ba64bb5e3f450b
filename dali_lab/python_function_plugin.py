"""What Python functions in a pipeline ask NVIDIA DALI for."""

from __future__ import annotations


def current_dali_stream() -> int:
    """The stream that a Python function of an operator works for: 0, the default one, as its data is complete."""
    return 0


__all__ = ["current_dali_stream"]
