"""Python functions on torch tensors, as objects."""

from __future__ import annotations

from dali_lab.ops import PythonFunctionObject


class TorchPythonFunction(PythonFunctionObject):
    """Runs a Python function on torch tensors; see ``fn.torch_python_function``."""

    operator_name = "torch_python_function"
