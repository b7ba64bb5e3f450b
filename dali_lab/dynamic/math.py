"""Mathematical functions of tensors and batches, as :mod:`dali_lab.math` has them for nodes of a pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dali_lab.graph import math as _nodes


def _function(name: str) -> Callable[..., Any]:
    recorded = getattr(_nodes, name)
    signature = inspect.signature(recorded)

    def function(*operands: Any, **named: Any) -> Any:
        from dali_lab.dynamic.calling import expression
        from dali_lab.dynamic.tensor import as_tensor
        from dali_lab.dynamic.values import Value

        if named:
            operands = signature.bind(*operands, **named).args
        if not any(isinstance(each, Value) for each in operands):
            operands = (as_tensor(operands[0]), *operands[1:])
        return expression(recorded, operands)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = recorded.__doc__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


__all__ = list(_nodes.__all__)
for _name in __all__:
    globals()[_name] = _function(_name)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...
