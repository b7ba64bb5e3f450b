"""Arguments of the usual kinds: switches, lists, choices, and numbers with a usual unit and slider."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from dali_lab.schema.arguments import Arg, ArgType


class Preset(Protocol):
    """Makes an argument; `more` are parameters of :class:`Arg`."""

    def __call__(self, name: str, default: Any, doc: str, **more: Any) -> Arg: ...


def flag(name: str, doc: str, *, default: bool = False, **more: Any) -> Arg:
    """A switch."""
    return Arg(name, "bool", default, doc, **more)


def choice(name: str, default: Any, choices: tuple[str, ...], doc: str, **more: Any) -> Arg:
    """One of several words."""
    return Arg(name, "string", default, doc, choices=choices, **more)


def _preset(kind: ArgType, **fixed: Any) -> Preset:
    return partial(_made, kind, fixed)


def _made(kind: ArgType, fixed: dict[str, Any], name: str, default: Any, doc: str, **more: Any) -> Arg:
    return Arg(name, kind, default, doc, **fixed, **more)


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
"""A number that makes sense between 0 and 1."""

factor = _preset("float", slider=(0.0, 2.0, 0.01))
"""A factor of a property that 1 leaves as it is."""

degrees = _preset("float", unit="deg", slider=(-180.0, 180.0, 1.0))
"""An angle in degrees."""

radians = _preset("float", slider=(-3.15, 3.15, 0.01))
"""An angle in radians."""

pixel_value = _preset("float", slider=(0, 255))
"""A value of a pixel, of images of bytes."""
