"""The catalogue: every operator from its declaration, for palettes, forms and connection rules."""

from __future__ import annotations

import inspect
import math
from typing import Any

from dali_lab.gallery.places import sample_folder
from dali_lab.model import dtypes
from dali_lab.model.documentation import operator_page, pages_folder
from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.everyday import other_names
from dali_lab.schema.families import COMMON, FAMILIES, find_family, palette_name
from dali_lab.schema.operator import Operator as Declaration
from dali_lab.schema.ports import Input, Output
from dali_lab.schema.registry import all_operators, is_built_in
from dali_lab.schema.rules import OneOf
from dali_lab.studio.protocol.catalogue import (
    ArgumentDeclaration,
    CatalogueData,
    Family,
    InputDeclaration,
    Operator,
    OutputDeclaration,
)
from dali_lab.studio.protocol.values import Value

_TYPES = {"number": "float", "image_type": "enum", "interp_type": "enum", "object": "any"}
_ENUMS: dict[str, type[dtypes.NamedEnum]] = {"image_type": dtypes.DALIImageType, "interp_type": dtypes.DALIInterpType}
_ELEMENTS = tuple(kind.name for kind in dtypes.DALIDataType if dtypes.UINT8 <= kind <= dtypes.BOOL)
_UNLISTED = ("name", "bytes_per_sample_hint")


def catalogue(documentation: str | None = None) -> CatalogueData:
    """All registered operators that are not hidden, and their families.

    Parameters
    ----------
    documentation
        The address below which the host serves the pages that `dali-lab docs` built.
    """
    operators = [
        operator_entry(operator, documentation) for operator in all_operators().values() if not operator.hidden
    ]
    used = {entry.family for entry in operators}
    known = [family.name for family in FAMILIES]
    families = map(find_family, [name for name in known if name in used] + sorted(used.difference(known)))
    return CatalogueData(
        [Family(each.name, each.title, each.color, each.icon, each.summary) for each in families],
        operators,
        common=[name for name in COMMON if any(entry.name == name for entry in operators)],
    )


def operator_entry(operator: type[Declaration], documentation: str | None = None) -> Operator:
    """One operator of the catalogue."""
    added = not is_built_in(operator)
    return Operator(
        operator.name,
        operator.family,
        palette_name(operator.name, operator.title),
        operator.summary(),
        list(operator.devices),  # type: ignore[arg-type]
        [input_entry(declared) for declared in operator.inputs],
        [output_entry(declared) for declared in operator.outputs],
        [argument_entry(arg) for arg in operator.argument_table.values() if arg.name not in _UNLISTED and arg.listed],
        alternatives=[rule.alternatives for rule in operator.rules if isinstance(rule, OneOf)],
        start=start_arguments(operator),
        terms=other_names("operators", operator.name),
        added=added,
        doc=inspect.cleandoc(operator.__doc__ or ""),
        random=operator.random,
        deprecated=operator.deprecated or None,
        differs=operator.differs or None,
        nvidia=operator.name_in_nvidia_dali(),
        example=inspect.cleandoc(operator.example) if operator.example else None,
        page="" if added else _page(operator.name, documentation),
    )


def _page(name: str, documentation: str | None) -> str | None:
    """The address of an operator's page, if the documentation is served and has been built."""
    page = operator_page(name)
    return None if documentation is None or not (pages_folder() / page).is_file() else documentation + page


def start_arguments(operator: type[Declaration]) -> dict[str, Value]:
    """Arguments of a new node: the operator's own, and a value for each other argument that must be given."""
    values = {
        name: sample_folder(value) or value if isinstance(value, str) else value
        for name, value in operator.start.items()
    }
    for arg in operator.argument_table.values():
        if not arg.required or not arg.listed or arg.name in values:
            continue
        words = choices(arg)
        if words:
            values[arg.name] = [words[0]] if arg.vector else words[0]
        elif arg.type in ("int", "float", "number") and not arg.vector:
            low, high = _slider(arg)
            middle = 1 if low is None or high is None else (low + high) / 2
            values[arg.name] = int(middle) if arg.type == "int" else float(middle)
    return {name: plain(value) for name, value in values.items()}


def input_entry(declared: Input) -> InputDeclaration:
    """One input of an operator."""
    return InputDeclaration(
        declared.name,
        declared.kind,
        declared.doc,
        None if declared.layouts is None else list(declared.layouts),
        None if declared.dtypes is None else [dtype.name for dtype in declared.dtypes],
        declared.optional,
        declared.variadic,
    )


def output_entry(declared: Output) -> OutputDeclaration:
    """One output of an operator."""
    return OutputDeclaration(
        declared.name,
        declared.kind,
        declared.layout,
        None if declared.dtype is None else declared.dtype.name,
        declared.doc,
        list(declared.when) or None,
        declared.each,
    )


def argument_entry(arg: Arg) -> ArgumentDeclaration:
    """One argument, with the control that shows it."""
    return ArgumentDeclaration(
        arg.name,
        _TYPES.get(arg.type, arg.type),
        vector=arg.vector,
        length=arg.length,
        default=None if arg.default is REQUIRED else plain(arg.default),
        required=arg.required,
        tensor=arg.tensor,
        per_frame=arg.per_frame,
        doc=arg.doc,
        unit=arg.unit,
        minimum=arg.minimum,
        maximum=arg.maximum,
        exclusive_minimum=arg.exclusive_minimum,
        soft_minimum=arg.soft_minimum,
        soft_maximum=arg.soft_maximum,
        step=arg.step,
        choices=choices(arg),
        widget=widget(arg),
        important=arg.important,
        advanced=arg.advanced or arg.type == "object",
    )


def choices(arg: Arg) -> list[str] | None:
    """The words that an argument takes, if they can be counted."""
    if arg.choices:
        return [str(plain(choice)) for choice in arg.choices]
    if arg.type in _ENUMS:
        return [member.name for member in _ENUMS[arg.type]]
    if arg.type == "dtype":
        return list(_ELEMENTS)
    return None


def widget(arg: Arg) -> str:
    """Name of the form control for an argument."""
    if arg.widget:
        return arg.widget
    if arg.vector:
        return "vector"
    if arg.type == "bool":
        return "switch"
    if choices(arg) is not None:
        return "choice"
    if arg.type in ("int", "float", "number"):
        return "number" if None in _slider(arg) else "slider"
    return "text"


def _slider(arg: Arg) -> tuple[float | None, float | None]:
    """Both ends of the slider; `None` where there is none."""
    low = arg.minimum if arg.soft_minimum is None else arg.soft_minimum
    high = arg.maximum if arg.soft_maximum is None else arg.soft_maximum
    return low, high


def plain(value: object) -> Any:
    """An argument's value as JSON: enums by name, tuples as lists, and the floats that JSON lacks as words."""
    if isinstance(value, dtypes.NamedEnum):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
