"""torchvision's functions on images, by operators outside of pipelines."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast

import torch
from PIL import Image

from dali_lab import dynamic
from dali_lab.interop.pytorch.tensors import to_torch_tensor
from dali_lab.interop.torchvision import color, transforms
from dali_lab.interop.torchvision.conversion import picture_array, to_pil_image
from dali_lab.interop.torchvision.images import Images
from dali_lab.interop.torchvision.interpolation import InterpolationMode
from dali_lab.interop.torchvision.transforms import Device, FillByType, Transform

Pictures = TypeVar("Pictures", Image.Image, torch.Tensor)


def _images(inpt: object, device: Device) -> Images:
    """A picture or tensor for operators on `device`."""
    data: Any
    if isinstance(inpt, Image.Image):
        data, layout, floating = dynamic.Tensor(picture_array(inpt), layout="HWC"), "HWC", False
        channels = data.shape[-1]
    elif isinstance(inpt, torch.Tensor):
        if inpt.ndim < 3:
            raise TypeError(f"Tensor has < 3 dimensions: {inpt.ndim}, shape: {tuple(inpt.shape)}")
        layout, floating, channels = "CHW", inpt.dtype.is_floating_point, inpt.shape[-3]
        if inpt.ndim == 3:
            data = dynamic.Tensor(inpt, layout=layout)
        else:
            data = dynamic.as_batch(inpt.reshape(-1, *inpt.shape[-3:]), layout=layout)
    else:
        raise TypeError(f"Data type: {type(inpt)} is not supported")
    return Images(data.gpu() if device == "gpu" else data.cpu(), layout, channels, floating)


def _returned(images: Images, inpt: Pictures) -> Pictures:
    """The result as a picture or tensor like the input."""
    data = images.data.evaluate()
    if isinstance(data, dynamic.Batch):
        data = dynamic.as_tensor(data)
    if not torch.cuda.is_available() or isinstance(inpt, Image.Image):
        data = data.cpu()
    tensor = to_torch_tensor(data)
    result: Any
    if isinstance(inpt, Image.Image):
        result = to_pil_image(tensor, input_layout="HWC")
    else:
        result = tensor if inpt.ndim == 3 else tensor.reshape(*inpt.shape[:-3], *tensor.shape[1:])
    return cast("Pictures", result)


def _applied(transform: Transform, inpt: Pictures, device: Device) -> Pictures:
    return _returned(transform.apply(_images(inpt, device)), inpt)


def resize(
    inpt: Pictures,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
    device: Device = "cpu",
) -> Pictures:
    """Resize; see :class:`~dali_lab.experimental.torchvision.Resize`."""
    return _applied(transforms.Resize(size, interpolation, max_size, antialias, device), inpt, device)


def center_crop(inpt: Pictures, output_size: int | Sequence[int], device: Device = "cpu") -> Pictures:
    """Crop at the centre; see :class:`~dali_lab.experimental.torchvision.CenterCrop`."""
    return _applied(transforms.CenterCrop(output_size, device), inpt, device)


def pad(
    inpt: Pictures,
    padding: int | Sequence[int],
    fill: FillByType = 0,
    padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
    device: Device = "cpu",
) -> Pictures:
    """Pad on all sides; see :class:`~dali_lab.experimental.torchvision.Pad`."""
    return _applied(transforms.Pad(padding, fill, padding_mode, device), inpt, device)


def gaussian_blur(
    inpt: Pictures,
    kernel_size: int | Sequence[int],
    sigma: float | Sequence[float] = (0.1, 2.0),
    device: Device = "cpu",
) -> Pictures:
    """Blur; see :class:`~dali_lab.experimental.torchvision.GaussianBlur`."""
    return _applied(color.GaussianBlur(kernel_size, sigma, device), inpt, device)


def normalize(
    input_data: torch.Tensor,
    mean: Sequence[float],
    std: Sequence[float],
    inplace: bool = False,
    device: Device = "cpu",
) -> torch.Tensor:
    """Normalise tensors; see :class:`~dali_lab.experimental.torchvision.Normalize`."""
    transform = color.Normalize(mean, std, inplace, device)
    if not isinstance(input_data, torch.Tensor):
        raise TypeError(f"Data should be Tensor. Got {type(input_data)}")
    return _applied(transform, input_data, device)


def to_grayscale(inpt: Pictures, num_output_channels: int = 1, device: Device = "cpu") -> Pictures:
    """Convert to gray; see :class:`~dali_lab.experimental.torchvision.Grayscale`."""
    return _applied(color.Grayscale(num_output_channels, device), inpt, device)


def rgb_to_grayscale(inpt: Pictures, num_output_channels: int = 1, device: Device = "cpu") -> Pictures:
    """Convert to gray; see :class:`~dali_lab.experimental.torchvision.Grayscale`."""
    return to_grayscale(inpt, num_output_channels, device)


def horizontal_flip(inpt: Pictures, device: Device = "cpu") -> Pictures:
    """Mirror left and right."""
    return _flipped(inpt, device, horizontal=1, vertical=0)


def vertical_flip(inpt: Pictures, device: Device = "cpu") -> Pictures:
    """Turn upside down."""
    return _flipped(inpt, device, horizontal=0, vertical=1)


def _flipped(inpt: Pictures, device: Device, *, horizontal: int, vertical: int) -> Pictures:
    images = _images(inpt, device)
    flipped = dynamic.flip(images.data, device=device, horizontal=horizontal, vertical=vertical)
    return _returned(images.replaced(flipped), inpt)


def crop(inpt: Pictures, top: float, left: float, height: float, width: float, device: Device = "cpu") -> Pictures:
    """Crop a window, with zeros where it is outside of the image; fractions of pictures of Pillow are rounded."""
    return _returned(_cropped(inpt, (top, left, height, width), device), inpt)


def resized_crop(
    inpt: Pictures,
    top: float,
    left: float,
    height: float,
    width: float,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool = True,
    device: Device = "cpu",
) -> Pictures:
    """Crop a window as :func:`crop` does, and resize it."""
    transform = transforms.Resize(size, interpolation, None, antialias, device)
    return _returned(transform.apply(_cropped(inpt, (top, left, height, width), device)), inpt)


def _cropped(inpt: object, box: tuple[Any, ...], device: Device) -> Images:
    images = _images(inpt, device)
    top, left, height, width = _whole_pixels(box) if isinstance(inpt, Image.Image) else _integers(box)
    if height <= 0 or width <= 0:
        raise ValueError(f"Values size must be positive numbers, got {(height, width)}")
    return images.window((top, left), (height, width), device=device, out_of_bounds_policy="pad", fill_values=0)


def _whole_pixels(box: tuple[Any, ...]) -> tuple[int, ...]:
    try:
        top, left, height, width = box
        corners = [round(edge) for edge in (top, left, top + height, left + width)]
    except TypeError as error:
        raise TypeError(f"top, left, height, and width must be real numbers, got {box}") from error
    return corners[0], corners[1], corners[2] - corners[0], corners[3] - corners[1]


def _integers(box: tuple[Any, ...]) -> tuple[int, ...]:
    found = []
    for name, value in zip(("top", "left", "height", "width"), box, strict=True):
        try:
            found.append(operator.index(value))
        except TypeError as error:
            raise TypeError(f"{name} must be an integer, got {type(value)}") from error
    return tuple(found)


def get_dimensions(inpt: object) -> list[int]:
    """``[channels, height, width]`` of a picture or of a tensor ``[…, C, H, W]`` or ``[H, W]``."""
    if isinstance(inpt, Image.Image):
        return [len(inpt.getbands()), inpt.height, inpt.width]
    if not isinstance(inpt, (torch.Tensor, dynamic.Tensor)):
        raise TypeError(f"Unsupported input type: {type(inpt)}.")
    if inpt.ndim < 2:
        raise TypeError(f"a tensor with at least 2 dimensions is required, got {inpt.ndim}.")
    return [1 if inpt.ndim == 2 else int(inpt.shape[-3]), int(inpt.shape[-2]), int(inpt.shape[-1])]


def get_size(inpt: object) -> list[int]:
    """``[height, width]`` of a picture or tensor."""
    return get_dimensions(inpt)[1:]


def get_image_size(inpt: object) -> list[int]:
    """``[width, height]`` of a picture or tensor."""
    return get_size(inpt)[::-1]
