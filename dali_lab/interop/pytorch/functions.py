"""Python functions on torch tensors, as objects."""

from __future__ import annotations

from dali_lab.ops import OperatorObject


class TorchPythonFunction(OperatorObject):
    """Runs a Python function on torch tensors; see ``fn.torch_python_function``."""

    operator_name = "torch_python_function"
