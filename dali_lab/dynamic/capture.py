"""Loops that NVIDIA DALI turns into a pipeline; here they run as written, and give the same."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def invariant(value: T) -> T:
    """The value itself; in NVIDIA DALI it says that a loop never changes it."""
    return value


__all__ = ["invariant"]
