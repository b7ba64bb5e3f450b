"""Between pictures of Pillow and torch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image

from dali_lab.interop.torchvision.images import Images
from dali_lab.interop.torchvision.transforms import Transform

MODES = {"L": 1, "RGB": 3, "RGBA": 4}
"""Modes of pictures that transforms take, with the number of channels."""
_DTYPES = {"I": np.int32, "I;16": np.uint16, "F": np.float32}
_TORCH_DTYPES = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.float32)


class ToPureTensor(Transform):
    """Let :class:`~dali_lab.experimental.torchvision.Compose` return a tensor, of layout CHW."""

    def apply(self, images: Images) -> Images:
        return images


class PILToTensor(ToPureTensor):
    """Let :class:`~dali_lab.experimental.torchvision.Compose` return a tensor of layout CHW, values unchanged."""


class ToPILImage(Transform):
    """Let :class:`~dali_lab.experimental.torchvision.Compose` return pictures of Pillow."""

    def apply(self, images: Images) -> Images:
        return images


def picture_array(picture: Image.Image) -> np.ndarray[Any, Any]:
    """A picture of mode L, RGB or RGBA as an array HWC of its own.

    Raises
    ------
    ValueError
        If it has another mode.
    """
    if picture.mode not in MODES:
        raise ValueError(
            f"Mode {picture.mode} is not supported, expected L, RGB or RGBA; picture.convert('RGB') makes it so"
        )
    array = np.array(picture, copy=True)
    return array[:, :, np.newaxis] if array.ndim == 2 else array


def pil_to_tensor(inpt: Image.Image) -> torch.Tensor:
    """A picture as a tensor CHW, of the type of its mode and without scaling.

    Parameters
    ----------
    inpt
        The picture.
    """
    if not isinstance(inpt, Image.Image):
        raise TypeError(f"Expected PIL.Image, got {type(inpt)}")
    array = np.array(inpt, dtype=_DTYPES.get(inpt.mode, np.uint8), copy=True)
    if inpt.mode == "1":
        array *= 255
    return _channels_first(array)


def _channels_first(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def to_tensor(inpt: Image.Image | np.ndarray[Any, Any]) -> torch.Tensor:
    """A picture or an array HWC as a tensor CHW; UINT8 becomes fractions of 1 in FLOAT.

    Parameters
    ----------
    inpt
        Picture or array.
    """
    if not isinstance(inpt, (Image.Image, np.ndarray)):
        raise TypeError(f"Expected PIL.Image, got {type(inpt)}")
    tensor = pil_to_tensor(inpt) if isinstance(inpt, Image.Image) else _channels_first(inpt)
    return tensor.to(torch.float32).div(255.0) if tensor.dtype == torch.uint8 else tensor


def to_pil_image(inpt: torch.Tensor, mode: str | None = None, input_layout: str = "CHW") -> Image.Image:
    """A tensor as a picture; fractions of 1 become 0 to 255.

    Parameters
    ----------
    inpt
        The tensor, of three dimensions.
    mode
        Pillow's mode; by default L, RGB or RGBA by the number of channels.
    input_layout
        ``"CHW"`` or ``"HWC"``.
    """
    if not isinstance(inpt, torch.Tensor):
        raise TypeError(f"Expected torch.Tensor, got {type(inpt)}")
    if inpt.ndim != 3:
        raise ValueError(f"Expected 3-D CHW tensor, got shape {tuple(inpt.shape)}")
    if inpt.dtype not in _TORCH_DTYPES:
        raise TypeError(f"Data type {inpt.dtype} is not supported")
    array = (inpt if input_layout == "HWC" else inpt.permute(1, 2, 0)).cpu().numpy()
    channels = array.shape[-1]
    if mode is None:
        mode = next((name for name, count in MODES.items() if count == channels), None)
        if mode is None:
            raise ValueError(f"Cannot infer PIL mode from {channels} channels. Pass mode explicitly.")
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).clip(0, 255).astype(np.uint8)
    pixels = np.ascontiguousarray(array.astype(_DTYPES.get(mode, np.uint8), copy=False))
    if Image.getmodebands(mode) != channels:
        raise ValueError(f"mode {mode} has {Image.getmodebands(mode)} channels, the tensor {channels}")
    return Image.frombytes(mode, (array.shape[1], array.shape[0]), pixels.tobytes())
