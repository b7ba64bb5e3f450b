"""Choice of an augmentation for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab.graph.recorder import DataNode
from dali_lab.model.errors import ArgumentError


def select(ops: Sequence[Any], selected_op_idx: DataNode, *op_args: object, **op_kwargs: object) -> Any:
    """Apply to each sample one of `ops`, which is ``ops[selected_op_idx](*op_args, **op_kwargs)``.

    The batch is cut in halves, by the halves of the list, until each part has one operation left; nodes among the
    arguments are cut along.
    """
    if not ops:
        raise ArgumentError("the list is empty", argument="ops")
    return _halved(ops, 0, len(ops) - 1, selected_op_idx, op_args, op_kwargs)


def _halved(ops: Sequence[Any], low: int, high: int, chosen: Any, args: Any, kwargs: Any) -> Any:
    if low == high:
        return ops[low](*args, **kwargs)
    middle = (low + high) // 2
    if chosen <= middle:
        return _halved(ops, low, middle, chosen, args, kwargs)
    else:
        return _halved(ops, middle + 1, high, chosen, args, kwargs)
