"""Debug mode: operators run at once, as their functions are called, so that data can be looked at in between."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dali_lab.conditionals import ConditionStack
from dali_lab.executor.failures import explain
from dali_lab.executor.immediate import ImmediateGraph
from dali_lab.executor.plan import make_operator
from dali_lab.executor.sources.opening import open_source
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.graph.recorder import DataNode, OpCall, Recorder
from dali_lab.model.batch import Batch
from dali_lab.model.errors import ArgumentError, GraphError
from dali_lab.model.incoming import incoming_batch
from dali_lab.model.tensor_list import TensorListCPU, TensorListGPU
from dali_lab.model.user_code import user_line, user_stacklevel
from dali_lab.pipeline.definition import as_outputs
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator
from dali_lab.schema.source import Draw, Source

_SEEDS = (1 << 31) - 1


class DataNodeDebug(DataNode):
    """The output of an operator in debug mode: a node that has its data already."""

    def __init__(self, source: OpCall, index: int, device: str, batch: Batch) -> None:
        super().__init__(source, index, device)
        self.batch = batch

    def get(self) -> TensorListCPU:
        """The data."""
        return (TensorListCPU if self.device == "cpu" else TensorListGPU)(self.batch)

    def shape(self, **options: Any) -> Any:
        """The shapes of the samples: as tuples, or as a node where `dtype` or `device` are given."""
        return super().shape(**options) if options else self.get().shape()

    def _on(self, device: str) -> DataNode:
        return self if self.device == device else DataNodeDebug(self.source, self.index, device, self.batch)

    def __repr__(self) -> str:
        return f'DataNodeDebug(\n    name="{self.name}",\n    data={self.get()!r})'


@dataclass
class _Place:
    """The operator of one call in the function, kept from run to run with its random state."""

    call: OpCall
    node: Node
    operator: Operator
    seed: int
    immediate: ImmediateGraph
    source: Source | None = None


class _DebugRecorder(Recorder):
    """Runs calls as they are recorded."""

    checks_at_build = False

    def results(self, call: OpCall, device: str) -> tuple[DataNode, ...]:
        pipeline = self.owner()
        assert isinstance(pipeline, DebugPipeline)
        return pipeline._results(call, device)

    def adopted(self, item: object) -> DataNode | None:
        pipeline = self.owner()
        assert isinstance(pipeline, DebugPipeline)
        return pipeline._adopted(item)

    def ignores(self, operator: type[Operator], argument: str) -> bool:
        """Arguments that external sources do not have are left out with a warning, as NVIDIA DALI ignores them."""
        if operator.fed:
            message = f"fn.{operator.name} has no argument '{argument}'; in debug mode it is ignored"
            warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
        return operator.fed


class DebugPipeline(Pipeline):
    """A pipeline whose function is called anew for each batch, and whose operators run as it calls them.

    Each result is a :class:`DataNodeDebug`: ``get()`` gives its data. Operators take tensor lists and lists of arrays
    as inputs and arguments, so data can be changed in between. Calls are told apart by their order, which has to be
    the same in each run. Operators get their seeds in the order of their calls, so random numbers are not those of the
    same pipeline without debug mode.

    Parameters
    ----------
    function
        Calls operators and returns the outputs.
    conditionals
        `function` was rewritten for conditions on nodes.
    **settings
        As for :class:`~dali_lab.Pipeline`.
    """

    def __init__(self, function: Callable[[], Any], conditionals: bool = False, **settings: Any) -> None:
        super().__init__(**settings)
        _warn_of(self.on_error)
        self._function = function
        self._conditionals = conditionals
        self._places: list[_Place] = []
        self._next = 0
        self._iteration = 0
        self._size: int | None = None
        self._data: dict[tuple[int, int], Batch] = {}
        self._fed: dict[str, deque[tuple[Any, str | None]]] = {}
        self._ready: deque[tuple[TensorListCPU, ...]] = deque()
        self._seeds = np.random.default_rng(self._seed)

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Check the settings; the graph is defined by each run."""
        if self._settings.batch_size is None:
            raise ArgumentError("must be given", argument="batch_size", origin=user_line())

    def run(self, cuda_stream: object = None, /, **pipeline_inputs: object) -> tuple[TensorListCPU, ...]:
        """Call the function once and return its outputs."""
        self.build()
        for name, data in pipeline_inputs.items():
            self.feed_input(name, data)
        self._next, self._size, self._data = 0, None, {}
        if self._conditionals:
            self._recorder.conditions = ConditionStack()
        with self:
            result = self._function()
            outputs = result if isinstance(result, tuple) else () if result is None else (result,)
            adopted = [self._adopted(item) for item in outputs]
            nodes = as_outputs([item if node is None else node for item, node in zip(outputs, adopted, strict=True)])
        self._iteration += 1
        return tuple(node.get() for node in nodes if isinstance(node, DataNodeDebug))

    def schedule_run(self) -> None:
        """Run, and keep the outputs for :meth:`share_outputs`."""
        self._ready.append(self.run())

    def share_outputs(self, cuda_stream: object = None) -> tuple[TensorListCPU, ...]:
        """The outputs of the oldest :meth:`schedule_run`."""
        return self._ready.popleft()

    def release_outputs(self) -> None:
        """Outputs own their memory: nothing to do."""

    def _feed(self, data_node: DataNode | str, data: object, layout: str | None, cuda_stream: object) -> None:
        name = data_node if isinstance(data_node, str) else data_node.name
        self._fed.setdefault(name, deque()).append((data, layout))

    def reset(self) -> None:
        """Begin the next epoch of all sources."""
        for place in self._places:
            if place.source is not None:
                place.source.reset()

    def empty(self) -> bool:
        """Whether no outputs wait."""
        return not self._ready

    def close(self) -> None:
        """Release the resources of the operators."""
        for place in self._places:
            if place.source is not None:
                place.source.close()
            place.immediate.close()
        super().close()

    # -- what the recorder asks ---------------------------------------------------------------------------------

    def _make_recorder(self) -> Recorder:
        return _DebugRecorder(weakref.ref(self))

    def _adopted(self, item: object) -> DataNode | None:
        """Data from outside as a node: a tensor list, or a list of arrays that are the samples."""
        is_list = isinstance(item, (list, tuple)) and len(item) > 0 and all(map(_is_array, item))
        if not isinstance(item, TensorListCPU) and not is_list:
            return None
        batch = incoming_batch(item, copy=False)
        call = OpCall("external_source", "cpu", (), {}, {}, None, 1, self._recorder, user_line())
        self._data[call.number, 0] = batch
        device = "gpu" if isinstance(item, TensorListGPU) else "cpu"
        return DataNodeDebug(call, 0, device, batch)

    def _results(self, call: OpCall, device: str) -> tuple[DataNode, ...]:
        """Run a call at once."""
        place = self._place(call)
        self._next += 1
        inputs = [self._data[node.source.number, node.index] for node in call.inputs]
        connected = {name: self._data[node.source.number, node.index] for name, node in call.connections.items()}
        try:
            results = self._executed(place, inputs, connected)
        except Exception as error:
            explained = explain(error, place.node, inputs)
            if explained is error:
                raise
            raise explained from error
        for index, batch in enumerate(results):
            self._data[call.number, index] = batch
        return tuple(DataNodeDebug(call, index, device, batch) for index, batch in enumerate(results))

    def _place(self, call: OpCall) -> _Place:
        if self._next == len(self._places):
            self._places.append(self._made(call))
            _warn_of(call.arguments.get("on_error"))
        place = self._places[self._next]
        if place.call.op != call.op:
            raise GraphError(
                f"in debug mode each run must make the same calls: here the first run called fn.{place.call.op}",
                operator=call.op,
                origin=call.origin,
            )
        if len(place.call.inputs) != len(call.inputs):
            raise GraphError(
                "in debug mode each run must make the same calls:"
                f" the first run gave {len(place.call.inputs)} inputs, this one {len(call.inputs)}",
                operator=call.op,
                origin=call.origin,
            )
        first, given = _argument_texts(place.call), _argument_texts(call)
        for name in sorted(first.keys() | given.keys()):
            before, now = first.get(name, "not given"), given.get(name, "not given")
            if before != now:
                raise ArgumentError(
                    f"changed since the first run, from {before} to {now};"
                    " without debug mode, the first would count in all runs",
                    operator=call.op,
                    argument=name,
                    origin=call.origin,
                )
        return place

    def _made(self, call: OpCall) -> _Place:
        name = call.name or f"{call.op.replace('.', '_')}_{self._next}"
        inputs = [Edge(f"{name}.{index}") for index in range(len(call.inputs))]
        connections = {key: Edge(f"{name}.{key}") for key in call.connections}
        given = [Node(edge.node, "external_source") for edge in (*inputs, *connections.values())]
        arguments = {**call.arguments, "preserve": True}
        node = Node(name, call.op, call.device, tuple(inputs), arguments, connections, call.origin)
        operator = make_operator(node)
        # Every operator but external sources takes one, whether it is random or not, as NVIDIA DALI does.
        seed = 0 if operator.fed else int(self._seeds.integers(_SEEDS))
        if call.arguments.get("seed") is not None:
            seed = int(call.arguments["seed"])
        graph = Graph({each.id: each for each in (*given, node)}, tuple(Edge(name, k) for k in range(call.outputs)))
        names = [each.id for each in given]
        # One chunk holds a whole batch: functions of the user see it as they would without debug mode.
        immediate = ImmediateGraph(graph, names, {name: seed}, chunk=sys.maxsize, operators={name: operator})
        return _Place(call, node, operator, seed, immediate)

    def _executed(self, place: _Place, inputs: list[Batch], connected: Mapping[str, Batch]) -> list[Batch]:
        operator = place.operator
        draws = {}
        given = [*inputs, *connected.values()]
        count = len(given[0]) if given else self._size or self._settings.batch_size or 1
        if operator.joins_scopes:
            count = len(connected["predicate"])
        if operator.source:
            draw = draws[place.node.id] = self._drawn(place, count)
            count = draw.count
            if self._size not in (None, count):
                raise operator.fail(
                    f"gave a batch of {count} samples, and those before it in this run have {self._size}"
                )
        if self._size is None:
            self._size = count
        return place.immediate.run(count, given, iteration=self._iteration, draws=draws)

    def _drawn(self, place: _Place, count: int) -> Draw:
        if place.source is None:
            place.source = open_source(place.operator, place.seed)
        name = place.node.id
        if place.operator.fed and self._fed.get(name):
            data, layout = self._fed[name].popleft()
            place.source.feed(data, layout, self._settings.batch_size)
        if not place.source.ready():
            raise place.operator.fail(f"has no data: call feed_input('{name}', …) before each run")
        return place.source.draw(count)


def _warn_of(on_error: str | None) -> None:
    """Say that an answer to bad samples counts for nothing here."""
    if on_error not in (None, "raise"):
        warnings.warn(
            f"on_error={on_error!r} has no effect in debug mode: an operator that fails raises its error, because the"
            " program may have seen the sample's labels and other values already, which would have to go with it",
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def _is_array(item: object) -> bool:
    return hasattr(item, "__array__") and not isinstance(item, np.generic)


def _argument_texts(call: OpCall) -> dict[str, str]:
    """The arguments in words that can be compared, but for functions and other objects, which each run makes anew.

    Numbers in expressions stay those of the first run without a word, as in NVIDIA DALI.
    """
    operator = find_operator(call.op)
    table, arithmetic = operator.argument_table, operator.syntax == "arithmetic"
    constants = {
        key: "a number" if arithmetic else repr(value)
        for key, value in call.arguments.items()
        if table[key].type != "object"
    }
    return {**constants, **dict.fromkeys(call.connections, "a node")}


def make_debug_pipeline(
    function: Callable[..., Any], conditionals: bool, args: tuple[Any, ...], kwargs: dict[str, Any], settings: Any
) -> DebugPipeline:
    """The pipeline that ``pipeline_def(debug=True)`` makes of a function and the arguments of one call."""
    if conditionals:
        from dali_lab.conditionals.rewriting import converted

        function = converted(function)
    return DebugPipeline(partial(function, *args, **kwargs), conditionals, **settings)
