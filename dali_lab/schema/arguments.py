"""Arguments, inputs and outputs of an operator, and how a value becomes what the declaration says."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dali_lab import types
from dali_lab.errors import ArgumentError, ArgumentTypeError, nearest

ArgType = Literal["float", "int", "bool", "string", "number", "dtype", "image_type", "interp_type", "layout", "object"]
Kind = Literal["image", "tensor", "encoded", "audio", "mask", "boxes", "any"]


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()

_ENUMS: dict[str, type[types._NamedEnum]] = {
    "dtype": types.DALIDataType,
    "image_type": types.DALIImageType,
    "interp_type": types.DALIInterpType,
}


@dataclass(frozen=True)
class Arg:
    """One argument of an operator.

    Parameters
    ----------
    name
        NVIDIA DALI's name for it.
    type
        Type of one element.
    default
        Value when it is not given; `None` means "not set", :data:`REQUIRED` that it must be given.
    doc
        Meaning, in one or two sentences, without the range and default, which are printed from here.
    vector
        A list of elements; a single one is taken as a list of one.
    length
        Number of elements of a vector, when it is fixed.
    tensor
        Whether a node may be connected instead of a constant, giving one value for each sample.
    per_frame
        Whether a connected node may give one value for each frame.
    minimum, maximum
        Allowed range of each element; `exclusive_minimum` leaves the minimum itself out.
    soft_minimum, soft_maximum, step
        The range worth playing with, for sliders.
    unit
        ``"px"``, ``"deg"``, ``"Hz"``, ``"dB"``, ``"s"``.
    choices
        Allowed words of a string argument.
    synonyms
        Other words for some of `choices`, each with the one it stands for; then upper and lower case do not matter.
    widget
        Form control, where the type does not already tell it.
    important
        Shown on the node itself.
    advanced
        Shown only on demand: it changes speed or memory, not the result.
    renamed_to
        For a deprecated argument: its successor.
    removed
        For a deprecated argument that no longer has any effect.
    """

    name: str
    type: ArgType
    default: Any = None
    doc: str = ""
    vector: bool = False
    length: int | None = None
    tensor: bool = False
    per_frame: bool = False
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    soft_minimum: float | None = None
    soft_maximum: float | None = None
    step: float | None = None
    unit: str | None = None
    choices: tuple[str, ...] | None = None
    synonyms: tuple[tuple[str, str], ...] = ()
    widget: str | None = None
    important: bool = False
    advanced: bool = False
    renamed_to: str | None = None
    removed: bool = False

    @property
    def required(self) -> bool:
        """Whether the argument must be given."""
        return self.default is REQUIRED

    @property
    def listed(self) -> bool:
        """Whether people are told of it: it is neither an old name nor one that graphs alone use (``_group``)."""
        return not (self.renamed_to or self.removed or self.name.startswith("_"))

    def canonical(self, value: Any) -> Any:
        """The one way in which `value` is kept in a graph: plain Python numbers, enums, tuples.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            If the value has another type, or lies outside the range.
        """
        if self.type == "object":
            return value
        if self.vector:
            if isinstance(value, np.ndarray) or (hasattr(value, "tolist") and not isinstance(value, (list, tuple))):
                value = value.tolist()
            items = list(value) if isinstance(value, (list, tuple, range)) else [value]
            if self.length is not None and len(items) not in (1, self.length):
                raise ArgumentError(f"takes {self.length} values, got {len(items)}", argument=self.name)
            return tuple(self._element(item) for item in _flatten(items))
        return self._element(value)

    def _element(self, value: Any) -> Any:
        if isinstance(value, types.ScalarConstant):
            value = value.value
        if hasattr(value, "item") and not isinstance(value, (str, bytes)) and getattr(value, "size", 1) == 1:
            value = value.item()
        converted = self._converted(value)
        if isinstance(converted, (int, float)) and not isinstance(converted, bool) and self.type in ("int", "float"):
            self._check_range(converted)
        return converted

    def _converted(self, value: Any) -> Any:
        """`value` as the declared type, by NVIDIA DALI's rules: what ``int()``, ``float()`` and ``str()`` take.

        So a fraction loses its digits where a whole number is wanted, and a string that spells a number counts as one.
        Only for bools strings are refused, where NVIDIA DALI takes ``"no"`` for true.
        """
        try:
            if self.type == "bool" and isinstance(value, (bool, int, float)):
                return bool(value)
            if self.type == "int" and isinstance(value, (int, float, str, bytes)):
                return _int64(int(value))
            if self.type == "float" and isinstance(value, (int, float, str, bytes)):
                return float(value)
        except (ValueError, OverflowError):  # "abc", nan, inf, 2**63; reported below
            pass
        if self.type == "number" and isinstance(value, (bool, int, float)):
            return value
        words = str if self.name == "name" else (str, int, float, os.PathLike)
        if self.type in ("string", "layout") and isinstance(value, words):
            return self._word(str(value))
        if self.type in _ENUMS:
            return self._element_type(self._enum(value)) if self.type == "dtype" else self._enum(value)
        raise ArgumentTypeError(
            f"takes {_article(self.describe_type())}, got {value!r} ({type(value).__name__})", argument=self.name
        )

    def _word(self, value: str) -> str:
        if self.synonyms:
            value = dict(self.synonyms).get(value.lower(), value.lower())
        if self.choices and value not in self.choices:
            raise ArgumentError(
                f"{value!r} is none of {', '.join(map(repr, self.choices))}{nearest(value, self.choices)}",
                argument=self.name,
            )
        return value

    def _enum(self, value: Any) -> Any:
        kind = _ENUMS[self.type]
        if isinstance(value, kind):
            return value
        try:
            if isinstance(value, str):
                return kind[value]
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return kind(int(value))
            name = getattr(value, "name", None)
            if isinstance(name, str) and name in kind.__members__:
                return kind[name]
            if self.type == "dtype":
                return types.to_dali_type(value)
        except (KeyError, ValueError, TypeError, OverflowError):
            pass
        hint = nearest(str(value), kind.__members__)
        raise ArgumentTypeError(f"takes a {kind.__name__}, got {value!r}{hint}", argument=self.name)

    def _element_type(self, value: types.DALIDataType) -> types.DALIDataType:
        if not types.has_elements(value):
            raise ArgumentError(f"takes a type of numbers, got {value.name}", argument=self.name)
        return value

    def _check_range(self, value: float) -> None:
        low, high = self.minimum, self.maximum
        if math.isnan(value) and (low is not None or high is not None):
            raise ArgumentError(f"nan is not in {self.describe_range()}", argument=self.name)
        too_low = low is not None and (value < low or (self.exclusive_minimum and value == low))
        too_high = high is not None and value > high
        if too_low or too_high:
            raise ArgumentError(f"{value:g} is not in {self.describe_range()}", argument=self.name)

    def outside(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_] | None:
        """Which of the values that a node gives are not in the allowed range, or `None` where all are."""
        inside = np.ones(values.shape, np.bool_)
        if self.minimum is not None:
            inside &= values > self.minimum if self.exclusive_minimum else values >= self.minimum
        if self.maximum is not None:
            inside &= values <= self.maximum
        return None if inside.all() else ~inside

    def describe_range(self) -> str:
        """The allowed range in words, or an empty string."""
        unit = f" {self.unit}" if self.unit else ""
        if self.minimum is not None and self.maximum is not None:
            left = "]" if self.exclusive_minimum else "["
            return f"{left}{self.minimum:g}, {self.maximum:g}]{unit}"
        if self.minimum is not None:
            return f"{'more than' if self.exclusive_minimum else 'at least'} {self.minimum:g}{unit}"
        if self.maximum is not None:
            return f"at most {self.maximum:g}{unit}"
        return ""

    def describe_type(self) -> str:
        """The type in words, such as ``"list of float"``."""
        names = {"dtype": "DALIDataType", "image_type": "DALIImageType", "interp_type": "DALIInterpType"}
        name = names.get(self.type, self.type)
        return f"list of {name}" if self.vector else name


@dataclass(frozen=True)
class Input:
    """One positional input of an operator.

    Parameters
    ----------
    name, doc
        Name and meaning.
    kind
        What travels there, for ports and their colours.
    layouts
        Accepted layouts; `None` takes any. Where an operator says ``frames``, the executor takes them with a leading
        ``F`` as well.
    assumed
        Layouts that samples without one are taken to have: the first that fits their dimensions. By default the
        accepted ones, in turn.
    optional
        Whether it may be left out.
    variadic
        Whether it may be repeated (only the last one).
    """

    name: str
    kind: Kind = "image"
    doc: str = ""
    layouts: tuple[str, ...] | None = None
    assumed: tuple[str, ...] = ()
    dtypes: tuple[types.DALIDataType, ...] | None = None
    optional: bool = False
    variadic: bool = False

    def assumed_layout(self, ndim: int, frames: bool) -> str:
        """The layout that samples of `ndim` dimensions without one are taken to have, or an empty string.

        `frames` says whether sequences are taken too.
        """
        layouts = self.layouts or ()
        candidates = self.assumed or (layouts + tuple("F" + layout for layout in layouts) if frames else layouts)
        return next((layout for layout in candidates if len(layout) == ndim), "")


@dataclass(frozen=True)
class Output:
    """One output of an operator; `layout` and `dtype` where they are always the same."""

    name: str
    kind: Kind = "image"
    doc: str = ""
    layout: str | None = None
    dtype: types.DALIDataType | None = None


def _flatten(items: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        if isinstance(item, (list, tuple)):
            flat.extend(_flatten(item))
        else:
            flat.append(item)
    return flat


def _int64(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise OverflowError
    return value


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def common_arguments() -> Mapping[str, Arg]:
    """The arguments that every operator takes besides its own."""
    return _COMMON


_COMMON = {
    arg.name: arg
    for arg in (
        Arg("name", "string", None, "Name of the node; it must be unique in the pipeline.", advanced=True),
        Arg("preserve", "bool", False, "Keep the node even if nothing uses its outputs.", advanced=True),
        Arg(
            "bytes_per_sample_hint",
            "int",
            (0,),
            "Expected size of an output sample; no effect here.",
            vector=True,
            advanced=True,
        ),
    )
}
GROUP = Arg(
    "_group",
    "int",
    None,
    "Nodes with the same number have one seed: those that a single call on lists of inputs made.",
    minimum=1,
    advanced=True,
)
SEED = Arg("seed", "int", -1, "Seed of the random stream; -1 derives it from the pipeline's seed.", advanced=True)
