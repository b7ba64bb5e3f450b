"""Transforms of sizes and places: resizing, cropping, padding, flipping; and what all transforms share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Literal

import numpy as np

from dali_lab import fn, math, types
from dali_lab.interop.torchvision import checks
from dali_lab.interop.torchvision.images import Extent, Images
from dali_lab.interop.torchvision.interpolation import InterpolationMode, checked_size, interp_type, target_size

Device = Literal["cpu", "gpu"]
FillByType = float | Sequence[float] | Mapping[type | str, float | Sequence[float] | None] | None


class Transform:
    """A step of :class:`~dali_lab.experimental.torchvision.Compose`.

    Parameters
    ----------
    device
        Where it runs, ``"cpu"`` or ``"gpu"``.
    """

    def __init__(self, device: Device = "cpu") -> None:
        if device not in ("cpu", "gpu"):
            raise ValueError(f"device must be 'cpu' or 'gpu', got {device!r}")
        self.device: Device = device

    def __call__(self, data_input: object) -> Any:
        """Transforms are steps of a pipeline, and not called themselves."""
        raise RuntimeError(
            f"Operator {self!r} is not directly callable. Use it only inside Compose pipeline:"
            f" Compose([{type(self).__name__}(...)])(images); functions on images are in v2.functional"
        )

    def apply(self, images: Images) -> Images:
        """The images after this step."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'apply'")

    def invoke(self, images: Images) -> Images:
        """:meth:`apply` on this transform's device."""
        if self.device == "gpu":
            images = images.replaced(images.data.gpu())
        return self.apply(images)


class Resize(Transform):
    """Resize to a size, or the shorter edge to a length with the aspect ratio kept.

    Parameters
    ----------
    size
        Height and width, the length of the shorter edge, or `None` with a `max_size`.
    interpolation
        NEAREST, BILINEAR, BICUBIC or LANCZOS, of this module, of torchvision, or as Pillow's number.
    max_size
        Bound for the longer edge.
    antialias
        Filter where images shrink. Here that holds for pictures of Pillow too, which torchvision always filters.
    device
        Where it runs.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
        device: Device = "cpu",
    ) -> None:
        super().__init__(device)
        self.size, self.max_size = checked_size(size, max_size), max_size
        self.interpolation = interp_type(interpolation)
        self.antialias = bool(antialias)

    def apply(self, images: Images) -> Images:
        if isinstance(self.size, tuple):
            size: Any = self.size
        else:
            height, width = target_size(*images.size(), self.size, self.max_size, images.arithmetic)
            size = images.pair(height, width, types.FLOAT)
        return images.replaced(
            images.operations.resize(
                images.data, device=self.device, size=size, interp_type=self.interpolation, antialias=self.antialias
            )
        )


class CenterCrop(Transform):
    """Crop at the centre, with zeros where the image is smaller.

    Parameters
    ----------
    size
        Height and width, or one number for both.
    device
        Where it runs.
    """

    def __init__(self, size: int | Sequence[int], device: Device = "cpu") -> None:
        super().__init__(device)
        self.size = checks.size_pair(size)

    def apply(self, images: Images) -> Images:
        top, left = (
            _centred(whole - part, images.arithmetic) for whole, part in zip(images.size(), self.size, strict=True)
        )
        return images.window((top, left), self.size, device=self.device, out_of_bounds_policy="pad", fill_values=0)


def _centred(slack: Extent, operations: ModuleType) -> Extent:
    """Half of the slack in whole pixels, rounded as Python's ``round`` does, and towards 0 where it is padding."""
    inside, outside = operations.max(slack, 0), operations.max(-slack, 0)  # division of negative nodes truncates
    half: Extent = inside // 2
    odd = inside - 2 * half
    start: Extent = half + odd * (half - 2 * (half // 2)) - outside // 2
    return start


class Pad(Transform):
    """Pad on all sides.

    Parameters
    ----------
    padding
        One width for all borders, two for left/right and top/bottom, or four: left, top, right, bottom.
    fill
        Value of the border in mode ``"constant"``: a number, one for each channel, or by type of image.
    padding_mode
        ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.
    device
        Where it runs.
    """

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: FillByType = 0,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
        device: Device = "cpu",
    ) -> None:
        super().__init__(device)
        self.border = checks.padding_mode(padding_mode)
        self.padding = checks.padding(padding, (2, 4))
        self.fill = fill if isinstance(fill, Mapping) else checks.fill_values(fill)

    def apply(self, images: Images) -> Images:
        left, top, right, bottom = self.padding
        height, width = images.size()
        return images.window(
            (-top, -left),
            (height + top + bottom, width + left + right),
            device=self.device,
            out_of_bounds_policy=self.border,
            fill_values=self._fill(images),
        )

    def _fill(self, images: Images) -> checks.Fill:
        if not isinstance(self.fill, Mapping):
            return self.fill
        module, name = ("torch", "Tensor") if images.channels_first else ("PIL", "Image")
        for kind, value in self.fill.items():
            if isinstance(kind, type) and kind.__module__.partition(".")[0] == module and kind.__name__ == name:
                return checks.fill_values(value)
        return checks.fill_values(self.fill.get("others"))


class RandomCrop(Transform):
    """Crop at a random place.

    Parameters
    ----------
    size
        Height and width, or one number for both.
    padding
        Width of borders that are added before, as for :class:`Pad`; also a list of one number.
    pad_if_needed
        Pad images that are smaller than `size`.
    fill, padding_mode
        As for :class:`Pad`.
    device
        Where it runs.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: FillByType = 0,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] = "constant",
        device: Device = "cpu",
    ) -> None:
        super().__init__(device)
        self.size = checks.size_pair(size)
        if not isinstance(pad_if_needed, bool):
            raise TypeError(f"pad_if_needed must be bool, got {type(pad_if_needed)}")
        if isinstance(padding, (list, tuple)) and len(padding) not in (1, 2, 4):
            raise ValueError(f"Padding sequence must have length 1, 2 or 4, got {len(padding)}")
        self.padding = (0, 0, 0, 0) if padding is None else checks.padding(padding, (1, 2, 4))
        self.pad_if_needed = pad_if_needed
        self.fill = checks.fill_values(fill)
        self.border = checks.padding_mode(padding_mode) if pad_if_needed or padding is not None else "error"

    def apply(self, images: Images) -> Images:
        left, top, right, bottom = self.padding
        height, width = images.size()
        starts = (
            self._start(height, self.size[0], top, bottom),
            self._start(width, self.size[1], left, right),
        )
        border = {} if self.border == "error" else {"out_of_bounds_policy": self.border, "fill_values": self.fill}
        return images.window(starts, self.size, device=self.device, **border)

    def _start(self, whole: Extent, part: int, before: int, after: int) -> Extent:
        """A random start among those that stay within the padded image."""
        missing: Any = 0
        padded = whole + (before + after)
        if self.pad_if_needed:
            missing = math.max(part - padded, 0)
            padded = padded + 2 * missing
        last = math.max(padded - part, 0)
        drawn = fn.random.uniform(range=(0.0, 1.0)) * (last + 1)
        start: Extent = math.min(fn.cast(math.floor(drawn), dtype=types.INT64), last) - before - missing
        return start


class RandomResizedCrop(Transform):
    """Crop a random part and resize it.

    Parameters
    ----------
    size
        Height and width, or one number for both.
    scale
        Smallest and largest area of the part, relative to the image.
    ratio
        Smallest and largest aspect ratio, width by height.
    interpolation, antialias
        As for :class:`Resize`.
    device
        Where it runs.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
        device: Device = "cpu",
    ) -> None:
        super().__init__(device)
        self.size = checks.size_pair(size)
        self.scale = checks.positive_range("scale", scale)
        self.ratio = checks.positive_range("ratio", ratio)
        self.interpolation = interp_type(interpolation)
        self.antialias = bool(antialias)

    def apply(self, images: Images) -> Images:
        return images.replaced(
            images.operations.random_resized_crop(
                images.data,
                device=self.device,
                size=self.size,
                random_area=self.scale,
                random_aspect_ratio=self.ratio,
                interp_type=self.interpolation,
                antialias=self.antialias,
                num_attempts=10,
            )
        )


class _RandomFlip(Transform):
    _axis = "horizontal"

    def __init__(self, p: float = 0.5, device: Device = "cpu") -> None:
        super().__init__(device)
        self.p = checks.probability(p)

    def apply(self, images: Images) -> Images:
        flips: dict[str, Any] = {"horizontal": 0, "vertical": 0, self._axis: fn.random.coin_flip(probability=self.p)}
        return images.replaced(fn.flip(images.data, device=self.device, **flips))


class RandomHorizontalFlip(_RandomFlip):
    """Mirror left and right, with probability `p`.

    Parameters
    ----------
    p
        Probability.
    device
        Where it runs.
    """


class RandomVerticalFlip(_RandomFlip):
    """Turn upside down, with probability `p`.

    Parameters
    ----------
    p
        Probability.
    device
        Where it runs.
    """

    _axis = "vertical"


class RandomApply(Transform):
    """Apply transforms one after the other, all of them or none.

    Parameters
    ----------
    op_list
        Transforms.
    p
        Probability of applying them.
    device
        Where the images are before and after.
    """

    def __init__(self, op_list: Sequence[Transform], p: float = 0.5, device: Device = "cpu") -> None:
        super().__init__(device)
        self.p = checks.probability(p)
        self.op_list = list(op_list)

    def apply(self, images: Images) -> Images:
        applied = images
        convert = fn.random.coin_flip(dtype=types.BOOL, probability=self.p)
        data = images.data
        if convert:
            for transform in self.op_list:
                applied = transform.invoke(applied)
            data = applied.data
        return images.replaced(data)


def broadcast_over_channels(values: np.ndarray[Any, Any], images: Images) -> np.ndarray[Any, Any]:
    """A number for each channel, shaped to stand beside the images."""
    shape = [1] * len(images.layout)
    shape[images.layout.index("C")] = len(values)
    return values.reshape(shape)
