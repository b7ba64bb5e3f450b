"""The step of a chain of transforms, and how calls of other libraries are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from dali_lab.formats.others.draws import Choice, Draw, NoEquivalent, Range
from dali_lab.formats.python.layout import Bracket, Piece, call, listing, number
from dali_lab.model import dtypes

Size = tuple[int, int]
"""Height and width in pixels."""


@dataclass(frozen=True)
class Step:
    """One step on a picture, and how each library writes it: the one declaration of an operator's equivalents.

    A library that has nothing like it raises :class:`NoEquivalent`.
    """

    def torchvision(self) -> list[Piece]:
        """Calls of ``torchvision.transforms.v2``, for tensors CHW of uint8 until a step says otherwise."""
        raise NoEquivalent("{} has no such transform")

    def albumentations(self) -> list[Piece]:
        """Calls of albumentations, for arrays HWC of uint8 until a step says otherwise."""
        raise NoEquivalent("{} has no such transform")

    def keras(self) -> list[Piece]:
        """Layers of Keras, for tensors HWC of floats from 0 to 255."""
        raise NoEquivalent("{} has no such layer")

    def note(self, library: str) -> str:
        """A difference to DALI that is more than rounding, in a sentence; empty where there is none."""
        return ""

    def resized(self, size: Size | None) -> Size | None:
        """The size of the result, from that of the input; `None` where samples differ in it."""
        return size

    def variants(self) -> list[Step]:
        """One step for each value that an argument is chosen from; empty where none is chosen from a list."""
        chosen = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        chosen = [(name, value) for name, value in chosen if isinstance(value, Choice)]
        if len(chosen) > 1:
            raise NoEquivalent("two arguments are chosen from lists, and {} chooses a transform from one")
        return [
            dataclasses.replace(self, **{name: Range(item, item)}) for name, value in chosen for item in value.values
        ]


def made(function: str, *items: Piece | tuple[str, Piece], definition: str = "") -> Piece:
    """A call with positional arguments, and others as pairs of name and value; with the definition of its function."""
    labelled = [(f"{item[0]}=", item[1]) if isinstance(item, tuple) else ("", item) for item in items]
    return call(function, labelled, definition=definition)


def made_of(argument: str, body: Piece) -> Piece:
    """A function of one argument."""
    assert isinstance(body, Bracket)
    return dataclasses.replace(body, head=f"lambda {argument}: {body.head}")


def plain(value: float) -> str:
    """A number as a person writes it, with what float32 holds of it."""
    return number(float(f"{value:.7g}"), whole=True)


def spread(found: Draw) -> Range:
    """The range of a draw.

    Raises
    ------
    NoEquivalent
        If it is drawn otherwise.
    """
    if isinstance(found, Range):
        return found
    raise NoEquivalent("an argument is decided by a coin, and {} draws it from a range")


def pair(found: Draw) -> Piece:
    """A range as a tuple of two numbers."""
    found = spread(found)
    return listing([plain(found.low), plain(found.high)], "(", ")")


def numbers(values: Iterable[float], opening: str = "[", close: str = "]") -> Piece:
    """Several numbers as a list or a tuple."""
    return listing(map(plain, values), opening, close)


def constant(found: Draw, subject: str) -> float:
    """The number of a draw that is none.

    Raises
    ------
    NoEquivalent
        If it is drawn.
    """
    if isinstance(found, Range) and found.constant:
        return found.low
    raise NoEquivalent(f"{{}} takes {subject} as one number, and does not draw it")


_TORCHVISION_MODES = {
    dtypes.INTERP_NN: "NEAREST_EXACT",
    dtypes.INTERP_LINEAR: "BILINEAR",
    dtypes.INTERP_CUBIC: "BICUBIC",
    dtypes.INTERP_LANCZOS3: "LANCZOS",
    dtypes.INTERP_TRIANGULAR: "BILINEAR",
}
_ALBUMENTATIONS_MODES = {
    dtypes.INTERP_NN: "INTER_NEAREST_EXACT",
    dtypes.INTERP_LINEAR: "INTER_LINEAR",
    dtypes.INTERP_CUBIC: "INTER_CUBIC",
    dtypes.INTERP_LANCZOS3: "INTER_LANCZOS4",
    dtypes.INTERP_TRIANGULAR: "INTER_LINEAR",
}
_KERAS_MODES = {
    dtypes.INTERP_NN: "nearest",
    dtypes.INTERP_LINEAR: "bilinear",
    dtypes.INTERP_CUBIC: "bicubic",
    dtypes.INTERP_LANCZOS3: "lanczos3",
    dtypes.INTERP_TRIANGULAR: "bilinear",
}


@dataclass(frozen=True)
class Interpolation:
    """Interpolation between pixels, and whether shrinking smooths first."""

    kind: dtypes.DALIInterpType = dtypes.INTERP_LINEAR
    antialias: bool | None = None

    def _known(self, table: dict[dtypes.DALIInterpType, str]) -> str:
        if self.kind not in table:
            raise NoEquivalent(f"{{}} has no interpolation like {self.kind.name}")
        return table[self.kind]

    def torchvision(self) -> list[tuple[str, Piece]]:
        """Arguments of a transform of torchvision."""
        items: list[tuple[str, Piece]] = [("interpolation", f"v2.InterpolationMode.{self._known(_TORCHVISION_MODES)}")]
        return items if self.antialias is None else [*items, ("antialias", str(self.antialias))]

    def albumentations(self, *, resizes: bool = True) -> list[tuple[str, Piece]]:
        """Arguments of a transform of albumentations, which smooths by averaging areas."""
        mode = self._known(_ALBUMENTATIONS_MODES)
        if not resizes and mode == "INTER_NEAREST_EXACT":
            mode = "INTER_NEAREST"
        items: list[tuple[str, Piece]] = [("interpolation", f"cv2.{mode}")]
        smooths = self.antialias and self.kind in (dtypes.INTERP_LINEAR, dtypes.INTERP_TRIANGULAR)
        return [*items, ("area_for_downscale", '"image"')] if smooths and resizes else items

    def keras(self) -> list[tuple[str, Piece]]:
        """Arguments of a layer of Keras."""
        items: list[tuple[str, Piece]] = [("interpolation", f'"{self._known(_KERAS_MODES)}"')]
        return [*items, ("antialias", "True")] if self.antialias else items
