"""Checks of the arguments of transforms, with torchvision's classes of errors."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

PADDING_MODES = {"constant": "pad", "edge": "clamp", "reflect": "reflect_101", "symmetric": "reflect_1001"}
"""torchvision's padding modes, each with the border mode of ``slice``."""
Fill = float | np.number[Any] | tuple[float, ...]
"""The value of a border: one number, or one for each channel."""


def _numbers(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def positive(name: str, value: object) -> None:
    """Refuse numbers that are 0 or less."""
    if any(isinstance(number, numbers.Real) and number <= 0 for number in _numbers(value)):
        kind = "Values {} must be positive numbers" if isinstance(value, (list, tuple)) else "Value {} must be positive"
        raise ValueError(f"{kind.format(name)}, got {value}")


def non_negative(name: str, value: object) -> None:
    """Refuse numbers below 0."""
    if any(isinstance(number, numbers.Real) and number < 0 for number in _numbers(value)):
        kind = (
            "Values {} must be non-negative numbers"
            if isinstance(value, (list, tuple))
            else "Value {} must be non-negative"
        )
        raise ValueError(f"{kind.format(name)}, got {value}")


def ordered(name: str, value: object) -> None:
    """Refuse a pair whose first number is the larger one."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and value[0] > value[1]:
        raise ValueError(f"Values {name} should be (min, max), got {value}")


def probability(value: object) -> float:
    """A probability."""
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"p should be a floating point value in the interval [0.0, 1.0]. Got: {value!r}")
    return float(value)


def size_pair(size: object) -> tuple[int, int]:
    """Height and width of a crop, from one or two numbers."""
    if not isinstance(size, (int, list, tuple)):
        raise TypeError(f"Size must be int, list, or tuple, got {type(size)}")
    values = _numbers(size)
    if len(values) not in (1, 2):
        raise ValueError(f"Size sequence must have length 1 or 2, got {len(values)}")
    positive("size", size)
    if any(not isinstance(value, int) for value in values):
        raise ValueError(f"Size values must be integers, got {size}")
    return values[0], values[-1]


def padding(value: object, lengths: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Widths of the left, top, right and bottom border."""
    non_negative("padding", value)
    values = _numbers(value)
    expected = f"an int or a sequence of length {', '.join(map(str, lengths[:-1]))} or {lengths[-1]}"
    if not isinstance(value, (int, list, tuple)):
        raise TypeError(f"Padding must be {expected}, got {type(value)}")
    if any(not isinstance(width, int) for width in values):
        raise ValueError(f"Padding values must be integers, got {value}")
    if not isinstance(value, int) and len(values) not in lengths:
        raise TypeError(f"Padding must be {expected}, got {type(value)} of length {len(values)}")
    left, top = values[0], values[1 if len(values) > 1 else 0]
    return (left, top, values[2], values[3]) if len(values) == 4 else (left, top, left, top)


def padding_mode(value: object) -> str:
    """The border mode of ``slice`` for a padding mode of torchvision."""
    if not isinstance(value, str) or value not in PADDING_MODES:
        raise ValueError(f"Invalid padding mode, expected {list(PADDING_MODES)}, got {value}")
    return PADDING_MODES[value]


def fill_values(value: object) -> Fill:
    """One number, or a number for each channel; `None` is 0."""
    if value is None:
        return 0
    if isinstance(value, (int, float, np.number)):
        return value
    if not isinstance(value, (list, tuple)) or not all(isinstance(number, numbers.Number) for number in value):
        raise TypeError(f"fill must be a number, sequence of numbers, or None, got {value!r}")
    if not value:
        raise ValueError("fill sequence must be non-empty")
    return tuple(value)


def statistics(mean: object, std: object) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Mean and standard deviation of each channel, of the same length."""
    arrays = []
    for name, value in (("Mean", mean), ("Std", std)):
        if isinstance(value, str) or not (isinstance(value, Sequence) or hasattr(value, "__array__")):
            raise TypeError(f"{name} must be a Sequence, got {type(value)}")
        arrays.append(np.asarray(value, np.float32).reshape(-1))
    if (arrays[1] == 0).any():
        raise ValueError("Std must not be 0")
    means, deviations = np.broadcast_arrays(*arrays)
    return means, deviations


def positive_range(name: str, value: object) -> tuple[float, float]:
    """A range of positive numbers."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TypeError(f"{name} should be a sequence of two numbers, got {value!r}")
    if any(not isinstance(number, numbers.Number) for number in value):
        raise TypeError(f"{name} values must be numbers, got {value}")
    if any(number <= 0 for number in value):
        raise ValueError(f"{name} values must be positive, got {value}")
    if value[0] > value[1]:
        raise ValueError(f"{name} should be a (min, max) range, got {value}")
    return float(value[0]), float(value[1])
