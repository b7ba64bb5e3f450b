"""Arguments of an operator, and the conversion of values to their declared types."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dali_lab.model import dtypes, scalars
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, nearest
from dali_lab.schema.ports import any_of

ArgType = Literal["float", "int", "bool", "string", "number", "dtype", "image_type", "interp_type", "layout", "object"]


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()

_ENUMS: dict[str, type[dtypes.NamedEnum]] = {
    "dtype": dtypes.DALIDataType,
    "image_type": dtypes.DALIImageType,
    "interp_type": dtypes.DALIInterpType,
}
_FED: dict[str, tuple[dtypes.DALIDataType, ...]] = {
    "float": (dtypes.FLOAT,),
    "int": (dtypes.INT32,),
    "bool": (dtypes.BOOL,),
    "dtype": (dtypes.DATA_TYPE,),
    "image_type": (dtypes.IMAGE_TYPE,),
    "interp_type": (dtypes.INTERP_TYPE,),
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
    lengths
        Numbers of elements that a vector may have, when there are several.
    longer
        More elements than `length` are taken, too; those after it mean nothing.
    tensor
        Whether a node may be connected instead of a constant, giving one value for each sample.
    arrays_are_nodes
        Whether an array of one element is a connected constant, as longer arrays always are.
    per_frame
        Whether a connected node may give one value for each frame; then one for each sample, too.
    fed
        Types that the values of a connected node may have; by default the one that NVIDIA DALI has for `type`; none
        are named where it may be any.
    or_no_type
        For a type of data: ``types.NO_TYPE`` may be given; it stands for the type of the input, or counts as not given.
    minimum, maximum
        Allowed range of each element; `exclusive_minimum` leaves the minimum itself out.
    refused_as
        Said of a number below the range, with ``{:g}`` for the number; by default the range in words.
    refused_above
        The same of a number above it.
    slider
        The range worth playing with and perhaps a step: ``(low, high)`` or ``(low, high, step)``; `None` for an end
        stands for that of the allowed range.
    unit
        ``"px"``, ``"deg"``, ``"Hz"``, ``"dB"``, ``"s"``.
    choices
        Allowed words of a string argument, or members of an enumeration.
    synonyms
        Other words for some of `choices`, each with the one it stands for; then upper and lower case do not matter.
    widget
        Form control, where the type does not already tell it.
    relative_to
        For a path: the argument with the folder that relative ones start from.
    important
        Shown on the node itself.
    advanced
        Shown only on demand: it changes speed or memory, not the result.
    renamed_to
        For a deprecated argument: its successor.
    removed
        For a deprecated argument that no longer has any effect.
    beyond_dali
        NVIDIA DALI's operator has no such argument: exports for it leave the argument out.
    """

    name: str
    type: ArgType
    default: Any = None
    doc: str = ""
    vector: bool = False
    length: int | None = None
    lengths: tuple[int, ...] = ()
    longer: bool = False
    tensor: bool = False
    arrays_are_nodes: bool = False
    per_frame: bool = False
    fed: tuple[dtypes.DALIDataType, ...] | None = None
    or_no_type: bool = False
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    refused_as: str = ""
    refused_above: str = ""
    slider: tuple[float | None, ...] = ()
    unit: str | None = None
    choices: tuple[str, ...] | tuple[dtypes.NamedEnum, ...] | None = None
    synonyms: tuple[tuple[str, str], ...] = ()
    widget: str | None = None
    relative_to: str | None = None
    important: bool = False
    advanced: bool = False
    renamed_to: str | None = None
    removed: bool = False
    beyond_dali: bool = False

    def __post_init__(self) -> None:
        if self.per_frame:
            object.__setattr__(self, "tensor", True)

    @property
    def required(self) -> bool:
        """Whether the argument must be given."""
        return self.default is REQUIRED

    @property
    def soft_minimum(self) -> float | None:
        """The lower end of the slider."""
        return self.slider[0] if self.slider else None

    @property
    def soft_maximum(self) -> float | None:
        """The upper end of the slider."""
        return self.slider[1] if self.slider else None

    @property
    def step(self) -> float | None:
        """The step of the slider."""
        return self.slider[2] if len(self.slider) > 2 else None

    @property
    def listed(self) -> bool:
        """Whether it is documented: it is neither an old name nor one that graphs alone use (``_group``)."""
        return not (self.renamed_to or self.removed or self.name.startswith("_"))

    @property
    def is_path(self) -> bool:
        """Whether it names files or folders."""
        return self.widget in ("path", "folder")

    def takes(self, dtype: dtypes.DALIDataType) -> bool:
        """Whether a connected node may give values of this type."""
        return dtype in (self.fed_types() or (dtype,))

    def fed_types(self) -> tuple[dtypes.DALIDataType, ...]:
        """The types that values of a connected node may have; empty where it may be any."""
        return _FED.get(self.type, ()) if self.fed is None else self.fed

    def canonical(self, value: Any) -> Any:
        """The canonical form of `value` in a graph: plain Python numbers, enums, tuples.

        `None` stands for an argument that is not given.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            If the value has another type, or lies outside the range.
        """
        if self.type == "object":
            return value
        if isinstance(value, scalars.ScalarConstant):
            value = value.value
        elif is_array(value):
            if np.shape(value) not in ((), (1,)):
                raise self._wrong_type(value, f"an array of shape {np.shape(value)}")
            value = value.item()
        if self.or_no_type and _is_no_type(value):
            return None if self.default is None else dtypes.NO_TYPE
        if not self.vector:
            return self._element(value)
        items = list(value) if isinstance(value, (list, tuple)) else [value]
        if self.longer:
            items = items[: self.length]
        if self.length is not None and len(items) not in (1, self.length):
            raise ArgumentError(
                f'Argument "{self.name}" expected shape {self.length} but got {len(items)} values, which can\'t be'
                " interpreted as the expected shape",
                argument=self.name,
            )
        elements = tuple(self._element(self._item(item)) for item in items)
        if self.lengths and len(items) not in self.lengths:
            numbers = " or ".join(map(str, self.lengths))
            raise ArgumentError(f"takes {numbers} values, got {len(items)}", argument=self.name)
        return elements

    def _item(self, value: Any) -> Any:
        """An element of a list as a plain value, unpacked from a typed constant or an array."""
        if isinstance(value, scalars.ScalarConstant):
            counts_as_float = value.dtype in (dtypes.FLOAT16, dtypes.FLOAT, dtypes.FLOAT64)
            if self.type in ("int", "float", "bool") and counts_as_float != (self.type == "float"):
                raise self._wrong_type(value, f"the constant {value}")
            return value.value
        return value.item() if is_array(value) and np.ndim(value) == 0 else value

    def _element(self, value: object) -> Any:
        converted = self._converted(value)
        if isinstance(converted, (int, float)) and not isinstance(converted, bool) and self.type in ("int", "float"):
            self._check_range(converted)
        return converted

    def _converted(self, value: Any) -> Any:
        """`value` as the declared type, by NVIDIA DALI's rules: what ``int()``, ``float()`` and ``str()`` take.

        So a fraction loses its digits where a whole number is wanted, and a string that spells a number counts as one.
        Only for bools is less taken: NVIDIA DALI takes anything that Python takes for true, ``"no"`` and ``[False]``
        too. A list counts as true here if all that it holds does.
        """
        try:
            if self.type == "bool" and isinstance(value, (bool, int, float)):
                return bool(value)
            if self.type == "bool" and isinstance(value, (list, tuple)) and value:
                if all(self._converted(self._item(item)) for item in value):
                    return True
            elif self.type == "int" and isinstance(value, (int, float, str, bytes)):
                return _int64(int(value))
            elif self.type == "float" and isinstance(value, (int, float, str, bytes)):
                return float(value)
        except (ValueError, OverflowError):  # "abc", nan, inf, 2**63; reported below
            pass
        if self.type == "number" and isinstance(value, (bool, int, float)):
            return value
        words = str if self.name == "name" else (str, int, float, os.PathLike)
        if self.type in ("string", "layout") and isinstance(value, words):
            return self._word(str(value))
        if self.type in _ENUMS:
            member = self._element_type(self._enum(value)) if self.type == "dtype" else self._enum(value)
            if self.choices and member not in self.choices:
                allowed = any_of([each for each in self.choices if isinstance(each, dtypes.NamedEnum)])
                raise ArgumentError(
                    f"is {allowed}, not {member.name}. Data type {member.name.lower()} is not supported"
                    if self.type == "dtype"
                    else f"is {allowed}, not {member.name}",
                    argument=self.name,
                )
            return member
        raise self._wrong_type(value, f"{value!r} ({type(value).__name__})")

    def _wrong_type(self, value: object, given: str) -> ArgumentTypeError:
        why = f". {self.refused_as}" if self.choices and self.refused_as else ""
        return ArgumentTypeError(f"takes {_article(self.describe_type())}, got {given}{why}", argument=self.name)

    def _word(self, value: str) -> str:
        if self.synonyms:
            value = dict(self.synonyms).get(value.lower(), value.lower())
        words = [str(choice) for choice in self.choices or ()]
        if words and value not in words:
            message = f"{value!r} is not one of {', '.join(map(repr, words))}{nearest(value, words)}"
            raise ArgumentError(
                f"{message}{self.refused_as and f'. {self.refused_as}'.replace('{}', value)}", argument=self.name
            )
        return value

    def _enum(self, value: object) -> Any:
        kind = _ENUMS[self.type]
        if isinstance(value, kind):
            return value
        try:
            if isinstance(value, str) and value in kind.__members__:
                return kind[value]
            if isinstance(value, (int, float, bytes)) or (isinstance(value, str) and value.strip().isdigit()):
                return kind(int(value))
            name = getattr(value, "name", None)
            if isinstance(name, str) and name in kind.__members__:
                return kind[name]
            if self.type == "dtype":
                return dtypes.to_dali_type(value)
        except (KeyError, ValueError, TypeError, OverflowError):
            pass
        hint = nearest(str(value), kind.__members__)
        raise ArgumentTypeError(f"takes a {kind.__name__}, got {value!r}{hint}", argument=self.name)

    def _element_type(self, value: dtypes.DALIDataType) -> dtypes.DALIDataType:
        if not dtypes.has_elements(value):
            message = f"Unsupported output dtype {value.name}. Supported types are those of numbers"
            raise ArgumentError(message, argument=self.name)
        return value

    def _check_range(self, value: float) -> None:
        low, high = self.minimum, self.maximum
        if math.isnan(value) and (low is not None or high is not None):
            raise ArgumentError(self.refusal(value), argument=self.name)
        too_low = low is not None and (value < low or (self.exclusive_minimum and value == low))
        too_high = high is not None and value > high
        if too_low or too_high:
            raise ArgumentError(self.refusal(value), argument=self.name)

    def outside(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_] | None:
        """Mask of the values of a connected node that lie outside the allowed range; `None` where none does."""
        inside = np.ones(values.shape, np.bool_)
        if self.minimum is not None:
            inside &= values > self.minimum if self.exclusive_minimum else values >= self.minimum
        if self.maximum is not None:
            inside &= values <= self.maximum
        return None if inside.all() else ~inside

    def refusal(self, value: float) -> str:
        """The message about a number outside the allowed range."""
        words = self.refused_above if self.maximum is not None and value > self.maximum else self.refused_as
        if words:
            return words.format(value)
        both = self.minimum is not None and self.maximum is not None
        return f"must be {'in range ' if both else ''}{self.describe_range()}, not {value:g}"

    def describe_range(self) -> str:
        """The allowed range in words, or an empty string."""
        unit = f" {self.unit}" if self.unit else ""
        if self.minimum is not None and self.maximum is not None:
            left = "]" if self.exclusive_minimum else "["
            return f"{left}{_bound(self.minimum)}, {_bound(self.maximum)}]{unit}"
        if self.minimum is not None:
            return f"{'more than' if self.exclusive_minimum else 'at least'} {_bound(self.minimum)}{unit}"
        if self.maximum is not None:
            return f"at most {_bound(self.maximum)}{unit}"
        return ""

    def describe_type(self) -> str:
        """The type in words, such as ``"list of float"``."""
        names = {"dtype": "DALIDataType", "image_type": "DALIImageType", "interp_type": "DALIInterpType"}
        name = names.get(self.type, self.type)
        return f"list of {name}" if self.vector else name


def _bound(number: float) -> str:
    """A bound of a range: whole numbers with all their digits."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:g}"


def is_array(value: object) -> bool:
    """Whether this is an array of NumPy or of another library, or a number that one of them holds."""
    return hasattr(value, "item") and hasattr(value, "shape") and not isinstance(value, (type, scalars.ScalarConstant))


def _is_no_type(value: object) -> bool:
    if isinstance(value, str):
        return value == "NO_TYPE"
    if getattr(value, "name", "NO_TYPE") != "NO_TYPE":
        return False
    return getattr(value, "name", None) == "NO_TYPE" or (isinstance(value, (int, float)) and value == -1)


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
        Arg("seed", "int", None, "No effect where no random numbers are drawn.", removed=True),
        Arg("preserve", "bool", False, "Keep the node even if nothing uses its outputs.", advanced=True),
        Arg(
            "bytes_per_sample_hint",
            "int",
            (0,),
            "Expected size of an output sample; no effect here.",
            vector=True,
            advanced=True,
        ),
        Arg(
            "on_error",
            "string",
            None,
            "The answer to a sample that fails here; by default that of the pipeline's ``on_error``.",
            choices=("raise", "skip", "replace"),
            advanced=True,
            beyond_dali=True,
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
MERGED = Arg(
    "_merged",
    "string",
    None,
    "The decoder and the operator behind it that were merged, for errors: node, operator and origin of the decoder, and"
    " the other operator.",
    vector=True,
    length=4,
    advanced=True,
)
RANDOM_STATE = Arg(
    "_random_state",
    "int",
    None,
    "State of a generator that takes the place of the operator's own: seven integers of 32 bits, those of the first"
    " sample for the batch.",
    vector=True,
    tensor=True,
    fed=(dtypes.UINT32,),
    advanced=True,
)
SEED = Arg("seed", "int", -1, "Seed of the random stream; -1 derives it from the pipeline's seed.", advanced=True)
