"""Operators on torch tensors, as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dali_lab.graph.tracing import traced_call as _traced_call
from dali_lab.schema.registry import find_operator as _find_operator

if TYPE_CHECKING:
    from dali_lab.fn import torch_python_function
else:

    def torch_python_function(*inputs: object, **kwargs: object) -> Any:
        """Run a Python function on torch tensors over the samples' memory; arguments as ``fn.python_function``."""
        return _traced_call(_find_operator("torch_python_function"), inputs, kwargs)

    torch_python_function._schema_name = "TorchPythonFunction"

__all__ = ["torch_python_function"]
