"""Mathematical functions for expressions over data nodes, under NVIDIA DALI's names.

Each takes nodes and constants and gives a node. Functions of one operand give FLOAT for integers and keep the type of
floats, except :func:`abs`, which keeps any type.
"""

from __future__ import annotations

from typing import Any

from dali_lab.graph.expressions import operation
from dali_lab.graph.recorder import DataNode


def sqrt(input: Any) -> DataNode:
    """The square root."""
    return operation("sqrt", input)


def rsqrt(input: Any) -> DataNode:
    """The reciprocal of the square root."""
    return operation("rsqrt", input)


def cbrt(input: Any) -> DataNode:
    """The cube root."""
    return operation("cbrt", input)


def exp(input: Any) -> DataNode:
    """The exponential (e to the power of `input`)."""
    return operation("exp", input)


def log(input: Any) -> DataNode:
    """The natural logarithm."""
    return operation("log", input)


def log2(input: Any) -> DataNode:
    """The logarithm to base 2."""
    return operation("log2", input)


def log10(input: Any) -> DataNode:
    """The logarithm to base 10."""
    return operation("log10", input)


def abs(input: Any) -> DataNode:
    """The absolute value, in the type of `input`."""
    return operation("abs", input)


def fabs(input: Any) -> DataNode:
    """The absolute value in floating point."""
    return operation("fabs", input)


def floor(input: Any) -> DataNode:
    """The largest whole number that is not above `input`."""
    return operation("floor", input)


def ceil(input: Any) -> DataNode:
    """The smallest whole number that is not below `input`."""
    return operation("ceil", input)


def sin(input: Any) -> DataNode:
    """The sine of an angle in radians."""
    return operation("sin", input)


def cos(input: Any) -> DataNode:
    """The cosine of an angle in radians."""
    return operation("cos", input)


def tan(input: Any) -> DataNode:
    """The tangent of an angle in radians."""
    return operation("tan", input)


def asin(input: Any) -> DataNode:
    """The arc sine in radians."""
    return operation("asin", input)


def acos(input: Any) -> DataNode:
    """The arc cosine in radians."""
    return operation("acos", input)


def atan(input: Any) -> DataNode:
    """The arc tangent in radians."""
    return operation("atan", input)


def sinh(input: Any) -> DataNode:
    """The hyperbolic sine."""
    return operation("sinh", input)


def cosh(input: Any) -> DataNode:
    """The hyperbolic cosine."""
    return operation("cosh", input)


def tanh(input: Any) -> DataNode:
    """The hyperbolic tangent."""
    return operation("tanh", input)


def asinh(input: Any) -> DataNode:
    """The inverse hyperbolic sine."""
    return operation("asinh", input)


def acosh(input: Any) -> DataNode:
    """The inverse hyperbolic cosine."""
    return operation("acosh", input)


def atanh(input: Any) -> DataNode:
    """The inverse hyperbolic tangent."""
    return operation("atanh", input)


def min(left: Any, right: Any) -> DataNode:
    """The smaller of two operands, in their common type."""
    return operation("min", left, right)


def max(left: Any, right: Any) -> DataNode:
    """The larger of two operands, in their common type."""
    return operation("max", left, right)


def pow(base: Any, exponent: Any) -> DataNode:
    """`base` to the power of `exponent`, in their common type; an integer to a negative power is 0."""
    return operation("pow", base, exponent)


def fpow(base: Any, exponent: Any) -> DataNode:
    """`base` to the power of `exponent`, in floating point."""
    return operation("fpow", base, exponent)


def atan2(x: Any, y: Any) -> DataNode:
    """The angle whose tangent is ``x / y``, in radians, in the quadrant given by the signs of both."""
    return operation("atan2", x, y)


def clamp(value: Any, lo: Any, hi: Any) -> DataNode:
    """`value`, not below `lo` and not above `hi`, in their common type."""
    return operation("clamp", value, lo, hi)


__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "exp",
    "fabs",
    "floor",
    "fpow",
    "log",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
