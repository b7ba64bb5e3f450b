"""Calls on the calling thread: operators are kept for calls that come again, as in a loop.

A call on data that are there, with constants that can be compared, is recorded once. What was recorded then, one
operator with its arguments, runs on the inputs of all later calls that look alike, without a graph or an engine. Large
batches are left to the engine and its threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dali_lab.dynamic.evaluation import Holder, Slot
from dali_lab.executor.failures import explain
from dali_lab.executor.plan import make_operator
from dali_lab.graph.naming import suggested_name
from dali_lab.graph.recorder import DataNode
from dali_lab.graph.seeds import graph_seeds
from dali_lab.graph.tracing import build_graph
from dali_lab.model.batch import Batch as Samples
from dali_lab.model.dtypes import DALIDataType, DALIImageType, DALIInterpType
from dali_lab.model.user_code import user_frame, user_line
from dali_lab.schema.call import Call
from dali_lab.schema.registry import find_operator
from dali_lab.schema.running import run_operator

_MOST_VALUES = 32
_PLAIN = frozenset({bool, int, str, type(None), DALIDataType, DALIImageType, DALIInterpType})
_SECONDS = 2e-3
"""Time of a batch from which on it pays to hand it to threads."""
_SECONDS_OF_A_BYTE = 5e-9
"""A guess, for calls whose time is not known yet."""
_FIRST_RUNS = 2
"""In these, kernels are loaded: their time says little."""
_TIMED = 8
"""Every so many runs the time is taken: on a busy machine, asking for it lets others run."""
_FADING = 0.9
"""By this the time that a call took loses weight each time that the engine runs it."""
STATE = "_random_state"


def plain(value: object) -> Hashable:
    """A key of a constant, with its type; `None` if it cannot be compared."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, value, str(value)  # zero has two signs
    if kind is list or kind is tuple:
        assert isinstance(value, (list, tuple))
        if len(value) > _MOST_VALUES:
            return None
        items = tuple(map(plain, value))
        return None if None in items else (kind, items)
    return None


def key_of(about: Hashable, items: Sequence[Any], samples: int | None) -> Hashable:
    """The key of calls that one operator can run; `None` where results are not there yet, or lie on a GPU.

    Parameters
    ----------
    about
        What is called, with its constant arguments.
    items
        Tensors, batches and constants that it is called with.
    samples
        Number of samples of a batch; `None` for a call on tensors.
    """
    parts: list[Hashable] = [about, samples is None]
    slots: list[int] = []
    for item in items:
        if isinstance(item, Holder):
            slot = item.slot
            if slot.batch is None or slot.device != "cpu":
                return None
            parts.append(item._is_batch)
            slots.append(id(slot))
        else:
            part = plain(item)
            if part is None:
                return None
            parts.append(part)
    if len(slots) > 1:
        parts.append(tuple(map(slots.index, slots)))
    return tuple(parts)


class DirectCall:
    """A recorded call of one operator, to be run on other inputs.

    Parameters
    ----------
    results
        What recording it gave.
    symbols
        The operands that it was recorded with; results of other calls are symbols.
    arrange
        Gives results the form in which the call returns them.
    """

    def __init__(
        self, results: Sequence[DataNode], symbols: Sequence[Any], arrange: Callable[[Sequence[Any]], Any]
    ) -> None:
        self.arrange = arrange
        call = results[0].source
        graph = build_graph(results)
        node = graph.nodes[call.placed]
        constants = {name: value for name, value in node.arguments.items() if name != STATE}
        self._node = node
        # Errors name the variable of the call that fails, not of the first one.
        self._operator = make_operator(replace(node, id="", arguments=constants))
        self._named = call.name
        self._outputs = call.outputs
        self._wanted = [result.index for result in results]
        self._seed = graph_seeds(graph, 0).get(call.placed, 0)
        places = {id(symbol): place for place, symbol in enumerate(symbols) if isinstance(symbol, DataNode)}
        self._inputs = [places[id(each)] for each in call.inputs]
        self._connected = {name: places[id(each)] for name, each in call.connections.items()}
        self._seconds = 0.0
        self._runs = 0

    def suits(self, items: Sequence[Any], samples: int | None) -> bool:
        """Whether the call is short enough to run it here."""
        if samples is None or samples < 2:
            return True
        if self._runs < _FIRST_RUNS:
            size = sum(_data(items[place]).nbytes for place in self._inputs)
            return size * _SECONDS_OF_A_BYTE < _SECONDS
        if self._seconds * samples < _SECONDS:
            return True
        self._seconds *= _FADING
        return False

    def run(self, items: Sequence[Any], samples: int | None, state: Sequence[int] | None) -> list[Samples]:
        """The results for these operands, from the generator `state` where the operator draws random numbers.

        Raises
        ------
        DaliLabError
            The error of the operator.
        """
        count = 1 if samples is None else samples
        batches = [_repeated(items[place], samples) for place in self._inputs]
        try:
            call = Call(
                self._operator,
                0,
                count,
                batch_size=count,
                seed=self._seed,
                batches={name: _repeated(items[place], samples) for name, place in self._connected.items()},
                sources=batches[0].sources if batches else None,
                random_state=state,
            )
            timed = self._runs < _FIRST_RUNS + 1 or not self._runs % _TIMED
            began = time.thread_time() if timed else 0.0
            results = run_operator(self._operator, call, batches, self._outputs)
        except Exception as error:  # of whatever class: it is told where it comes from
            explained = self._explained(error, batches)
            if explained is error:
                raise
            raise explained from error
        if timed:
            self._seconds = (time.thread_time() - began) / max(count, 1)
        self._runs += 1
        return [results[index] for index in self._wanted]

    def _explained(self, error: Exception, batches: Sequence[Samples]) -> BaseException:
        name = self._named or suggested_name(user_frame()) or self._node.op.rsplit(".", 1)[-1].strip("_")
        return explain(error, replace(self._node, id=name, origin=user_line()), batches)


def _data(item: Holder) -> Samples:
    data = item.slot.batch
    assert data is not None
    return data


def _repeated(item: Holder, samples: int | None) -> Samples:
    """The data, repeated for each sample of a batch if it is a tensor beside one."""
    data = _data(item)
    return data if samples is None or item._is_batch else data.take(np.zeros(samples, np.int64))


def prepared(
    results: Sequence[DataNode], symbols: Sequence[Any], arrange: Callable[[Sequence[Any]], Any]
) -> DirectCall | None:
    """The recorded call, if it is one call on the CPU of data that are there."""
    call = results[0].source if results else None
    if call is None or call.device != "cpu" or call.preserve or any(each.source is not call for each in results):
        return None
    operator = find_operator(call.op)
    if operator.source or operator.in_order or operator.deprecated or operator.python_objects:
        return None
    given = {id(symbol) for symbol in symbols if isinstance(symbol, Slot) and symbol.batch is not None}
    inputs = [*call.inputs, *call.connections.values()]
    if any(id(node) not in given or node.device != "cpu" for node in inputs):
        return None
    if any(node.device != "cpu" for node in results):
        return None
    return DirectCall(results, symbols, arrange)
