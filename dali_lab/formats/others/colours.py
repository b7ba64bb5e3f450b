"""Steps that change the values of pixels: light, colour, blur, noise, types."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dali_lab.formats.others.draws import Coin, Draw, NoEquivalent, Range
from dali_lab.formats.others.step import Step, constant, made, numbers, pair, plain, spread
from dali_lab.formats.python.layout import Piece
from dali_lab.model import dtypes

_KERAS_FACTOR = '''
class RandomFactor(layers.Layer):
    """Distances from a center times a factor, drawn for each picture; does nothing with training=False."""

    def __init__(self, low, high, center=0.0, **options):
        super().__init__(**options)
        self.low, self.high, self.center = low, high, center

    def call(self, images, training=False):
        if not training:
            return images
        factors = keras.random.uniform((keras.ops.shape(images)[0], 1, 1, 1), self.low, self.high)
        return self.center + (images - self.center) * factors
'''


def _keras_factor(factor: Range, center: float, *, cut: bool) -> list[Piece]:
    """Distances from a center times a factor; `cut` off at 0 and 255."""
    if factor.constant:
        offset = center * (1 - factor.low)
        scaled = made("layers.Rescaling", plain(factor.low), *([("offset", plain(offset))] if offset else []))
    else:
        place = [("center", plain(center))] if center else []
        scaled = made("RandomFactor", plain(factor.low), plain(factor.high), *place, definition=_KERAS_FACTOR)
    return [scaled, made("layers.ReLU", ("max_value", "255.0"))] if cut else [scaled]


def _cut_note(library: str, *, cut: bool) -> str:
    return "" if cut or library == "keras" else "values are cut off at 0 and 255 between contrast and brightness"


@dataclass(frozen=True)
class Brightness(Step):
    """All values times a factor; `cut` off at 0 and 255 unless the same node goes on with them."""

    factor: Draw
    cut: bool = True

    def torchvision(self) -> list[Piece]:
        return [made("v2.ColorJitter", ("brightness", pair(self.factor)))]

    def albumentations(self) -> list[Piece]:
        factor = spread(self.factor)
        gain = factor.mapped(lambda value: value - 1)
        nothing = ("brightness_limit", "(0, 0)")
        return [made("A.RandomBrightnessContrast", nothing, ("contrast_limit", pair(gain)), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        return _keras_factor(spread(self.factor), 0.0, cut=self.cut)

    def note(self, library: str) -> str:
        return _cut_note(library, cut=self.cut)


@dataclass(frozen=True)
class Shift(Step):
    """A share of the range of values is added."""

    share: Draw

    def albumentations(self) -> list[Piece]:
        nothing = ("contrast_limit", "(0, 0)")
        return [made("A.RandomBrightnessContrast", ("brightness_limit", pair(self.share)), nothing, ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        return [made("layers.RandomBrightness", pair(self.share))]


@dataclass(frozen=True)
class Contrast(Step):
    """Distances from `center` times a factor; `cut` off at 0 and 255 unless the same node goes on with them."""

    factor: Draw
    center: float
    cut: bool = True

    def torchvision(self) -> list[Piece]:
        return [made("v2.ColorJitter", ("contrast", pair(self.factor)))]

    def albumentations(self) -> list[Piece]:
        factor = spread(self.factor)
        if not self._exact:
            first, last = (("brightness", "(1, 1)"), (("saturation", "(1, 1)"), ("hue", "(0, 0)"), ("p", "1.0")))
            return [made("A.ColorJitter", first, ("contrast", pair(factor)), *last)]
        light, gain = self.center / 255 * (1 - factor.low), factor.low - 1
        items = [
            ("brightness_limit", pair(Range(light, light))),
            ("contrast_limit", pair(Range(gain, gain))),
            ("p", "1.0"),
        ]
        return [made("A.RandomBrightnessContrast", *items)]

    @property
    def _exact(self) -> bool:
        return isinstance(self.factor, Range) and self.factor.constant

    def keras(self) -> list[Piece]:
        return _keras_factor(spread(self.factor), self.center, cut=self.cut)

    def note(self, library: str) -> str:
        if library == "keras" or (library == "albumentations" and self._exact):
            return _cut_note(library, cut=self.cut)
        about = f"contrast turns about the mean of the grey picture, in DALI about {plain(self.center)}"
        return "; ".join(filter(None, (about, _cut_note(library, cut=self.cut))))


@dataclass(frozen=True)
class Invert(Step):
    """255 less each value."""

    def torchvision(self) -> list[Piece]:
        return [made("v2.RandomInvert", ("p", "1.0"))]

    def albumentations(self) -> list[Piece]:
        return [made("A.InvertImg", ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        return [made("layers.Rescaling", "-1", ("offset", "255"))]


@dataclass(frozen=True)
class Saturation(Step):
    """Distances from grey times a factor."""

    factor: Draw

    def torchvision(self) -> list[Piece]:
        if isinstance(self.factor, Coin):
            return [made("v2.RandomGrayscale", ("p", plain(1 - self.factor.probability)))]
        return [made("v2.ColorJitter", ("saturation", pair(self.factor)))]

    def albumentations(self) -> list[Piece]:
        if isinstance(self.factor, Coin):
            return [made("A.ToGray", ("p", plain(1 - self.factor.probability)))]
        nothing = [(name, "(1, 1)") for name in ("brightness", "contrast")]
        return [made("A.ColorJitter", *nothing, ("saturation", pair(self.factor)), ("hue", "(0, 0)"), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        if isinstance(self.factor, Coin):
            return [made("layers.RandomGrayscale", plain(1 - self.factor.probability))]
        factor = spread(self.factor)
        share = factor.mapped(lambda value: value / (1 + value))
        # The layer cuts saturation, a number from 0 to 1, at the range of values.
        return [made("layers.RandomSaturation", pair(share), ("value_range", "(0, 1)"))]

    def note(self, library: str) -> str:
        if library != "keras" or isinstance(self.factor, Coin):
            return ""
        drawn = "" if isinstance(self.factor, Range) and self.factor.constant else ", and is not drawn evenly"
        return f"saturation is that of HSV{drawn}; in DALI the distance from grey"


@dataclass(frozen=True)
class Hue(Step):
    """Colours turned, in degrees."""

    degrees: Draw

    def torchvision(self) -> list[Piece]:
        return [made("v2.ColorJitter", ("hue", pair(self._turns())))]

    def albumentations(self) -> list[Piece]:
        nothing = [(name, "(1, 1)") for name in ("brightness", "contrast", "saturation")]
        return [made("A.ColorJitter", *nothing, ("hue", pair(self._turns())), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        turns = self._turns()
        if turns.low != -turns.high:
            raise NoEquivalent("{} turns hues as far to one side as to the other")
        return [made("layers.RandomHue", pair(Range(0, float(f"{2 * turns.high:.9g}"))))]

    def _turns(self) -> Range:
        degrees = spread(self.degrees)
        turns = degrees.mapped(lambda value: value / 360)
        if degrees.constant:
            turns = turns.mapped(lambda turn: turn - math.floor(turn + 0.5))
        if turns.low < -0.5 or turns.high > 0.5:
            raise NoEquivalent("{} turns hues by at most 180 degrees to each side")
        return turns

    def note(self, library: str) -> str:
        return "hue is that of HSV, in DALI an angle about the axis of greys"


@dataclass(frozen=True)
class Gray(Step):
    """To grey; `channels` tells how many there are after it."""

    channels: int = 1

    def torchvision(self) -> list[Piece]:
        return [made("v2.Grayscale", *([] if self.channels == 1 else [("num_output_channels", "3")]))]

    def albumentations(self) -> list[Piece]:
        if self.channels == 1:
            return [made("A.ToGray", ("num_output_channels", "1"), ("p", "1.0"))]
        return [made("A.ToGray", ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        return [made("layers.RandomGrayscale", "1.0")]

    def note(self, library: str) -> str:
        return "a grey picture keeps three channels" if library == "keras" and self.channels == 1 else ""


@dataclass(frozen=True)
class Blur(Step):
    """Gaussian, of a window height and width (0 where sigma decides) and a sigma (0 where the window does)."""

    window: tuple[int, int]
    sigma: Draw

    def resolved(self) -> tuple[tuple[int, int], Range]:
        """Window and sigma, where one follows from the other."""
        sigma = spread(self.sigma)
        if sigma.high <= 0:
            side = max(self.window)
            if side <= 0:
                raise NoEquivalent("{} needs a sigma or a window size")
            found = ((side - 1) / 2 - 1) * 0.3 + 0.8
            sigma = Range(found, found)
        if sigma.low <= 0:
            sigma = Range(min(0.01, sigma.high), sigma.high)
        side = 2 * math.ceil(3 * sigma.high) + 1
        return (self.window[0] or side, self.window[1] or side), sigma

    def torchvision(self) -> list[Piece]:
        (height, width), sigma = self.resolved()
        return [made("v2.GaussianBlur", numbers([width, height]), ("sigma", pair(sigma)))]

    def _square(self) -> tuple[int, Range]:
        (height, width), sigma = self.resolved()
        if height != width:
            raise NoEquivalent("{} has windows of one length for both axes")
        return height, sigma

    def albumentations(self) -> list[Piece]:
        side, sigma = self._square()
        items = [("blur_limit", pair(Range(side, side))), ("sigma_limit", pair(sigma)), ("p", "1.0")]
        return [made("A.GaussianBlur", *items)]

    def keras(self) -> list[Piece]:
        side, sigma = self._square()
        if sigma.low > 1:
            raise NoEquivalent("{} takes a sigma from 1 on only as the end of a range that begins below it")
        items: list[tuple[str, Piece]] = [("kernel_size", plain(side)), ("sigma", pair(sigma))]
        return [made("layers.RandomGaussianBlur", ("factor", "(1.0, 1.0)"), *items)]

    def note(self, library: str) -> str:
        if library != "keras":
            return ""
        several = not isinstance(self.sigma, Range) or not self.sigma.constant
        drawn = "; each axis draws a sigma of its own, for all pictures of a call" if several else ""
        return f"pictures are black beyond their edge, in DALI mirrored{drawn}"


@dataclass(frozen=True)
class Noise(Step):
    """Gaussian noise on every value."""

    mean: float
    deviation: Draw

    def torchvision(self) -> list[Piece]:
        deviation = constant(self.deviation, "the deviation of noise")
        items = [("mean", plain(self.mean / 255)), ("sigma", plain(deviation / 255))]
        scaled = ("scale", "True")
        return [
            made("v2.ToDtype", "torch.float32", scaled),
            made("v2.GaussianNoise", *items),
            made("v2.ToDtype", "torch.uint8", scaled),
        ]

    def albumentations(self) -> list[Piece]:
        deviation = spread(self.deviation)
        mean = self.mean / 255
        share = deviation.mapped(lambda value: value / 255)
        items = [("std_range", pair(share)), ("mean_range", pair(Range(mean, mean))), ("p", "1.0")]
        return [made("A.GaussNoise", *items)]

    def keras(self) -> list[Piece]:
        if self.mean:
            raise NoEquivalent("{} has noise about 0 alone")
        deviation = constant(self.deviation, "the deviation of noise") / 255
        return [
            made("layers.Rescaling", "1 / 255"),
            made("layers.GaussianNoise", plain(deviation)),
            made("layers.Rescaling", "255"),
        ]

    def note(self, library: str) -> str:
        return "noise is not cut off at 0 and 255" if library == "keras" else ""


@dataclass(frozen=True)
class SaltAndPepper(Step):
    """Pixels set to black or white with a probability."""

    share: Draw
    salt: Draw

    def albumentations(self) -> list[Piece]:
        items = [("amount", pair(self.share)), ("salt_vs_pepper", pair(self.salt)), ("p", "1.0")]
        return [made("A.SaltAndPepper", *items)]


@dataclass(frozen=True)
class Compression(Step):
    """Written as JPEG of a quality and read again."""

    quality: Draw

    def torchvision(self) -> list[Piece]:
        return [made("v2.JPEG", pair(self._whole()))]

    def albumentations(self) -> list[Piece]:
        return [made("A.ImageCompression", ("quality_range", pair(self._whole())), ("p", "1.0"))]

    def _whole(self) -> Range:
        quality = spread(self.quality)
        return Range(max(1, round(quality.low)), max(1, round(quality.high)))


@dataclass(frozen=True)
class MedianBlur(Step):
    """The median of a square."""

    side: int

    def albumentations(self) -> list[Piece]:
        return [made("A.MedianBlur", ("blur_limit", pair(Range(self.side, self.side))), ("p", "1.0"))]


@dataclass(frozen=True)
class Equalize(Step):
    """Histograms made flat, channel by channel."""

    def torchvision(self) -> list[Piece]:
        return [made("v2.RandomEqualize", ("p", "1.0"))]

    def albumentations(self) -> list[Piece]:
        return [made("A.Equalize", ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        return [made("layers.Equalization")]


@dataclass(frozen=True)
class Clahe(Step):
    """Histograms made flat tile by tile, with a limit."""

    tiles: tuple[int, int]
    limit: Draw

    def albumentations(self) -> list[Piece]:
        items = [("clip_limit", pair(self.limit)), ("tile_grid_size", numbers(self.tiles, "(", ")")), ("p", "1.0")]
        return [made("A.CLAHE", *items)]

    def keras(self) -> list[Piece]:
        limit = plain(constant(self.limit, "the clip limit"))
        items: list[tuple[str, Piece]] = [("clip_limit", limit), ("tile_grid_size", numbers(self.tiles, "(", ")"))]
        return [made("layers.ContrastLimitedAdaptiveHistogramEqualization", *items)]

    def note(self, library: str) -> str:
        return "each channel is equalized, in DALI the luminance" if library == "keras" else ""


@dataclass(frozen=True)
class Cast(Step):
    """Another type of element, values as they are."""

    dtype: dtypes.DALIDataType

    def torchvision(self) -> list[Piece]:
        if self.dtype not in _TORCH_TYPES:
            raise NoEquivalent(f"torch has no type like {self.dtype.name}")
        return [made("v2.ToDtype", f"torch.{_TORCH_TYPES[self.dtype]}")]

    def albumentations(self) -> list[Piece]:
        if self.dtype == dtypes.UINT8:
            return []
        if self.dtype != dtypes.FLOAT:
            raise NoEquivalent("{} has pictures of uint8 and float32 alone")
        return [made("A.ToFloat", ("max_value", "1.0"))]

    def keras(self) -> list[Piece]:
        if self.dtype not in (dtypes.FLOAT, dtypes.UINT8):
            raise NoEquivalent("layers of {} give float32")
        return []

    def note(self, library: str) -> str:
        return "layers give float32" if library == "keras" and self.dtype == dtypes.UINT8 else ""


_TORCH_TYPES = {
    dtypes.UINT8: "uint8", dtypes.INT16: "int16", dtypes.INT32: "int32", dtypes.INT64: "int64",
    dtypes.FLOAT16: "float16",
    dtypes.FLOAT: "float32", dtypes.FLOAT64: "float64", dtypes.BOOL: "bool",
}  # fmt: skip


@dataclass(frozen=True)
class Normalize(Step):
    """Less a mean, by a deviation, one for each channel or one for all."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def torchvision(self) -> list[Piece]:
        return [made("v2.Normalize", ("mean", numbers(self.mean)), ("std", numbers(self.deviation)))]

    def albumentations(self) -> list[Piece]:
        mean, deviation = self._channels()
        items = [("mean", numbers(mean, "(", ")")), ("std", numbers(deviation, "(", ")"))]
        return [made("A.Normalize", *items, ("max_pixel_value", "1.0"))]

    def keras(self) -> list[Piece]:
        mean, deviation = self._channels()
        # layers.Normalization holds undefined numbers in a Pipeline, which does not build it.
        scale = [1 / item for item in deviation]
        offset = [-each / item for each, item in zip(mean, deviation, strict=True)]
        return [made("layers.Rescaling", numbers(scale), numbers(offset))]

    def _channels(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        mean = self.mean * 3 if len(self.mean) == 1 else self.mean
        return mean, self.deviation * 3 if len(self.deviation) == 1 else self.deviation


@dataclass(frozen=True)
class ChannelsFirst(Step):
    """From HWC to CHW, which tensors of torchvision are from the start."""

    def torchvision(self) -> list[Piece]:
        return []

    def albumentations(self) -> list[Piece]:
        return [made("A.ToTensorV2")]

    def keras(self) -> list[Piece]:
        return [made("layers.Permute", numbers([3, 1, 2], "(", ")"))]


@dataclass(frozen=True)
class ChannelsLast(Step):
    """HWC, which pictures of albumentations and Keras are from the start."""

    def torchvision(self) -> list[Piece]:
        raise NoEquivalent("tensors of {} are CHW")

    def albumentations(self) -> list[Piece]:
        return []

    def keras(self) -> list[Piece]:
        return []


OF_BYTES = (
    Brightness, Shift, Contrast, Invert, Saturation, Hue, Noise, SaltAndPepper, Compression, Equalize, Clahe,
)  # fmt: skip
"""Steps that take white for 255 in pictures of uint8, and for 1 in those of floats."""
