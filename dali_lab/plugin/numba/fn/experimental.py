"""Functions that Numba compiles, where NVIDIA DALI keeps them."""

from __future__ import annotations

from typing import Any

from dali_lab.graph.tracing import traced_call as _traced_call
from dali_lab.schema.registry import find_operator as _find_operator


def numba_function(*inputs: object, **kwargs: object) -> Any:
    """Run a function that Numba compiles; arguments as ``fn.numba_function``."""
    return _traced_call(_find_operator("numba_function"), inputs, kwargs)


numba_function._schema_name = "NumbaFuncImpl"  # type: ignore[attr-defined]

__all__ = ["numba_function"]
