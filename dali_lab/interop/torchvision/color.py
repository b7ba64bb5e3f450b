"""Transforms of values: colours, normalisation, blur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab import fn, types
from dali_lab.interop.torchvision import checks
from dali_lab.interop.torchvision.images import Images
from dali_lab.interop.torchvision.transforms import Device, Transform, broadcast_over_channels

_LUMA = (0.2989, 0.587, 0.114)


def _clamped(images: Images) -> Images:
    """Fractions kept between 0 and 1; integers are saturated by each operator."""
    return images.replaced(images.functions.clamp(images.data, 0.0, 1.0)) if images.floating else images


def _channels(images: Images, first: int, count: int) -> Images:
    """Some of the channels."""
    data = images.operations.slice(images.data, start=(first,), shape=(count,), axis_names="C")
    return images.replaced(data, count)


def _gray(images: Images, device: Device) -> Images:
    """One channel of the brightness of RGB images.

    Tensors have torchvision's weights and its rounding towards 0, pictures are rounded to the nearest as by Pillow.
    """
    if not images.channels_first:
        data = images.operations.color_space_conversion(
            images.data, image_type=types.RGB, output_type=types.GRAY, device=device
        )
        return images.replaced(data, 1)
    red, green, blue = (_channels(images, channel, 1).data for channel in range(3))
    gray = red * _LUMA[0] + green * _LUMA[1] + blue * _LUMA[2]
    if images.floating:
        return images.replaced(gray, 1)
    return images.replaced(images.operations.cast_like(images.functions.floor(gray), red, device=device), 1)


def grayscale(images: Images, num_output_channels: int, device: Device) -> Images:
    """Gray images of one channel, or of several equal ones (an alpha channel is kept as the fourth)."""
    if images.channels not in (1, 3, 4):
        raise ValueError(f"takes images of 1, 3 or 4 channels, got {images.channels}")
    gray = images if images.channels == 1 else _gray(_colors(images), device)
    if num_output_channels == 1:
        return gray
    parts = [gray.data] * min(num_output_channels, 3)
    if num_output_channels == 4:
        parts.append(_channels(images, 3, 1).data)
    return images.replaced(images.operations.cat(*parts, axis_name="C", device=device), num_output_channels)


def _colors(images: Images) -> Images:
    """The images without an alpha channel."""
    return _channels(images, 0, 3) if images.channels == 4 else images


class Grayscale(Transform):
    """Convert to gray.

    Parameters
    ----------
    num_output_channels
        1, or 3 equal channels.
    device
        Where it runs.
    """

    def __init__(self, num_output_channels: int = 1, device: Device = "cpu") -> None:
        super().__init__(device)
        if num_output_channels not in (1, 3):
            raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
        self.num_output_channels = num_output_channels

    def apply(self, images: Images) -> Images:
        return grayscale(images, self.num_output_channels, self.device)


class RandomGrayscale(Transform):
    """Convert to gray with probability `p`; the number of channels stays.

    Parameters
    ----------
    p
        Probability.
    device
        Where it runs.
    """

    def __init__(self, p: float = 0.1, device: Device = "cpu") -> None:
        super().__init__(device)
        self.p = checks.probability(p)

    def apply(self, images: Images) -> Images:
        convert = fn.random.coin_flip(dtype=types.BOOL, probability=self.p)
        data = images.data
        if convert:
            data = grayscale(images, images.channels, self.device).data
        return images.replaced(data)


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue at random.

    Hue, saturation and brightness are changed in one step (``color_twist``, which turns hues linearly in YIQ where
    torchvision turns them in HSV), and then contrast, about the mean brightness of the image.

    Parameters
    ----------
    brightness, contrast, saturation
        Factors from ``[max(0, 1 - x), 1 + x]``, or from a given range.
    hue
        Share of a full turn from ``[-x, x]`` with x up to 0.5, or from a given range.
    device
        Where it runs.
    """

    def __init__(
        self,
        brightness: float | Sequence[float] | None = 0.0,
        contrast: float | Sequence[float] | None = 0.0,
        saturation: float | Sequence[float] | None = 0.0,
        hue: float | Sequence[float] | None = 0.0,
        device: Device = "cpu",
    ) -> None:
        super().__init__(device)
        self.brightness = _factors("brightness", brightness)
        self.contrast = _factors("contrast", contrast)
        self.saturation = _factors("saturation", saturation)
        self.hue = _turns(hue)

    def apply(self, images: Images) -> Images:
        if images.channels_first:
            return self.apply(images.transposed()).transposed()
        colors = _colors(images)
        if images.channels == 1:
            data = fn.brightness(images.data, brightness=_drawn(self.brightness), device=self.device)
        else:
            data = fn.color_twist(
                colors.data,
                brightness=_drawn(self.brightness),
                saturation=_drawn(self.saturation),
                hue=_drawn((self.hue[0] * 360, self.hue[1] * 360)),
                device=self.device,
            )
        colors = _clamped(colors.replaced(data))
        if self.contrast != (1.0, 1.0):
            colors = self._contrasted(colors)
        if images.channels == 4:
            return images.replaced(fn.cat(colors.data, _channels(images, 3, 1).data, axis_name="C", device=self.device))
        return colors

    def _contrasted(self, images: Images) -> Images:
        weights = _LUMA if images.channels == 3 else (1.0,)
        frames = list(range(len(images.layout) - 3))
        # The mean of the brightness is the weighted sum of the means of the channels.
        mean = fn.reductions.mean(
            images.data, axes=[*frames, len(frames), len(frames) + 1], dtype=types.FLOAT, device=self.device
        )
        center = sum(mean[channel] * weight for channel, weight in enumerate(weights))
        contrast = _drawn(self.contrast)
        data = fn.brightness_contrast(images.data, contrast=contrast, contrast_center=center, device=self.device)
        return _clamped(images.replaced(data))


def _drawn(bounds: tuple[float, float]) -> Any:
    return bounds[0] if bounds[0] == bounds[1] else fn.random.uniform(range=bounds)


def _factors(name: str, value: object) -> tuple[float, float]:
    if value is None:
        raise ValueError(f"{name} must not be None")
    checks.non_negative(name, value)
    if isinstance(value, (int, float)):
        return max(0.0, 1.0 - value), 1.0 + value
    return _bounds(name, value)


def _turns(value: object) -> tuple[float, float]:
    if value is None:
        raise ValueError("hue must not be None")
    if isinstance(value, (int, float)):
        if not 0 <= value <= 0.5:
            raise ValueError(f"If hue is a single number, it must be non-negative and < 0.5, got {value}")
        return -float(value), float(value)
    bounds = _bounds("hue", value)
    if bounds[0] < -0.5 or bounds[1] > 0.5:
        raise ValueError(f"hue values should be between [-0.5, 0.5], but got {value}")
    return bounds


def _bounds(name: str, value: object) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TypeError(f"{name} must be a number or a (min, max) sequence, got {value!r}")
    checks.ordered(name, value)
    return float(value[0]), float(value[1])


class Normalize(Transform):
    """Subtract a mean and divide by a standard deviation, channel by channel; the results are floating point.

    Parameters
    ----------
    mean, std
        A number for each channel.
    inplace
        Not there.
    device
        Where it runs.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False, device: Device = "cpu"):
        super().__init__(device)
        self.mean, self.std = checks.statistics(mean, std)
        if inplace:
            raise NotImplementedError("inplace is not supported")

    def apply(self, images: Images) -> Images:
        mean, deviation = (broadcast_over_channels(values, images) for values in (self.mean, self.std))
        return images.replaced(
            images.operations.normalize(images.data, mean=mean, stddev=deviation, device=self.device)
        )


class GaussianBlur(Transform):
    """Blur by a Gaussian.

    Parameters
    ----------
    kernel_size
        Odd width and height of the kernel, or one number for both.
    sigma
        Standard deviation in pixels, or a range that it is drawn from.
    device
        Where it runs.
    seed
        Seed of the draws.
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        sigma: float | Sequence[float] = (0.1, 2.0),
        device: Device = "cpu",
        seed: int = -1,
    ) -> None:
        super().__init__(device)
        sizes = [kernel_size] if isinstance(kernel_size, int) else kernel_size
        if not isinstance(sizes, (list, tuple)) or any(not isinstance(size, int) for size in sizes):
            raise ValueError(f" Kernel size should be an int or a sequence of ints, got {kernel_size}")
        checks.positive("kernel_size", kernel_size)
        if len(sizes) not in (1, 2):
            raise ValueError(f"Kernel size should be an int or a sequence of one or two, got {kernel_size}")
        if any(size % 2 == 0 for size in sizes):
            raise ValueError(f"Kernel size values should be odd positive numbers, got {kernel_size}")
        if isinstance(sigma, str) or not isinstance(sigma, (int, float, Sequence)):
            raise ValueError(f"sigma must be a float or a (min, max) sequence, got {type(sigma)}")
        if isinstance(sigma, Sequence) and len(sigma) != 2:
            raise ValueError(f"sigma sequence must have exactly 2 elements (min, max), got {len(sigma)}")
        checks.positive("sigma", sigma)
        checks.ordered("sigma", sigma)
        self.window = (sizes[-1], sizes[0])
        self.sigma = (float(sigma), float(sigma)) if isinstance(sigma, (int, float)) else (sigma[0], sigma[1])
        self.seed = seed

    def apply(self, images: Images) -> Images:
        sigma: Any = self.sigma[0]
        if self.sigma[0] != self.sigma[1]:
            sigma = images.operations.random.uniform(
                range=self.sigma, **({"seed": self.seed} if images.in_pipeline else {})
            )
        return images.replaced(
            images.operations.gaussian_blur(images.data, window_size=self.window, sigma=sigma, device=self.device)
        )
