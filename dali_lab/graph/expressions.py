"""Expressions over data nodes: the nodes that Python's operators and brackets record in a graph."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from dali_lab.graph.recorder import DataNode, _NewAxis
from dali_lab.model.dtypes import to_dali_type
from dali_lab.model.errors import ArgumentTypeError, DaliLabError
from dali_lab.model.promotion import OPERAND_LETTERS, constant_dtype
from dali_lab.model.scalars import ScalarConstant

MAX_SUBSCRIPTS = 32

Operand: TypeAlias = DataNode | ScalarConstant | npt.ArrayLike
"""One side of an expression: a node, a constant with a type, a number, or numbers that become a constant node."""


_WORDS = {
    "plus": "+", "minus": "-", "add": "+", "sub": "-", "mul": "*", "fdiv": "/", "div": "//", "bitand": "&",
    "bitor": "|", "bitxor": "^", "eq": "==", "neq": "!=", "lt": "<", "leq": "<=", "gt": ">", "geq": ">=",
}  # fmt: skip
"""The signs of operations in NVIDIA DALI's messages."""


def is_operand(value: object) -> bool:
    """Whether `value` can stand beside a node in an expression: a node, a number, a list of numbers or an array."""
    if isinstance(value, (DataNode, ScalarConstant, bool, int, float, np.ndarray, np.generic)):
        return True
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, (bool, int, float, np.generic, list, tuple)) for item in value)
    return hasattr(value, "__array__") or hasattr(value, "detach")


def operation(name: str, *operands: Any) -> DataNode:
    """Record the operation called `name` (NVIDIA DALI's word, such as ``"fdiv"``) on nodes and constants.

    Raises
    ------
    TypeError
        If an operand is neither a node nor a constant.
    GraphError
        If no operand is a node.
    """
    from dali_lab.graph.constants import implied_constant
    from dali_lab.graph.tracing import call_operator
    from dali_lab.model.user_code import user_line

    nodes: list[DataNode] = []
    constants: dict[str, Any] = {}
    for letter, operand in zip(OPERAND_LETTERS, operands, strict=False):
        if isinstance(operand, DataNode):
            nodes.append(operand)
            continue
        if not is_operand(operand):
            hint = ""
            if isinstance(operand, (list, tuple)) and any(isinstance(item, DataNode) for item in operand):
                position = [each is operand for each in operands].index(True)
                hint = "; is it the result of an operator with several outputs?"
                hint += f" The input {position} of operator `{_WORDS.get(name, name)}` must be a `DataNode` or a"
                hint += f" compatible constant. Got a `{type(operand).__name__}` with nested `DataNode`(s)."
                hint += f" Choose one of the nodes in the '{type(operand).__name__}'."
            raise ArgumentTypeError(
                f"an operand must be a DataNode or a number, got {type(operand).__name__}{hint}",
                operator=f"math.{name}",
                origin=user_line(),
            )
        constant = _scalar(operand)
        if constant is None:
            try:
                nodes.append(implied_constant(operand))
            except DaliLabError as error:
                error.origin = user_line()
                raise
            continue
        constants[letter] = constant.value
        if constant.dtype != constant_dtype(constant.value):
            constants[f"{letter}_dtype"] = constant.dtype
    if name == "plus" and nodes:
        return nodes[0]
    return cast(DataNode, call_operator(f"math.{name}", nodes, constants))


def _scalar(operand: Any) -> ScalarConstant | None:
    """The operand as a constant if it is one number."""
    if isinstance(operand, ScalarConstant):
        return operand
    if isinstance(operand, np.generic) or (hasattr(operand, "shape") and tuple(operand.shape) == ()):
        array = np.asarray(operand.detach().cpu() if hasattr(operand, "detach") else operand)
        return ScalarConstant(array.item(), to_dali_type(array.dtype))
    if isinstance(operand, (bool, int, float)):
        return ScalarConstant(operand)
    return None


def subscript(node: DataNode, index: object) -> DataNode:
    """Record ``node[index]``.

    Parameters
    ----------
    node
        The node to index.
    index
        Integers, slices, nodes of scalars in either, :data:`~dali_lab.newaxis`, or a tuple of these.

    Raises
    ------
    NotImplementedError
        For ``...``.
    TypeError
        If an index is none of these.
    ValueError
        If some new axes have names and others do not.
    """
    from dali_lab.graph.tracing import call_operator

    items = index if isinstance(index, tuple) else (index,)
    arguments: dict[str, Any] = {}
    new_axes: list[int] = []
    names: list[str] = []
    position = 0
    axis = 0
    for item in items:
        if isinstance(item, _NewAxis):
            new_axes.append(axis)
            if item.name is not None:
                names.append(item.name)
            axis += 1
            continue
        if item is None:
            item = slice(None)
        if isinstance(item, slice):
            for key, bound in (("lo", item.start), ("hi", item.stop), ("step", item.step)):
                if bound is not None:
                    arguments[f"{key}_{position}"] = _bound(bound, whole=False)
            axis += 1
        else:
            arguments[f"at_{position}"] = _bound(item)
        position += 1
    if names and len(names) != len(new_axes):
        raise ValueError("either all new axes have names or none")
    if position > MAX_SUBSCRIPTS:
        raise ValueError(f"takes at most {MAX_SUBSCRIPTS} indices, got {position}")
    result = node
    if arguments:
        result = call_operator("_tensor_subscript", (node,), {**arguments, "num_subscripts": position})
    elif not (items and isinstance(items[-1], _NewAxis)):
        result = call_operator("_subscript_dim_check", (node,), {"num_subscripts": position})
    if new_axes:
        options: dict[str, Any] = {"axes": new_axes}
        if names:
            options["new_axis_names"] = "".join(names)
        result = call_operator("expand_dims", (result,), options)
    return result


def _bound(value: object, *, whole: bool = True) -> Any:
    """An index as an integer or a node; a whole number written as a float is fine in a slice."""
    if isinstance(value, DataNode):
        return value
    if value is Ellipsis:
        raise NotImplementedError("Ellipsis in indexing is not implemented: write ':' for each axis")
    if isinstance(value, ScalarConstant):
        value = value.value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, (bool, int)) or (isinstance(value, float) and not whole and value.is_integer()):
        return int(value)
    raise TypeError(f"an index is an integer, a slice, a node or newaxis, not {type(value).__name__}")
