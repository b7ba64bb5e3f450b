"""Steps that choose among others."""

from __future__ import annotations

from dataclasses import dataclass

from dali_lab.formats.others.draws import NoEquivalent
from dali_lab.formats.others.step import Step, made, plain
from dali_lab.formats.python.layout import Piece, listing


@dataclass(frozen=True)
class Sometimes(Step):
    """Other steps, with a probability."""

    probability: float
    steps: tuple[Step, ...]

    def torchvision(self) -> list[Piece]:
        pieces = [piece for step in self.steps for piece in step.torchvision()]
        return [made("v2.RandomApply", listing(pieces), ("p", plain(self.probability)))] if pieces else []

    def albumentations(self) -> list[Piece]:
        pieces = [piece for step in self.steps for piece in step.albumentations()]
        return [made("A.Sequential", listing(pieces), ("p", plain(self.probability)))] if pieces else []

    def keras(self) -> list[Piece]:
        raise NoEquivalent("{} does every step in any case")

    def note(self, library: str) -> str:
        return "; ".join(filter(None, (step.note(library) for step in self.steps)))


@dataclass(frozen=True)
class OneOf(Step):
    """One of several steps, each as likely as the others."""

    steps: tuple[Step, ...]

    def torchvision(self) -> list[Piece]:
        return [made("v2.RandomChoice", listing(piece for step in self.steps for piece in step.torchvision()))]

    def albumentations(self) -> list[Piece]:
        pieces = [piece for step in self.steps for piece in step.albumentations()]
        return [made("A.OneOf", listing(pieces), ("p", "1.0"))]

    def keras(self) -> list[Piece]:
        raise NoEquivalent("{} chooses from no list")

    def note(self, library: str) -> str:
        return self.steps[0].note(library)
