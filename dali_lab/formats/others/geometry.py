"""Steps that move pixels: sizes, crops, flips, rotations, holes."""

from __future__ import annotations

from dataclasses import dataclass

from dali_lab.formats.others.draws import Draw, NoEquivalent, Range
from dali_lab.formats.others.step import (
    Interpolation,
    Size,
    Step,
    constant,
    made,
    made_of,
    numbers,
    pair,
    plain,
    spread,
)
from dali_lab.formats.python.layout import Piece, listing


@dataclass(frozen=True)
class Resize(Step):
    """To a height and a width."""

    size: Size
    interpolation: Interpolation

    def torchvision(self) -> list[Piece]:
        return [made("v2.Resize", numbers(self.size), *self.interpolation.torchvision())]

    def albumentations(self) -> list[Piece]:
        return [made("A.Resize", *map(plain, self.size), *self.interpolation.albumentations())]

    def keras(self) -> list[Piece]:
        return [made("layers.Resizing", *map(plain, self.size), *self.interpolation.keras())]

    def resized(self, size: Size | None) -> Size | None:
        return self.size


@dataclass(frozen=True)
class ResizeSide(Step):
    """By the shorter or the longer side, which becomes `length`; the shape stays."""

    length: int
    longer: bool
    interpolation: Interpolation

    def torchvision(self) -> list[Piece]:
        size: list[Piece | tuple[str, Piece]] = [plain(self.length)]
        if self.longer:
            size = ["None", ("max_size", plain(self.length))]
        return [made("v2.Resize", *size, *self.interpolation.torchvision())]

    def albumentations(self) -> list[Piece]:
        name = "A.LongestMaxSize" if self.longer else "A.SmallestMaxSize"
        return [made(name, plain(self.length), *self.interpolation.albumentations())]

    def keras(self) -> list[Piece]:
        if self.longer:
            raise NoEquivalent("{} resizes to a height and a width, not by the longer side")
        return Cover((self.length, self.length), self.interpolation).keras()

    def resized(self, size: Size | None) -> Size | None:
        if size is None:
            return None
        share = self.length / (max(size) if self.longer else min(size))
        return (round(size[0] * share), round(size[1] * share))


@dataclass(frozen=True)
class Cover(Step):
    """To the smallest size of the same shape that covers a height and a width.

    torchvision and Keras compute the size by a function of the program.
    """

    size: Size
    interpolation: Interpolation

    def torchvision(self) -> list[Piece]:
        if self.size[0] == self.size[1]:
            return ResizeSide(self.size[0], False, self.interpolation).torchvision()
        size = made("covering", "image.shape[-2:]", *map(plain, self.size), definition=_COVERING)
        resized = made("v2.functional.resize", "image", size, *self.interpolation.torchvision())
        return [made("v2.Lambda", made_of("image", resized))]

    def albumentations(self) -> list[Piece]:
        size = [("max_size_hw", numbers(self.size, "(", ")"))]
        return [made("A.SmallestMaxSize", *size, *self.interpolation.albumentations())]

    def keras(self) -> list[Piece]:
        size = made("covering", "images.shape[1:3]", *map(plain, self.size), definition=_COVERING)
        resized = made("keras.ops.image.resize", "images", size, *self.interpolation.keras())
        return [made("layers.Lambda", made_of("images", resized))]

    def resized(self, size: Size | None) -> Size | None:
        if size is None:
            return None
        share = max(self.size[0] / size[0], self.size[1] / size[1])
        return (round(size[0] * share), round(size[1] * share))


_COVERING = '''
def covering(size, height, width):
    """The smallest size of the same shape that covers a height and a width."""
    share = max(height / size[0], width / size[1])
    return [int(side * share + 0.5) for side in size]
'''


@dataclass(frozen=True)
class Crop(Step):
    """A window in the middle, or anywhere."""

    size: Size
    anywhere: bool

    def torchvision(self) -> list[Piece]:
        return [made("v2.RandomCrop" if self.anywhere else "v2.CenterCrop", numbers(self.size))]

    def albumentations(self) -> list[Piece]:
        return [made("A.RandomCrop" if self.anywhere else "A.CenterCrop", *map(plain, self.size))]

    def keras(self) -> list[Piece]:
        return [made("layers.RandomCrop" if self.anywhere else "layers.CenterCrop", *map(plain, self.size))]

    def resized(self, size: Size | None) -> Size | None:
        return self.size


@dataclass(frozen=True)
class AreaCrop(Step):
    """A window of a random area and shape; a resize has to follow it."""

    area: Range
    ratio: Range

    def torchvision(self) -> list[Piece]:
        raise NoEquivalent("{} resizes such a window: put a resize to a height and a width right after it")

    def albumentations(self) -> list[Piece]:
        return self.torchvision()

    def keras(self) -> list[Piece]:
        raise NoEquivalent("{} has no crop of a random area")

    def resized(self, size: Size | None) -> Size | None:
        return None


@dataclass(frozen=True)
class ResizedCrop(Step):
    """A window of a random area and shape, resized."""

    size: Size
    area: Range
    ratio: Range
    interpolation: Interpolation

    def torchvision(self) -> list[Piece]:
        items = [("scale", pair(self.area)), ("ratio", pair(self.ratio)), *self.interpolation.torchvision()]
        return [made("v2.RandomResizedCrop", numbers(self.size), *items)]

    def albumentations(self) -> list[Piece]:
        items = [("scale", pair(self.area)), ("ratio", pair(self.ratio)), *self.interpolation.albumentations()]
        return [made("A.RandomResizedCrop", numbers(self.size, "(", ")"), *items)]

    def keras(self) -> list[Piece]:
        raise NoEquivalent("{} has no crop of a random area")

    def resized(self, size: Size | None) -> Size | None:
        return self.size


@dataclass(frozen=True)
class Flip(Step):
    """Mirrored in one direction, with a probability."""

    vertical: bool
    probability: float

    def torchvision(self) -> list[Piece]:
        name = "v2.RandomVerticalFlip" if self.vertical else "v2.RandomHorizontalFlip"
        return [made(name, ("p", str(self.probability)))]

    def albumentations(self) -> list[Piece]:
        return [made("A.VerticalFlip" if self.vertical else "A.HorizontalFlip", ("p", str(self.probability)))]

    def keras(self) -> list[Piece]:
        if self.probability != 0.5:
            raise NoEquivalent("{} mirrors every second picture, with no other probability")
        return [made("layers.RandomFlip", '"vertical"' if self.vertical else '"horizontal"')]


@dataclass(frozen=True)
class Rotate(Step):
    """About the middle, counter-clockwise in degrees; the canvas keeps its size or grows.

    `fill` is the value of the corners, `None` for the border repeated.
    """

    angle: Draw
    interpolation: Interpolation
    fill: float | None
    grows: bool

    def torchvision(self) -> list[Piece]:
        if self.fill is None and not self._quarters():
            raise NoEquivalent("{} fills the corners, and does not repeat the border: give fill_value")
        items = [*self.interpolation.torchvision(), *([("expand", "True")] if self.grows else [])]
        return [made("v2.RandomRotation", pair(self.angle), *items, ("fill", plain(self.fill or 0)))]

    def albumentations(self) -> list[Piece]:
        border: list[tuple[str, Piece]] = [("border_mode", "cv2.BORDER_REPLICATE")]
        if self.fill is not None:
            border = [("border_mode", "cv2.BORDER_CONSTANT"), ("fill", plain(self.fill))]
        items = [*self.interpolation.albumentations(resizes=False), *border, ("p", "1.0")]
        if self.grows:
            angle = ("rotate", pair(self.angle))
            return [made("A.Affine", angle, ("fit_output", "True"), *items)]
        return [made("A.Rotate", pair(self.angle), *items)]

    def keras(self) -> list[Piece]:
        if self.grows and not self._halves():
            raise NoEquivalent("{} keeps the size of the canvas: give keep_size")
        angle = spread(self.angle)
        items: list[tuple[str, Piece]] = [("fill_mode", '"nearest"')]
        if self.fill is not None:
            items = [("fill_mode", '"constant"'), ("fill_value", plain(self.fill))]
        turns = angle.mapped(lambda value: value / 360)
        mode = self.interpolation.keras()
        return [made("layers.RandomRotation", pair(turns), *items, *mode)]

    def _quarters(self) -> bool:
        return isinstance(self.angle, Range) and self.angle.constant and self.angle.low % 90 == 0

    def _halves(self) -> bool:
        return self._quarters() and isinstance(self.angle, Range) and self.angle.low % 180 == 0

    def resized(self, size: Size | None) -> Size | None:
        return None if self.grows else size


@dataclass(frozen=True)
class Erase(Step):
    """A hole anywhere, its height and width as shares of the picture."""

    height: Draw
    width: Draw
    fill: tuple[float, ...]
    picture: Size | None

    def torchvision(self) -> list[Piece]:
        if self.picture is None:
            raise NoEquivalent("{} takes the shape of the hole in pixels: resize or crop to a size before it")
        height, width = constant(self.height, "the height of the hole"), constant(self.width, "its width")
        area, ratio = height * width, (height * self.picture[0]) / (width * self.picture[1])
        fill = plain(self.fill[0]) if len(self.fill) == 1 else numbers(self.fill)
        both = [("scale", pair(Range(area, area))), ("ratio", pair(Range(ratio, ratio)))]
        return [made("v2.RandomErasing", ("p", "1.0"), *both, ("value", fill))]

    def albumentations(self) -> list[Piece]:
        items: list[tuple[str, Piece]] = [
            ("num_holes_range", listing(["1", "1"], "(", ")")),
            ("hole_height_range", pair(self.height)),
            ("hole_width_range", pair(self.width)),
            ("fill", plain(self.fill[0]) if len(self.fill) == 1 else numbers(self.fill, "(", ")")),
        ]
        return [made("A.CoarseDropout", *items, ("p", "1.0"))]
