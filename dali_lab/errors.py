"""The errors that DALI Lab raises."""

from dali_lab.model.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    DaliLabError,
    FormatError,
    GraphError,
    InputError,
    OperatorError,
    SampleError,
    UnknownArgumentError,
    nearest,
)

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "AxisError",
    "DaliLabError",
    "FormatError",
    "GraphError",
    "InputError",
    "OperatorError",
    "SampleError",
    "UnknownArgumentError",
    "nearest",
]
