"""Functions on pictures of Pillow and on torch tensors."""

from dali_lab.interop.torchvision.conversion import pil_to_tensor, to_pil_image, to_tensor
from dali_lab.interop.torchvision.functional import (
    center_crop,
    crop,
    gaussian_blur,
    get_dimensions,
    get_image_size,
    get_size,
    horizontal_flip,
    normalize,
    pad,
    resize,
    resized_crop,
    rgb_to_grayscale,
    to_grayscale,
    vertical_flip,
)

__all__ = [
    "center_crop",
    "crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_size",
    "get_size",
    "horizontal_flip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vertical_flip",
]
