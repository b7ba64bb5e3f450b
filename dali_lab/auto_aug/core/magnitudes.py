"""Magnitudes of augmentations: bins of a range, with or without a random sign."""

from __future__ import annotations

from typing import Any

from dali_lab.auto_aug.core.nodes import draw
from dali_lab.graph.recorder import DataNode
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError


class SignedBin:
    """A magnitude bin, a number or a node, together with a random sign for each sample.

    Attributes
    ----------
    bin
        The bin.
    random_sign
        A node: 1 where the magnitude is negated, else 0.
    signed_magnitude_idx
        A node: twice the bin, plus the sign.
    """

    def __init__(self, magnitude_bin: int | DataNode, random_sign: Any, signed_magnitude_idx: Any) -> None:
        self.bin = magnitude_bin
        self.random_sign: Any = random_sign
        self.signed_magnitude_idx = signed_magnitude_idx

    def __getitem__(self, index: Any) -> SignedBin:
        """The bin and sign of one of several stages, where signs were drawn for all of them at once."""
        own = self.bin if isinstance(self.bin, int) else self.bin[index]
        return SignedBin(own, self.random_sign[index], self.signed_magnitude_idx[index])


def signed_bin(
    magnitude_bin: int | DataNode,
    random_sign: DataNode | None = None,
    seed: int | None = None,
    shape: tuple[int, ...] | None = None,
) -> SignedBin:
    """Join a magnitude bin with a random sign, once for the whole batch, before a conditional cuts it.

    Parameters
    ----------
    magnitude_bin
        A bin, or a node that gives one for each sample.
    random_sign
        A node of zeros and ones; drawn here if not given.
    seed, shape
        Of the signs that are drawn.

    Raises
    ------
    ArgumentError
        If `magnitude_bin` is something else, or `random_sign` is given together with `seed` or `shape`.
    """
    if isinstance(magnitude_bin, bool) or not isinstance(magnitude_bin, (int, DataNode)):
        raise ArgumentError(f"takes a number or a node, got {magnitude_bin!r}", argument="magnitude_bin")
    sign: Any = random_sign
    if sign is not None:
        if seed is not None or shape is not None:
            raise ArgumentError("cannot be given together with 'seed' or 'shape'", argument="random_sign")
    else:
        sign = draw(seed, values=[0, 1], dtype=dtypes.INT32, shape=shape)
    own: Any = magnitude_bin
    return SignedBin(magnitude_bin, sign, 2 * own + sign)
