"""The reference text of an operator, from its declaration."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence

from dali_lab.model.dtypes import NamedEnum
from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.operator import Operator


def docstring(operator: type[Operator], values: str = "DataNode", module: str = "fn") -> str:
    """A numpy-style docstring: meaning, inputs, arguments with unit, range and default, outputs, example.

    Parameters
    ----------
    values
        The type of what it is called with and of what it gives.
    module
        The module of the function in the example.
    """
    parts = [inspect.cleandoc(operator.__doc__ or "")]
    if operator.deprecated:
        parts.append(f".. deprecated:: {operator.deprecated}")
    lines = []
    for declared in operator.inputs:
        layouts = _layouts(declared.layouts, operator.frames) if declared.layouts else ""
        optional = ", optional" if declared.optional else ""
        star = "*" if declared.variadic else ""
        lines.append(f"{star}{declared.name} : {values}{layouts}{optional}")
        lines.append(textwrap.indent(declared.doc or "Input batch.", "    "))
    for arg in operator.argument_table.values():
        if arg.listed:
            lines.append(f"{arg.name} : {describe(arg, values)}")
            lines.append(textwrap.indent(argument_text(arg), "    "))
    if operator.devices:
        lines.append(f"device : {' or '.join(map(repr, operator.devices))}, optional")
        lines.append(textwrap.indent(_placement(operator), "    "))
    if lines:
        parts.append("Parameters\n----------\n" + "\n".join(lines))
    if operator.outputs:
        rows = [f"{output.name} : {values}\n    {output.doc or 'Output batch.'}" for output in operator.outputs]
        parts.append("Returns\n-------\n" + "\n".join(rows))
    if operator.differs or operator.beyond_dali:
        text = operator.differs or "NVIDIA DALI has no such operator."
        parts.append(f"Notes\n-----\n{text}")
    parts.append(
        "Examples\n--------\n" + (inspect.cleandoc(operator.example) or example(operator)).replace("fn.", f"{module}.")
    )
    return "\n\n".join(parts)


def _layouts(layouts: Sequence[str], frames: bool) -> str:
    """The layouts of an input; operators on single frames take sequences too, with one axis more."""
    text = f", layout {' or '.join(repr(layout) for layout in layouts)}"
    single = frames and not any(layout.startswith("F") for layout in layouts)
    return f"{text} (sequences: F before it)" if single else text


def _placement(operator: type[Operator]) -> str:
    """The meaning of each device choice."""
    if len(operator.devices) == 1:
        return "Where the node is placed."
    if "gpu" in operator.devices and "cpu" in operator.devices:
        return "Where the node is placed; by default on the GPU if an input is, else on the CPU."
    return f"Where the node is placed; by default {operator.devices[0]!r}."


def example(operator: type[Operator]) -> str:
    """The shortest call: inputs by name, and the required arguments."""
    inputs = [declared.name for declared in operator.inputs if not declared.optional]
    needed = [arg.name for arg in operator.argument_table.values() if arg.required]
    given = ", ".join([*inputs, *(f"{name}={name}" for name in needed)])
    results = ", ".join(output.name for output in operator.outputs)
    return f">>> {f'{results} = ' if results else ''}fn.{operator.name}({given})"


def describe(arg: Arg, values: str = "DataNode") -> str:
    """Type and default of an argument on one line."""
    text = arg.describe_type()
    if arg.tensor:
        text += f" or {values}"
    if arg.default is not REQUIRED:
        shown = arg.default
        if isinstance(shown, NamedEnum):
            shown = shown.name
        text += ", optional" if shown is None else f", default {list(shown) if isinstance(shown, tuple) else shown!r}"
    return text


def argument_text(arg: Arg) -> str:
    """Meaning, range, choices and unit of an argument."""
    sentences = [arg.doc.strip()] if arg.doc else []
    if arg.choices:
        sentences.append(
            "One of "
            + ", ".join(choice.name if isinstance(choice, NamedEnum) else repr(choice) for choice in arg.choices)
            + "."
        )
    bounds = arg.describe_range()
    if bounds:
        sentences.append(f"Range: {bounds}.")
    elif arg.unit:
        sentences.append(f"Unit: {arg.unit}.")
    if arg.per_frame:
        sentences.append("May be given for each frame.")
    return " ".join(sentences)
