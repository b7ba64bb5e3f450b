"""Engines of calls that come again, as in a loop: the same line with the same constants."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence

from dali_lab.executor.immediate import ImmediateGraph
from dali_lab.executor.pool import ThreadPool
from dali_lab.graph.recorder import DataNode, OpCall
from dali_lab.model.dtypes import DALIDataType, DALIImageType, DALIInterpType
from dali_lab.schema.registry import find_operator

_MOST_ENGINES = 64
_MOST_VALUES = 32
_PLAIN = frozenset({bool, int, float, str, type(None), DALIDataType, DALIImageType, DALIInterpType})


_kept: OrderedDict[Hashable, ImmediateGraph] = OrderedDict()
_lock = threading.Lock()


def key_of(call: OpCall, results: Sequence[DataNode], single: bool) -> Hashable:
    """The key of calls on the CPU that one engine can run in turn; `None` for calls that no engine runs twice.

    Parameters
    ----------
    call
        The call, all of whose inputs are there.
    results
        The results that are wanted.
    single
        Whether it is for one sample.
    """
    operator = find_operator(call.op)
    inputs = [*call.inputs, *call.connections.values()]
    if operator.random or operator.source or operator.in_order:
        return None
    if call.device != "cpu" or any(node.device != "cpu" for node in (*inputs, *results)):
        return None
    if not all(map(_is_plain, call.arguments.values())):
        return None
    numbers = [node.source.number for node in inputs]
    return (
        call.op, call.origin, call.name, call.suggested, call.preserve, single, repr(call.arguments),
        tuple(call.connections), tuple(map(numbers.index, numbers)), tuple(node.index for node in results),
    )  # fmt: skip


def _is_plain(value: object) -> bool:
    """Whether two values that are printed alike are the same."""
    if isinstance(value, (list, tuple)):
        return len(value) <= _MOST_VALUES and all(map(_is_plain, value))
    return type(value) in _PLAIN


def take(key: Hashable, pool: ThreadPool | None) -> ImmediateGraph | None:
    """The engine of calls like this one, unless it is at work or its threads are not these (`None`: the caller's)."""
    with _lock:
        prepared = _kept.pop(key, None)
    if prepared is not None and pool is not None and prepared.pool is not pool:
        prepared.close()
        return None
    return prepared


def keep(key: Hashable, prepared: ImmediateGraph) -> None:
    """Keep an engine for the next call like this one."""
    with _lock:
        surplus = [_kept.pop(key)] if key in _kept else []
        _kept[key] = prepared
        while len(_kept) > _MOST_ENGINES:
            surplus.append(_kept.popitem(last=False)[1])
    for old in surplus:
        old.close()


def clear() -> None:
    """Close all engines that are kept."""
    with _lock:
        surplus = list(_kept.values())
        _kept.clear()
    for old in surplus:
        old.close()
