"""Features that ``fn.readers.tfrecord`` reads from each TensorFlow record, of fixed or variable length."""
# ruff: noqa: N802  (the names are NVIDIA DALI's)

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Iterable
from typing import Any, Self

int64 = 0
string = 1
float32 = 2

_NAMES = {int64: "int64", string: "string", float32: "float32"}
_DEFAULTS: dict[int, tuple[type, str]] = {int64: (int, "an int"), string: (str, "a str"), float32: (float, "a float")}


class Feature(str):
    """One feature, made by :func:`FixedLenFeature` or :func:`VarLenFeature`; its text form is such a call.

    Attributes
    ----------
    shape
        Its shape, or for one of any length that of each row (`()` where rows are single elements).
    type
        :data:`int64`, :data:`string` or :data:`float32`.
    default
        Value for a record without the feature.
    fixed
        Whether all records have the same shape.
    """

    shape: tuple[int, ...]
    type: int
    default: float | str
    fixed: bool

    def __new__(cls, shape: tuple[int, ...], type: int, default: float | str, fixed: bool) -> Self:
        extents = f"{list(shape)}, " if fixed or shape else ""
        made = super().__new__(cls, f"{'Fixed' if fixed else 'Var'}LenFeature({extents}{_NAMES[type]}, {default!r})")
        made.shape, made.type, made.default, made.fixed = shape, type, default, fixed
        return made

    def __getnewargs__(self) -> Any:
        return self.shape, self.type, self.default, self.fixed


def FixedLenFeature(shape: Iterable[int], dtype: int, default_value: object) -> Feature:
    """A feature with the same shape in all records; one string for ``tfrecord.string``, whose shape is ``[]`` or [1].

    Parameters
    ----------
    shape
        The extents.
    dtype
        :data:`int64`, :data:`string` or :data:`float32`.
    default_value
        Stands where a record does not have the feature: an int, a str or a float.

    Raises
    ------
    TypeError, ValueError
        If one of them is something else.
    """
    return _feature(shape, dtype, default_value, fixed=True)


def VarLenFeature(*arguments: Any) -> Feature:
    """A feature of any number of elements: ``VarLenFeature(dtype, default_value)``.

    With ``VarLenFeature(partial_shape, dtype, default_value)`` its elements are rows of that shape, one after the
    other; their number is the first extent.

    Raises
    ------
    TypeError, ValueError
        If these are not a type of numbers and a default value of it.
    """
    if len(arguments) not in (2, 3):
        raise TypeError(f"takes a type and a default value, and a shape before them, got {len(arguments)} arguments")
    shape = arguments[0] if len(arguments) == 3 else ()
    return _feature(shape, arguments[-2], arguments[-1], fixed=False)


def _feature(shape: Iterable[int], dtype: int, default: Any, *, fixed: bool) -> Feature:
    if dtype not in _NAMES:
        raise ValueError(f"the type of a feature is tfrecord.int64, .string or .float32, not {dtype!r}")
    kind, words = _DEFAULTS[dtype]
    if not isinstance(default, kind):
        raise TypeError(f"the default value of a {_NAMES[dtype]} is {words}, not {default!r}")
    if isinstance(shape, (str, bytes)):
        raise TypeError(f"a shape is a list of extents, not {shape!r}")
    extents = tuple(operator.index(extent) for extent in shape)
    return Feature(extents, int(dtype), kind(default), fixed)


def parse(text: str) -> Feature:
    """The feature that a text describes, as `FixedLenFeature` and `VarLenFeature` are called; nothing in it is run.

    Raises
    ------
    ValueError
        If it does not describe one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of a text that is damaged an error is enough
            call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or call.keywords:
            raise ValueError
        makers = {"FixedLenFeature": FixedLenFeature, "VarLenFeature": VarLenFeature}
        return makers[_last(call.func)](*map(_value, call.args))
    except (ValueError, TypeError, SyntaxError, KeyError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"{text!r} is not a feature; write FixedLenFeature([], string, '') or VarLenFeature(float32, 0.0)"
        ) from error


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, (ast.Name, ast.Attribute)):
        numbers = {name: number for number, name in _NAMES.items()}
        return {**numbers, "nan": math.nan, "inf": math.inf}[_last(node)]
    return ast.literal_eval(node)


def _last(node: ast.expr) -> str:
    """The part of a name after its last dot."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


__all__ = ["Feature", "FixedLenFeature", "VarLenFeature", "float32", "int64", "string"]
