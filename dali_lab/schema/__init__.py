"""Operator declarations: the base class, arguments, the registry, and all that is derived from them."""

from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.call import Call
from dali_lab.schema.cases import Case, ErrorCase, PerSample
from dali_lab.schema.operator import Operator
from dali_lab.schema.ports import Input, Output
from dali_lab.schema.presets import (
    choice,
    degrees,
    factor,
    flag,
    fraction,
    integer,
    integers,
    number,
    numbers,
    pixel_value,
    radians,
    share,
    string,
    strings,
)
from dali_lab.schema.registry import all_operators, find_operator, has_operator, register
from dali_lab.schema.rules import Needs, OneOf
from dali_lab.schema.source import Draw

__all__ = [
    "REQUIRED",
    "Arg",
    "Call",
    "Case",
    "Draw",
    "ErrorCase",
    "Input",
    "Needs",
    "OneOf",
    "Operator",
    "Output",
    "PerSample",
    "all_operators",
    "choice",
    "degrees",
    "factor",
    "find_operator",
    "flag",
    "fraction",
    "has_operator",
    "integer",
    "integers",
    "number",
    "numbers",
    "pixel_value",
    "radians",
    "register",
    "share",
    "string",
    "strings",
]
