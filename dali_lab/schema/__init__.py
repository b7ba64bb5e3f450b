"""What an operator is: its declaration, the registry, and all that is derived from it."""

from dali_lab.schema.arguments import REQUIRED, Arg, Input, Output
from dali_lab.schema.operator import Call, Case, ErrorCase, Operator
from dali_lab.schema.registry import all_operators, find_operator, has_operator, register

__all__ = [
    "REQUIRED",
    "Arg",
    "Call",
    "Case",
    "ErrorCase",
    "Input",
    "Operator",
    "Output",
    "all_operators",
    "find_operator",
    "has_operator",
    "register",
]
