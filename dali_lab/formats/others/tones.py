"""Arithmetic on pictures of uint8 that other libraries have as one transform: posterize, solarize, gamma."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dali_lab.formats.others.draws import Draw, NoEquivalent, Range, drawn
from dali_lab.formats.others.step import Step, made, made_of, pair, plain, spread
from dali_lab.formats.python.layout import Piece
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model import dtypes


@dataclass(frozen=True)
class Posterize(Step):
    """The upper bits of each value."""

    bits: int

    def torchvision(self) -> list[Piece]:
        return [made("v2.RandomPosterize", plain(self.bits), ("p", "1.0"))]

    def albumentations(self) -> list[Piece]:
        return [made("A.Posterize", ("num_bits", plain(self.bits)), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        return [made("layers.RandomPosterization", f"({self.bits}, {self.bits})")]


@dataclass(frozen=True)
class Solarize(Step):
    """Values from a threshold on inverted."""

    threshold: float

    def torchvision(self) -> list[Piece]:
        return [made("v2.RandomSolarize", plain(self.threshold), ("p", "1.0"))]

    def albumentations(self) -> list[Piece]:
        # Halfway below the first value that is inverted: the share times 255 is not exact.
        share = plain(max(0.0, math.ceil(self.threshold) - 0.5) / 255)
        return [made("A.Solarize", ("threshold_range", f"({share}, {share})"), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        raise NoEquivalent("{} draws the threshold from 0 on")


@dataclass(frozen=True)
class Gamma(Step):
    """A power of each value, as a share of 255."""

    power: Draw

    def torchvision(self) -> list[Piece]:
        power = spread(self.power)
        if not power.constant:
            raise NoEquivalent("{} takes gamma as one number, and does not draw it")
        return [made("v2.Lambda", made_of("image", made("v2.functional.adjust_gamma", "image", plain(power.low))))]

    def albumentations(self) -> list[Piece]:
        percent = spread(self.power).mapped(lambda value: 100 * value)
        return [made("A.RandomGamma", ("gamma_limit", pair(percent)), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        raise NoEquivalent("{} has no such layer")


def posterized(node: Node) -> Step:
    """The step of a `math.bitand` of a picture and a number."""
    mask = _number(node)
    for bits in range(1, 9):
        if mask == 256 - (1 << (8 - bits)):
            return Posterize(bits)
    raise NoEquivalent("{} keeps the upper bits of values alone: 128, 192, 224, 240, 248, 252, 254")


def composed(graph: Graph, node: Node) -> tuple[Step, Edge, set[str]] | None:
    """The step that a node ends whose beginning are several others: with the picture before, and these others."""
    if node.arguments.get("dtype", dtypes.UINT8) != dtypes.UINT8:
        return None
    return next(filter(None, (read(graph, node) for read in _ENDED_BY.get(node.op, ()))), None)


def _gamma(graph: Graph, cast: Node) -> tuple[Step, Edge, set[str]] | None:
    scaled = _before(graph, cast, "math.mul")
    raised = scaled and _number(scaled) == 255 and _before(graph, scaled, "math.pow")
    share = raised and _before(graph, raised, "math.fdiv")
    if not (scaled and raised and share) or share.arguments.get("b") != 255 or len(share.inputs) != 1:
        return None
    names = {scaled.id, raised.id, share.id}
    if len(raised.inputs) == 2:
        power = drawn(graph, raised.inputs[1], "gamma")
        names |= {raised.inputs[1].node, *graph.ancestors([raised.inputs[1].node])}
    elif isinstance(found := raised.arguments.get("b"), (int, float)):
        power = Range(float(found), float(found))
    else:
        return None
    return Gamma(power), share.inputs[0], names


def _solarized(graph: Graph, cast: Node) -> tuple[Step, Edge, set[str]] | None:
    """``x * (x < t) + (255 - x) * (x >= t)`` as the type of ``x``."""
    added = _before(graph, cast, "math.add")
    if added is None or len(added.inputs) != 2:
        return None
    kept, turned = _before(graph, added, "math.mul"), _before(graph, added, "math.mul", 1)
    below = kept and _before(graph, kept, "math.lt", 1)
    above = turned and _before(graph, turned, "math.geq", 1)
    inverted = turned and _before(graph, turned, "math.sub")
    if not (kept and turned and below and above and inverted):
        return None
    picture, bound = kept.inputs[0], below.arguments.get("b")
    if not isinstance(bound, (int, float)):
        return None
    fits = (
        above.arguments.get("b") == bound
        and inverted.arguments.get("a") == 255
        and all(each.inputs == (picture,) for each in (below, above, inverted))
        and all(like == picture for like in cast.inputs[1:])
    )
    if not fits:
        return None
    return Solarize(float(bound)), picture, {each.id for each in (added, kept, turned, below, above, inverted)}


def _before(graph: Graph, node: Node, op: str, index: int = 0) -> Node | None:
    """The node before an input of another one, if it is of an operator."""
    found = graph.nodes.get(node.inputs[index].node) if index < len(node.inputs) else None
    return found if found is not None and found.op == op else None


def _number(node: Node) -> float | None:
    """The number of arithmetic between an edge and a number, where the order tells nothing."""
    found = node.arguments.get("a", node.arguments.get("b"))
    return found if len(node.inputs) == 1 and isinstance(found, (int, float)) else None


_ENDED_BY: dict[str, tuple[Callable[[Graph, Node], tuple[Step, Edge, set[str]] | None], ...]] = {
    "cast": (_gamma, _solarized),
    "cast_like": (_solarized,),
}
"""Steps that end in a node of an operator, by its name."""

OF_BYTES = (Posterize, Solarize, Gamma)
"""Steps on pictures of uint8 alone."""
