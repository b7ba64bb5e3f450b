"""Ranges of a pipeline's settings, wherever they enter: programs, graph files, the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex

from dali_lab.model.errors import ArgumentError, ArgumentTypeError

_NOT_GIVEN = -1
RANGES: Mapping[str, tuple[int, int]] = {
    "batch_size": (1, 1 << 24),
    "num_threads": (1, 1 << 12),
    "py_num_workers": (0, 1 << 12),
    "prefetch_queue_depth": (1, 1 << 12),
    "device_id": (-(1 << 31), (1 << 31) - 1),
    "seed": (-(1 << 63), (1 << 63) - 1),
    "bytes_per_sample": (0, (1 << 63) - 1),
    "executor_flags": (0, (1 << 31) - 1),
    "cache_limit": (1, (1 << 62)),
    "cache_epochs": (1, (1 << 62)),
}
"""Least and largest value of the settings that are whole numbers."""
_COUNTS = frozenset(("batch_size", "num_threads", "prefetch_queue_depth"))
"""Settings for which −1 means that they are not given."""
_DEPTHS = {"cpu_size", "gpu_size"}


def whole_number(name: str, value: Any) -> int | None:
    """The value of a setting that is a whole number; `None` where it is not given.

    Raises
    ------
    ArgumentError
        If it is outside its range.
    ArgumentTypeError
        If it is something else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ArgumentTypeError(f"takes an int, got {value!r:.60}", argument=name)
    number, (least, most) = value.__index__(), RANGES[name]
    if number == _NOT_GIVEN and name in _COUNTS:
        return None
    if not least <= number <= most:
        shown = number if number.bit_length() <= 64 else f"a number of {number.bit_length()} bits"
        reason = "is not a positive number" if least == 1 and number < 1 else f"is not in [{least}, {most}]"
        raise ArgumentError(f"{shown} {reason}", argument=name)
    return number


def checked(name: str, value: Any) -> int | dict[str, int] | None:
    """The value of a setting that is a whole number, or of ``prefetch_queue_depth``, which may be two of them.

    Raises
    ------
    ArgumentError
        If it is something else, or outside its range.
    """
    if name != "prefetch_queue_depth" or not isinstance(value, Mapping):
        return whole_number(name, value)
    if set(value) != _DEPTHS:
        keys = sorted(map(str, value))
        raise ArgumentError(f"takes the keys 'cpu_size' and 'gpu_size', got {keys!r:.60}", argument=name)
    return {key: whole_number(name, item) or 1 for key, item in value.items()}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Check those settings of a graph that are whole numbers.

    Raises
    ------
    ArgumentError
        For the first that is none, or is outside its range.
    """
    for name in RANGES:
        checked(name, settings.get(name))
