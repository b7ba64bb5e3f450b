"""Arguments of the usual kinds: switches, lists, choices, and numbers with a usual unit and slider."""

from __future__ import annotations

from functools import partial
from typing import Protocol, TypedDict, Unpack

from dali_lab.model.dtypes import DALIDataType
from dali_lab.schema.arguments import Arg, ArgType


class Traits(TypedDict, total=False):
    """Parameters of :class:`Arg` besides its name, type, default and meaning."""

    vector: bool
    length: int
    lengths: tuple[int, ...]
    longer: bool
    tensor: bool
    per_frame: bool
    arrays_are_nodes: bool
    fed: tuple[DALIDataType, ...]
    minimum: float | None
    maximum: float | None
    exclusive_minimum: bool
    slider: tuple[float | None, ...]
    unit: str | None
    synonyms: tuple[tuple[str, str], ...]
    widget: str
    relative_to: str
    important: bool
    advanced: bool
    removed: bool
    refused_as: str
    refused_above: str
    beyond_dali: bool


class Preset(Protocol):
    """Makes an argument of one kind."""

    def __call__(self, name: str, default: object, doc: str, **traits: Unpack[Traits]) -> Arg: ...


def flag(name: str, doc: str, *, default: bool | None = False, **traits: Unpack[Traits]) -> Arg:
    """A switch."""
    return Arg(name, "bool", default, doc, **traits)


def choice(name: str, default: object, choices: tuple[str, ...], doc: str, **traits: Unpack[Traits]) -> Arg:
    """One of several words."""
    return Arg(name, "string", default, doc, choices=choices, **traits)


def _preset(kind: ArgType, **fixed: Unpack[Traits]) -> Preset:
    return partial(_made, kind, fixed)


def _made(kind: ArgType, fixed: Traits, name: str, default: object, doc: str, **traits: Unpack[Traits]) -> Arg:
    every: Traits = {**fixed, **traits}
    return Arg(name, kind, default, doc, **every)


number = _preset("float")
"""A number."""

numbers = _preset("float", vector=True)
"""A list of numbers, or one."""

integer = _preset("int")
"""A whole number."""

integers = _preset("int", vector=True)
"""A list of whole numbers, or one."""

string = _preset("string")
"""A text."""

strings = _preset("string", vector=True)
"""A list of texts, or one."""

fraction = _preset("float", minimum=0.0, maximum=1.0)
"""A number that must lie between 0 and 1."""

share = _preset("float", slider=(0.0, 1.0, 0.01))
"""A number that is useful between 0 and 1."""

factor = _preset("float", slider=(0.0, 2.0, 0.01))
"""A factor of a property; 1 leaves it unchanged."""

degrees = _preset("float", unit="deg", slider=(-180.0, 180.0, 1.0))
"""An angle in degrees."""

radians = _preset("float", slider=(-3.15, 3.15, 0.01))
"""An angle in radians."""

pixel_value = _preset("float", slider=(0, 255))
"""A value of a pixel, of images of bytes."""
