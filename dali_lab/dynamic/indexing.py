"""Indices of tensors, and of the samples of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dali_lab.dynamic.values import Value
from dali_lab.graph.expressions import subscript

if TYPE_CHECKING:
    from dali_lab.graph.data_node import DataNode


def subscripted(value: Value, index: Any) -> Any:
    """``value[index]``, sample by sample for a batch.

    Raises
    ------
    IndexError
        If ``...`` stands there more than once.
    """
    from dali_lab.dynamic.calling import record

    items = list(index) if isinstance(index, tuple) else [index]
    if sum(item is ... for item in items) > 1:
        raise IndexError("an index can only have a single '...'")
    if any(item is ... for item in items):
        place = next(number for number, item in enumerate(items) if item is ...)
        items[place : place + 1] = [slice(None)] * (value.ndim - len(items) + 1)
    if all(isinstance(item, slice) and item.start is item.stop is item.step is None for item in items):
        return value
    bounds: list[Any] = []

    def placed(bound: Any) -> Any:
        if isinstance(bound, Value):
            bounds.append(bound)
            return len(bounds), ...
        return bound

    template = [
        slice(placed(item.start), placed(item.stop), placed(item.step)) if isinstance(item, slice) else placed(item)
        for item in items
    ]

    def recorded(node: DataNode, *nodes: DataNode) -> Any:
        def filled(bound: Any) -> Any:
            return nodes[bound[0] - 1] if isinstance(bound, tuple) else bound

        whole = tuple(
            slice(filled(item.start), filled(item.stop), filled(item.step)) if isinstance(item, slice) else filled(item)
            for item in template
        )
        return subscript(node, whole)

    return record(recorded, (value, *bounds))
