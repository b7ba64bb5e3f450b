"""Reciprocal square roots as NVIDIA DALI finds them: the processor's estimate, made better by Newton's method."""

from __future__ import annotations

import platform
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core import cgutils

from dali_lab.kernels.cpu.emission import emitted
from dali_lab.kernels.cpu.memory import inner_part, kernel

Array = np.ndarray[Any, Any]


@emitted
def roughly(typingctx: Any, value: Any) -> Any:
    """About ``1 / sqrt(value)`` of a float32, to 12 bits where the processor is an x86-64; makes of these differ."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        if platform.machine() not in ("x86_64", "AMD64"):
            root = builder.module.declare_intrinsic("llvm.sqrt", [kind])
            return builder.fdiv(kind(1), builder.call(root, arguments))
        four, first = ir.VectorType(kind, 4), ir.IntType(32)(0)
        name = "llvm.x86.sse.rsqrt.ss"
        estimate = cast(Any, cgutils).get_or_insert_function(builder.module, ir.FunctionType(four, [four]), name)
        vector = builder.insert_element(ir.Constant(four, [0.0] * 4), arguments[0], first)
        return builder.extract_element(builder.call(estimate, [vector]), first)

    return nb_types.float32(nb_types.float32), codegen


@inner_part
def reciprocal_root(value: Any) -> Any:
    """``1 / sqrt(value)`` of a float32; NaN for 0 and infinity."""
    y = roughly(value)
    return (y * (np.float32(3) - (value * y) * y)) * np.float32(0.5)


@kernel
def reciprocal_roots(values: Array) -> None:
    """Put the reciprocal square roots in place of float32 values."""
    for k in range(values.shape[0]):
        values[k] = reciprocal_root(values[k])
