"""The augmentations of AutoAugment, RandAugment and TrivialAugment, for UINT8 images (HWC) and sequences (FHWC).

Each is called with the samples and a magnitude bin; its settings can be changed:
``shear_x.augmentation(mag_range=(0, 0.5))``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dali_lab import fn
from dali_lab.auto_aug.core import augmentation
from dali_lab.auto_aug.core.nodes import constant
from dali_lab.graph.recorder import DataNode
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError


def warp_x_param(magnitude: float) -> list[Any]:
    """The magnitude along x."""
    return [magnitude, 0]


def warp_y_param(magnitude: float) -> list[Any]:
    """The magnitude along y."""
    return [0, magnitude]


def _warped(data: Any, matrix: Any, fill_value: Any, interp_type: Any) -> Any:
    return fn.warp_affine(data, matrix=matrix, fill_value=fill_value, interp_type=interp_type, inverse_map=False)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_x_param)
def shear_x(
    data: DataNode, shear: DataNode, fill_value: int | None = 128, interp_type: dtypes.DALIInterpType | None = None
) -> Any:
    """Shear along x."""
    return _warped(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_y_param)
def shear_y(
    data: DataNode, shear: DataNode, fill_value: int | None = 128, interp_type: dtypes.DALIInterpType | None = None
) -> Any:
    """Shear along y."""
    return _warped(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_x_param)
def translate_x(data: Any, rel_offset: Any, shape: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    """Move along x, by a share of the width; `shape` is height and width."""
    return _warped(data, fn.transforms.translation(offset=rel_offset * shape[1]), fill_value, interp_type)


@augmentation(mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_x_param, name="translate_x")
def translate_x_no_shape(
    data: DataNode, offset: DataNode, fill_value: int | None = 128, interp_type: dtypes.DALIInterpType | None = None
) -> Any:
    """Move along x, by pixels."""
    return _warped(data, fn.transforms.translation(offset=offset), fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_y_param)
def translate_y(data: Any, rel_offset: Any, shape: Any, fill_value: Any = 128, interp_type: Any = None) -> Any:
    """Move along y, by a share of the height; `shape` is height and width."""
    return _warped(data, fn.transforms.translation(offset=rel_offset * shape[0]), fill_value, interp_type)


@augmentation(mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_y_param, name="translate_y")
def translate_y_no_shape(
    data: DataNode, offset: DataNode, fill_value: int | None = 128, interp_type: dtypes.DALIInterpType | None = None
) -> Any:
    """Move along y, by pixels."""
    return _warped(data, fn.transforms.translation(offset=offset), fill_value, interp_type)


@augmentation(mag_range=(0, 30), randomly_negate=True)
def rotate(data: Any, angle: Any, fill_value: Any = 128, interp_type: Any = None, rotate_keep_size: bool = True) -> Any:
    """Rotate, by degrees."""
    return fn.rotate(data, angle=angle, fill_value=fill_value, interp_type=interp_type, keep_size=rotate_keep_size)


def shift_enhance_range(magnitude: float) -> Any:
    """From distances to the neutral factor to factors: magnitudes from -1 to 1 become 0 to 2."""
    return 1 + magnitude


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def brightness(data: DataNode, parameter: DataNode) -> Any:
    """Multiply by a factor."""
    return fn.brightness(data, brightness=parameter)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def contrast(data: Any, parameter: Any) -> Any:
    """Multiply the distance to the mean luminance by a factor."""
    mean = fn.reductions.mean(data, axis_names="HW", keep_dims=True)
    weights = constant(np.array([0.299, 0.587, 0.114], np.float32))
    center = fn.reductions.sum(mean * weights, axis_names="C", keep_dims=True)
    return fn.cast_like(center + (data - center) * parameter, data)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def color(data: DataNode, parameter: DataNode) -> Any:
    """Multiply the saturation by a factor."""
    return fn.saturation(data, saturation=parameter)


def sharpness_kernel(magnitude: float) -> npt.NDArray[Any]:
    """A filter between a blur (-1), the identity (0) and its opposite (1)."""
    blur = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13
    identity_ = np.zeros((3, 3), np.float32)
    identity_[1, 1] = 1
    return np.asarray(-magnitude * blur + (1 + magnitude) * identity_)


def sharpness_kernel_shifted(magnitude: float) -> npt.NDArray[Any]:
    """The same for magnitudes from 0 to 2."""
    return sharpness_kernel(magnitude - 1)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=sharpness_kernel, param_device="auto")
def sharpness(data: DataNode, kernel: DataNode) -> Any:
    """Blur or sharpen by a filter."""
    return fn.filter(data, kernel)


def poster_mask_uint8(magnitude: float) -> npt.NDArray[np.uint8]:
    """A mask that keeps so many of the upper bits: 1 to 8 (0 counts as 1)."""
    kept = int(np.clip(np.round(magnitude), 1, 8))
    return np.array(0xFF & ~((1 << (8 - kept)) - 1), np.uint8)


@augmentation(mag_range=(0, 4), mag_to_param=poster_mask_uint8, param_device="auto")
def posterize(data: Any, mask: Any) -> Any:
    """Clear lower bits."""
    return data & mask


@augmentation(mag_range=(256, 0), param_device="auto")
def solarize(data: Any, threshold: Any) -> Any:
    """Invert values from a threshold on."""
    inverted = constant(255, dtype=dtypes.UINT8) - data
    below = data < threshold
    above = below ^ True
    return below * data + above * inverted


def solarize_add_shift(shift: Any) -> Any:
    """The shift as UINT8."""
    if shift >= 128:
        raise ArgumentError(f"takes shifts from 0 to 127, got {shift}", argument="solarize_add")
    return np.uint8(shift)


@augmentation(mag_range=(0, 110), param_device="auto", mag_to_param=solarize_add_shift)
def solarize_add(data: Any, shift: Any) -> Any:
    """Add a shift to values below 128."""
    below = data < constant(128, dtype=dtypes.UINT8)
    above = below ^ True
    shifted = data + shift
    return below * shifted + above * data


@augmentation
def invert(data: DataNode, _: DataNode) -> Any:
    """Invert all values."""
    return constant(255, dtype=dtypes.UINT8) - data


@augmentation
def equalize(data: DataNode, _: DataNode) -> Any:
    """Equalise the histogram of each channel."""
    return fn.equalize(data)


@augmentation
def auto_contrast(data: DataNode, _: DataNode) -> Any:
    """Stretch each channel to the whole range."""
    low: Any = fn.reductions.min(data, axis_names="HW", keep_dims=True)
    high: Any = fn.reductions.max(data, axis_names="HW", keep_dims=True)
    span = high - low
    differs = span > 0
    alike = differs ^ True
    scale = 255 / (span * differs + constant(255, dtype=dtypes.UINT8) * alike)
    return fn.cast_like((data - low * differs) * scale, data)


@augmentation
def identity(data: DataNode, _: DataNode) -> Any:
    """Leave as it is."""
    return data
