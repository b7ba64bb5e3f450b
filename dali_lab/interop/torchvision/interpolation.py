"""Interpolation modes and target sizes of torchvision's resizing."""

from __future__ import annotations

from enum import Enum
from types import ModuleType

from dali_lab import types
from dali_lab.interop.torchvision.images import Extent


class InterpolationMode(Enum):
    """Interpolation modes, with the names and values of ``torchvision.transforms.InterpolationMode``."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_BY_PILLOW = (
    InterpolationMode.NEAREST,
    InterpolationMode.LANCZOS,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
    InterpolationMode.BOX,
    InterpolationMode.HAMMING,
)
_TYPES = {
    InterpolationMode.NEAREST: types.INTERP_NN,
    InterpolationMode.BILINEAR: types.INTERP_LINEAR,
    InterpolationMode.BICUBIC: types.INTERP_CUBIC,
    InterpolationMode.LANCZOS: types.INTERP_LANCZOS3,
}


def _mode(interpolation: object) -> InterpolationMode:
    """A mode from a mode, from torchvision's own, or from Pillow's number."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, int) and not isinstance(interpolation, Enum):
        if not 0 <= interpolation < len(_BY_PILLOW):
            raise ValueError(
                f"Interpolation int {interpolation} is not a valid PIL code; expected one of"
                f" {list(range(len(_BY_PILLOW)))}"
            )
        return _BY_PILLOW[interpolation]
    for mode in InterpolationMode:
        if getattr(interpolation, "name", None) == mode.name or getattr(interpolation, "value", None) == mode.value:
            return mode
    raise ValueError(
        "Argument interpolation should be an `InterpolationMode` or a corresponding Pillow integer constant,"
        f" but got {interpolation}."
    )


def interp_type(interpolation: object) -> types.DALIInterpType:
    """The interpolation of ``resize`` for a mode of torchvision.

    Raises
    ------
    NotImplementedError
        For modes that NVIDIA DALI has not.
    ValueError
        If it is no mode.
    """
    mode = _mode(interpolation)
    if mode not in _TYPES:
        raise NotImplementedError(f"Interpolation mode: {mode!r} is not supported")
    return _TYPES[mode]


def checked_size(size: object, max_size: int | None) -> int | tuple[int, int] | None:
    """Height and width, or the length of the shorter edge, or `None` where only the longer edge is bounded."""
    if size is not None and not isinstance(size, (int, list, tuple)):
        raise ValueError(
            "Invalid combination: size must be int, None, or sequence of two ints."
            f" max_size only applies when size is int or None. Got {size!r}"
        )
    if size is None and max_size is None:
        raise ValueError("Must provide max_size if size is None.")
    values = [] if size is None else [size] if isinstance(size, int) else list(size)
    if size is not None and len(values) not in (1, 2):
        raise ValueError(f"size sequence must have length 1 or 2, got {len(values)}")
    if any(not isinstance(value, int) for value in values):
        raise ValueError(f"size values must be integers, got {size}")
    if any(value <= 0 for value in values):
        raise ValueError(f"size {'must' if isinstance(size, int) else 'values must'} be positive, got {size}")
    if max_size is not None:
        if max_size <= 0:
            raise ValueError(f"max_size must not be smaller than 0, got {max_size}")
        if values and min(values) > max_size:
            raise ValueError(f"max_size should not be smaller than the actual size, got {max_size} with size {size}")
        if len(values) == 2:
            raise ValueError(
                "max_size should only be passed if size specifies the length of the smaller edge, i.e. size should be"
                f" an int; got {size}"
            )
    if len(values) == 2:
        return values[0], values[1]
    return values[0] if values else None


def target_size(
    height: Extent, width: Extent, size: int | None, max_size: int | None, operations: ModuleType
) -> tuple[Extent, Extent]:
    """Height and width after resizing the shorter edge to `size`, of numbers or nodes.

    Integer arithmetic without conditions: ``long * size // short`` is what torchvision gets by truncation.

    Parameters
    ----------
    height, width
        Before.
    size
        Length of the shorter edge.
    max_size
        Bound for the longer edge, or its length where there is no `size`.
    operations
        What has ``min`` and ``max``: :mod:`dali_lab.math` for nodes, :mod:`builtins` for numbers.
    """
    short, long = operations.min(height, width), operations.max(height, width)
    if size is None:
        assert max_size is not None, "checked_size sees to it"
        return max_size * height // long, max_size * width // long
    if max_size is None:
        return size * height // short, size * width // short
    longer = size * long // short
    bounded = operations.min(longer, max_size)
    shorter = bounded * size // longer
    portrait = height >= width
    return portrait * bounded + (1 - portrait) * shorter, portrait * shorter + (1 - portrait) * bounded
