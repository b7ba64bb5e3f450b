"""Expressions element by element; see :mod:`dali_lab.kernels.cpu.arithmetic`, whose rules they keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dali_lab.kernels.arrays import Array
from dali_lab.kernels.cuda.copy import AXES, padded
from dali_lab.kernels.cuda.kernel import MOST, NUMBERS, Fields, Kernel, launches, short
from dali_lab.kernels.cuda.launching import Launcher
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import numpy_dtype
from dali_lab.model.promotion import widened

GROUPS = (
    ["add", "sub", "mul", "fdiv", "min", "max", "clamp", "plus", "minus", "abs", "fabs", "floor", "ceil", "sqrt"],
    ["div", "mod", "pow", "fpow", "bitand", "bitor", "bitxor", "lshift", "rshift", "bitnot"],
    [
        "rsqrt",
        "cbrt",
        "exp",
        "log",
        "log2",
        "log10",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "atan2",
    ],
)
_OPERATIONS = [name for group in GROUPS for name in group]
COMPARISONS = ("eq", "neq", "lt", "leq", "gt", "geq")
_OPERANDS = "abc"
HEADER = "operations.cuh"
_ROW: Fields = (
    "u8 out",
    *((letter, "u8") for letter in _OPERANDS),
    "i8 total",
    f"i4 shape[{AXES}]",
    *((f"stride_{letter}", "i8", AXES) for letter in _OPERANDS),
)
_KINDS = tuple((f"kind_{letter}", "i4") for letter in _OPERANDS)
EXPRESSION = Kernel(
    "arithmetic.cu",
    "expression",
    sample=_ROW,
    param=("i4 operation ndim operands mixed", *_KINDS),
    types=(NUMBERS, tuple(range(len(GROUPS)))),
    headers=(HEADER,),
)
COMPARISON = Kernel(
    "arithmetic.cu",
    "comparison",
    sample=_ROW,
    param=("i4 operation ndim half_precision", *_KINDS),
    types=(("i8", "f4", "f8"),),
    headers=(HEADER,),
)


@launches
def evaluate(gpu: Launcher, name: str, out: Batch, operands: Sequence[Batch | Array]) -> None:
    """Fill `out` with an expression of one to three operands, stretched over each other in each sample.

    Parameters
    ----------
    name
        Of the expression, such as ``"add"``.
    out
        Allocated, in the shapes that the operands have together.
    operands
        Batches of as many samples, and constants without dimensions.
    """
    dtypes = [numpy_dtype(each.dtype) if isinstance(each, Batch) else each.dtype for each in operands]
    shapes, strides = walk(out, operands)
    sample: dict[str, Any] = {"out": out.addresses, "shape": padded(shapes)}
    param: dict[str, Any] = {"ndim": shapes.shape[1]}
    for letter, operand, dtype, steps in zip(_OPERANDS, operands, dtypes, strides, strict=False):
        sample[letter] = operand.addresses if isinstance(operand, Batch) else gpu.constant(operand)
        sample[f"stride_{letter}"] = padded(steps)
        param[f"kind_{letter}"] = NUMBERS.index(short(dtype))
    if name in COMPARISONS:
        together, halves = common_type([short(dtype) for dtype in dtypes])
        param |= {"operation": COMPARISONS.index(name), "half_precision": halves}
        COMPARISON.launch(gpu, (together,), out.sizes, sample, param)
        return
    group = next(index for index, names in enumerate(GROUPS) if name in names)
    param |= {"operation": _OPERATIONS.index(name), "operands": len(operands)}
    param["mixed"] = any(dtype.kind != "f" for dtype in dtypes)
    EXPRESSION.launch(gpu, (numpy_dtype(out.dtype), group), out.sizes, sample, param)


def common_type(kinds: Sequence[str]) -> tuple[str, bool]:
    """The type in which numbers of these types are compared, and whether they are rounded to float16 in it.

    Integers stay as they are; beside a float, both are in the larger type of the floats, float16 in float32.
    """
    floats = [int(kind[1:]) for kind in kinds if kind[0] == "f"]
    together = "i8" if not floats else "f8" if max(floats) == 8 else "f4"
    return together, bool(floats) and max(floats) == 2


def walk(out: Batch, operands: Sequence[Batch | Array]) -> tuple[Array, list[Array]]:
    """The extents to walk, ``[N, ndim]``, and the step of each operand along them, 0 where it is stretched."""
    tables = [
        widened(each.shapes, out.ndim) if isinstance(each, Batch) else np.ones_like(out.shapes) for each in operands
    ]
    full = [np.array_equal(table, out.shapes) for table in tables]
    single = [bool((table == 1).all()) for table in tables]
    if all(a or b for a, b in zip(full, single, strict=True)) and int(out.sizes.max(initial=0)) <= MOST:
        line = out.sizes.reshape(-1, 1)
        return line, [
            np.full_like(line, 1 if whole and not one else 0) for whole, one in zip(full, single, strict=True)
        ]
    strides = []
    for table in tables:
        steps = np.ones_like(table)
        steps[:, :-1] = np.cumprod(table[:, :0:-1], axis=1)[:, ::-1]
        strides.append(np.where(table == 1, 0, steps))
    return out.shapes, strides
