"""Axes of samples, given by number (`axes`) or by letter of the layout (`axis_names`)."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.errors import AxisError, InputError
from dali_lab.schema.arguments import Arg
from dali_lab.schema.call import Call
from dali_lab.schema.presets import Traits, integers
from dali_lab.schema.rules import OneOf

Axes = npt.NDArray[np.int64]

ONE_WAY = OneOf("axes", "axis_names", refused_as="Arguments `axes` and `axis_names` are mutually exclusive")
"""The rule that goes with :func:`axes_arguments`."""


def axes_arguments(doc: str, **traits: Unpack[Traits]) -> tuple[Arg, Arg]:
    """The arguments `axes` and `axis_names`, of which at most one is given.

    Parameters
    ----------
    doc
        Describes `axes`, with the meaning of its default `None`.
    traits
        Further parameters of the argument `axes`.
    """
    names = Arg("axis_names", "layout", None, "The same by their letters in the layout; excludes `axes`.")
    return integers("axes", None, doc, **traits), names


def chosen_axes(call: Call, data: Batch, *, repeated: bool = False) -> list[int] | None:
    """Axes that `axes` or `axis_names` give for all samples, counted from the first; `None` if neither was given.

    Parameters
    ----------
    repeated
        An axis may be given twice.

    Raises
    ------
    AxisError
        If a number is no axis of the data.
    InputError
        If an axis is given twice.
    OperatorError
        If a letter is not in the layout.
    """
    axes, argument = lettered_axes(call, data.layout), "axis_names"
    if axes is None:
        numbers, argument = call.operator.value("axes"), "axes"
        if numbers is None:
            return None
        axes = numbered_axes(call, np.array(numbers, np.int64), data.ndim).tolist()
    if not repeated:
        refuse_repeated(call, np.array([axes], np.int64), argument)
    return axes


def lettered_axes(call: Call, layout: str, argument: str = "axis_names") -> list[int] | None:
    """Axes that an argument names by letters; `None` if it was not given.

    Raises
    ------
    OperatorError
        If a letter is not in the layout.
    """
    letters = call.operator.value(argument)
    if letters is None:
        return None
    for letter in letters:
        if letter not in layout:
            raise call.problem(
                f"Axis '{letter}' is not present in the input layout '{layout}'"
                if layout
                else f"'{letter}' names no axis of data without a layout; set one with fn.reshape, or number the axis",
                argument=argument,
            )
    return [layout.index(letter) for letter in letters]


def numbered_axes(call: Call, numbers: Axes, ndim: int, argument: str = "axes") -> Axes:
    """Axes counted from the first; negative numbers count from the last.

    Raises
    ------
    AxisError
        If a number is no axis of `ndim` dimensions.
    """
    wrong = (numbers < -ndim) | (numbers >= ndim)
    if wrong.any():
        first = int(numbers[wrong][0])
        message = f"{first} is not an axis of {ndim} dimensions. Axis {first} out of range."
        message += f" Expected range is [-{ndim}, {ndim - 1}] for a {ndim}D input"
        raise call.problem(message, argument=argument, kind=AxisError)
    return numbers % max(ndim, 1)


def refuse_repeated(call: Call, table: Axes, argument: str, why: str = "") -> None:
    """Raise :class:`InputError` if a row of ``int64[N, K]`` has an axis twice; `why` ends the message."""
    ordered = np.sort(table, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        row = table[int(twice.argmax())].tolist()
        first = next(axis for axis in row if row.count(axis) > 1)
        raise call.problem(
            f"Duplicate axis index {first}: {row}{why}",
            argument=argument,
            kind=InputError,
        )
