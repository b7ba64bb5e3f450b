"""Mathematical functions of tensors and batches, as :mod:`dali_lab.math` has them for nodes of a pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from dali_lab.graph import math as _nodes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dali_lab.dynamic.batch import Batch
    from dali_lab.dynamic.tensor import Tensor
    from dali_lab.dynamic.values import Operand


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

    @overload
    def _of(  # type: ignore[overload-overlap]  # the second takes tensors as well
        *operands: Tensor | ArrayLike, **named: Tensor | ArrayLike
    ) -> Tensor: ...
    @overload
    def _of(*operands: Operand, **named: Operand) -> Batch: ...
    def _of(*operands: Any, **named: Any) -> Any: ...

    abs = acos = acosh = asin = asinh = atan = atan2 = atanh = cbrt = ceil = clamp = cos = cosh = exp = fabs = floor = (
        _of
    )
    fpow = log = log2 = log10 = max = min = pow = rsqrt = sin = sinh = sqrt = tan = tanh = _of
