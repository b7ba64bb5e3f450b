"""Inputs and outputs of an operator."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dali_lab.model import dtypes

Kind = Literal["image", "tensor", "encoded", "audio", "mask", "boxes", "any"]

INTEGERS = (
    dtypes.UINT8,
    dtypes.UINT16,
    dtypes.UINT32,
    dtypes.UINT64,
    dtypes.INT8,
    dtypes.INT16,
    dtypes.INT32,
    dtypes.INT64,
)
"""Integer types of any width."""
NUMBERS = (*INTEGERS, dtypes.FLOAT16, dtypes.FLOAT, dtypes.FLOAT64)
"""All types of numbers, without BOOL."""


@dataclass(frozen=True)
class Input:
    """One positional input of an operator.

    Parameters
    ----------
    name, doc
        Name and meaning; ``{types}`` in it stands for the names of `dtypes`.
    kind
        What travels there, for ports and their colours.
    layouts
        Accepted layouts; `None` takes any. Where an operator says ``frames``, the executor takes them with a leading
        ``F`` as well.
    dtypes
        Types of elements that are taken; `None` takes any.
    dims
        Numbers of dimensions that are taken; `None` takes any, or those of the layouts.
    optional
        Whether it may be left out.
    variadic
        Whether it may be repeated (only the last one).
    replaces
        Arguments that it gives, and which must not be given besides.
    device
        Where its data is read, as NVIDIA DALI's schema says it: where the operator runs, always on the CPU, also from
        the CPU by an operator on a GPU ("either"), or wherever it is, as only shape or type count ("any").
    """

    name: str
    kind: Kind = "image"
    doc: str = ""
    layouts: tuple[str, ...] | None = None
    dtypes: tuple[dtypes.DALIDataType, ...] | None = None
    dims: tuple[int, ...] | None = None
    optional: bool = False
    variadic: bool = False
    replaces: tuple[str, ...] = ()
    device: Literal["operator", "cpu", "either", "any"] = "operator"

    def device_for(self, operator: str | None, actual: str | None = None) -> str | None:
        """The device that data is read on, by an operator on the device `operator`, if the data is on `actual`."""
        if self.device == "cpu":
            return "cpu"
        if self.device == "any" or (self.device == "either" and operator != "cpu"):
            return actual or operator
        return operator

    def __post_init__(self) -> None:
        if self.dtypes is not None:
            object.__setattr__(self, "doc", self.doc.replace("{types}", any_of(self.dtypes)))

    def assumed_layout(self, ndim: int, frames: bool) -> str:
        """The layout that samples of `ndim` dimensions without one are taken to have, or an empty string.

        `frames` says whether sequences are taken too.
        """
        layouts = self.layouts or ()
        # Sequences come before volumes of as many dimensions.
        every = sorted((*layouts, *("F" + layout for layout in layouts)), key=lambda layout: "D" in layout)
        return next((layout for layout in (every if frames else layouts) if len(layout) == ndim), "")


@dataclass(frozen=True)
class Output:
    """One output of an operator; `layout` and `dtype` where they are always the same.

    An output that is there only if it is asked for says so by `when`: arguments, one of which must be true. One that
    stands for several names the argument in `each`: a list with the name of each.
    """

    name: str
    kind: Kind = "image"
    doc: str = ""
    layout: str | None = None
    dtype: dtypes.DALIDataType | None = None
    when: tuple[str, ...] = ()
    each: str | None = None

    def named(self, names: Sequence[str] | None) -> tuple[Output, ...]:
        """One output for each name, called by it as far as a variable can be."""
        words = [re.sub(r"\W+", "_", str(name)).strip("_") for name in names or ()]
        return tuple(
            replace(self, name=word if word.isidentifier() else f"{self.name}_{index}")
            for index, word in enumerate(words)
        ) or (self,)


@dataclass(frozen=True)
class Extent:
    """Bounds of the samples of an output, as far as they are known: shape, dtype and layout of the largest.

    Attributes
    ----------
    shape
        Its shape, with −1 for unknown extents; `None` if the number of dimensions is unknown too.
    dtype
        Type of an element; `None` if it is not known.
    layout
        One letter for each dimension, or an empty string.
    """

    shape: tuple[int, ...] | None
    dtype: dtypes.DALIDataType | None
    layout: str = ""


def any_of(values: Collection[dtypes.NamedEnum]) -> str:
    """Names of types and the like in words: ``"UINT8, INT16 or FLOAT"``, ``"integers or FLOAT"``."""
    names = [value.name for value in values]
    if set(INTEGERS) <= set(values):
        names = ["integers", *(value.name for value in values if value not in INTEGERS)]
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
