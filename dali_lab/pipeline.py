"""The pipeline: a graph with an engine, and the ways in which NVIDIA DALI lets people define and run one."""

from __future__ import annotations

import functools
import inspect
import secrets
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar, overload

from dali_lab.batch.tensors import TensorList
from dali_lab.data_node import DataNode
from dali_lab.errors import ArgumentError, GraphError
from dali_lab.executor.engine import BatchRun, Engine
from dali_lab.executor.plan import Plan, make_plan
from dali_lab.executor.seeds import graph_seeds
from dali_lab.graph.graph import Graph
from dali_lab.graph.tracing import build_graph, user_line
from dali_lab.graph.verification import verify

F = TypeVar("F", bound=Callable[..., Any])
_local = threading.local()
_open: weakref.WeakSet[Pipeline] = weakref.WeakSet()


class Pipeline:
    """A graph of operators that yields batches.

    Parameters
    ----------
    batch_size
        Largest number of samples in a batch.
    num_threads
        CPU threads that work on it.
    device_id
        The GPU to use, or `None` for the CPU alone.
    seed
        Seed of all random operators; −1 or `None` takes a new one each time.
    prefetch_queue_depth
        Batches kept ahead of the consumer: a number, or a dictionary with ``cpu_size`` and ``gpu_size``.
    exec_pipelined, exec_async, exec_dynamic
        Kept for programs that set them; the engine is always asynchronous and dynamic.
    """

    def __init__(
        self,
        batch_size: int = -1,
        num_threads: int = -1,
        device_id: int | None = -1,
        seed: int | None = -1,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | Mapping[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: str | bytes | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool = True,
        stream_policy: Any = None,
        concurrency: Any = None,
        gpu: str | None = None,
        optimize: bool = True,
    ) -> None:
        if batch_size is not None and batch_size != -1 and batch_size < 1:
            raise ArgumentError(f"{batch_size} is not in at least 1", argument="batch_size", origin=user_line())
        if num_threads is not None and num_threads != -1 and num_threads < 1:
            raise ArgumentError(f"{num_threads} is not in at least 1", argument="num_threads", origin=user_line())
        self._settings: dict[str, Any] = {
            "batch_size": batch_size,
            "num_threads": num_threads,
            "device_id": device_id,
            "seed": seed,
            "prefetch_queue_depth": prefetch_queue_depth,
        }
        self._fresh_seed = seed is None or seed < 0
        self._seed = secrets.randbits(31) if self._fresh_seed else int(seed or 0)
        self._gpu = gpu
        self._optimize = optimize
        self._outputs_traced: tuple[DataNode, ...] = ()
        self._sinks: list[DataNode] = []
        self._graph: Graph | None = None
        self._plan: Plan | None = None
        self._engine: Engine | None = None
        self._in_flight: deque[BatchRun | BaseException] = deque()
        self._iteration = 0
        self._ended = False
        self._closed = False
        _open.add(self)

    _current: ClassVar[list[Pipeline]]

    @staticmethod
    def current() -> Pipeline | None:
        """The pipeline that is being defined on this thread."""
        stack = getattr(_local, "stack", None)
        return stack[-1] if stack else None

    @staticmethod
    def push_current(pipeline: Pipeline) -> Pipeline | None:
        """Make a pipeline the one being defined; returns the one before."""
        before = Pipeline.current()
        if not hasattr(_local, "stack"):
            _local.stack = []
        _local.stack.append(pipeline)
        return before

    @staticmethod
    def pop_current() -> None:
        """Undo the last :meth:`push_current`."""
        _local.stack.pop()

    def __enter__(self) -> Pipeline:
        Pipeline.push_current(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Pipeline.pop_current()

    @classmethod
    def from_graph(cls, graph: Graph, **settings: Any) -> Pipeline:
        """A pipeline that runs `graph`; `settings` replace those that the graph carries."""
        accepted = inspect.signature(cls.__init__).parameters
        stored = {key: value for key, value in graph.pipeline.items() if key in accepted}
        pipeline = cls(**{"batch_size": 1, "num_threads": 2, "device_id": None, **stored, **settings})
        pipeline._graph = graph
        return pipeline

    @property
    def graph(self) -> Graph:
        """The graph, traced if it was not yet."""
        if self._graph is None:
            self._trace()
        assert self._graph is not None
        return self._graph

    @property
    def batch_size(self) -> int:
        """Largest number of samples in a batch."""
        return int(self._settings["batch_size"])

    max_batch_size = batch_size

    @property
    def num_threads(self) -> int:
        """CPU threads."""
        return int(self._settings["num_threads"])

    @property
    def device_id(self) -> int | None:
        """The GPU, or `None`."""
        return self._settings["device_id"]  # type: ignore[no-any-return]

    @property
    def seed(self) -> int:
        """The seed in use."""
        return self._seed

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.graph.outputs)

    def define_graph(self) -> Any:
        """Define the outputs; for subclasses to fill in."""
        raise NotImplementedError(
            "no outputs are defined: use pipeline_def, call set_outputs, or define define_graph in a subclass"
        )

    def set_outputs(self, *outputs: Any) -> None:
        """Set what a run returns."""
        self._outputs_traced = _as_outputs(outputs)
        self._graph = None

    def add_sink(self, node: DataNode) -> None:
        """Keep a node and run it, though it is no output."""
        self._sinks.append(node)

    def _trace(self) -> None:
        if not self._outputs_traced:
            with self:
                result = self.define_graph()
            self._outputs_traced = _as_outputs(result if isinstance(result, (tuple, list)) else (result,))
        graph = build_graph(self._outputs_traced, self._sinks, self._stored_settings())
        self._graph = graph

    def _stored_settings(self) -> dict[str, Any]:
        stored = {key: value for key, value in self._settings.items() if value not in (-1, None)}
        if self._fresh_seed:
            stored.pop("seed", None)
        return stored

    def build(self) -> None:
        """Verify the graph and prepare to run it; done by the first run where it was not called.

        Raises
        ------
        GraphError
            With the node, the argument and the line at fault.
        """
        if self._engine is not None:
            return
        graph = self.graph
        verify(graph)
        if self.batch_size < 1:
            raise ArgumentError("must be given", argument="batch_size")
        self._plan = make_plan(graph)
        self._engine = Engine(self._plan, self.num_threads if self.num_threads > 0 else 1, graph_seeds(graph, self._seed))

    @property
    def prefetch_queue_depth(self) -> int | Mapping[str, int]:
        """Batches kept ahead."""
        return self._settings["prefetch_queue_depth"]  # type: ignore[no-any-return]

    def _depth(self) -> int:
        depth = self._settings["prefetch_queue_depth"]
        return max(1, int(max(depth.values()) if isinstance(depth, Mapping) else depth))

    def schedule_run(self) -> None:
        """Start the next batch without waiting for it."""
        self.build()
        if self._ended:
            return
        assert self._engine is not None and self._plan is not None
        draws = {}
        try:
            size = self.batch_size
            counts = set()
            for step in self._plan.sources:
                draws[step.node.id] = draw = step.operator.draw(self.batch_size)
                counts.add(draw.count)
            if len(counts) > 1:
                raise GraphError(f"the sources gave batches of different sizes: {sorted(counts)}")
            size = counts.pop() if counts else size
        except StopIteration as end:
            self._ended = True
            self._in_flight.append(end)
            return
        except Exception as error:
            self._in_flight.append(error)
            return
        self._in_flight.append(self._engine.submit(self._iteration, size, draws))
        self._iteration += 1

    def share_outputs(self) -> tuple[TensorList, ...]:
        """Wait for the oldest batch in flight and return it.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        if not self._in_flight:
            raise RuntimeError("no batch is in flight: call schedule_run first")
        run = self._in_flight.popleft()
        if isinstance(run, BaseException):
            raise run
        run.wait()
        return tuple(TensorList(batch) for batch in run.outputs())

    def release_outputs(self) -> None:
        """Give the last batch back; its memory is its own here, so nothing needs to be done."""

    def outputs(self) -> tuple[TensorList, ...]:
        """The oldest batch in flight, with another one started in its place."""
        return self.share_outputs()

    def run(self, **named_inputs: Any) -> tuple[TensorList, ...]:
        """Run one batch, keeping others ahead of it.

        Returns
        -------
        tuple of TensorList
            One for each output.

        Raises
        ------
        StopIteration
            At the end of the epoch of an external source.
        OperatorError
            If an operator fails; the next call goes on with the next batch.
        """
        while len(self._in_flight) < self._depth() and not self._ended:
            self.schedule_run()
        if not self._in_flight:
            raise StopIteration
        result = self.share_outputs()
        return result

    def reset(self) -> None:
        """Begin the next epoch after a :class:`StopIteration`."""
        self._ended = False
        self._in_flight = deque(run for run in self._in_flight if not isinstance(run, StopIteration))
        if self._plan is not None:
            for step in self._plan.sources:
                step.operator.reset()

    def empty(self) -> bool:
        """Whether no batch is in flight."""
        return not self._in_flight

    def close(self) -> None:
        """Stop all work and give up threads; can be called again."""
        if self._engine is not None:
            self._engine.close()
        self._in_flight.clear()
        self._closed = True

    def __del__(self) -> None:
        engine = self.__dict__.get("_engine")
        if engine is not None:
            engine.close()

    def save_graph_to_dot_file(self, filename: str, **options: Any) -> None:
        """Write the graph as a Graphviz file."""
        from dali_lab.formats import dot

        dot.dump(self.graph, filename)


def _as_outputs(outputs: Sequence[Any]) -> tuple[DataNode, ...]:
    from dali_lab.constants import constant_node

    if len(outputs) == 1 and isinstance(outputs[0], (tuple, list)):
        outputs = outputs[0]
    result = []
    for index, item in enumerate(outputs):
        if isinstance(item, DataNode):
            result.append(item)
        elif isinstance(item, (list, tuple)) and any(isinstance(x, DataNode) for x in item):
            raise TypeError(f"output {index} is a nested {type(item).__name__}; return the nodes as one flat tuple")
        else:
            try:
                result.append(constant_node(item))
            except TypeError as error:
                raise TypeError(f"output {index} must be a DataNode, got {type(item).__name__}") from error
    return tuple(result)


@overload
def pipeline_def(function: F) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    function: None = None, *, enable_conditionals: bool = False, **settings: Any
) -> Callable[[Callable[..., Any]], Callable[..., Pipeline]]: ...


def pipeline_def(
    function: Callable[..., Any] | None = None, *, enable_conditionals: bool = False, **settings: Any
) -> Any:
    """Turn a function that defines a graph into one that makes pipelines.

    Arguments of :class:`Pipeline` may be given to the decorator, or to each call, where they win.

    Parameters
    ----------
    function
        Calls operators and returns the outputs.
    enable_conditionals
        Let ``if``, ``and``, ``or`` and ``not`` decide for each sample when the pipeline runs.
    """
    if function is None:
        return lambda defined: pipeline_def(defined, enable_conditionals=enable_conditionals, **settings)  # type: ignore[call-overload]
    accepted = [name for name in inspect.signature(Pipeline.__init__).parameters if name != "self"]
    own = inspect.signature(function).parameters

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Pipeline:
        for_pipeline = {**settings, **{k: v for k, v in kwargs.items() if k in accepted}}
        for_function = {k: v for k, v in kwargs.items() if k not in accepted or k in own}
        for name in own:
            if name in accepted and name in for_pipeline and name in kwargs:
                warnings.warn(f"the argument '{name}' goes to the pipeline and to {function.__name__}", stacklevel=2)
        pipeline = Pipeline(**for_pipeline)
        with pipeline:
            result = function(*args, **for_function)
        pipeline.set_outputs(*(result if isinstance(result, (tuple, list)) else () if result is None else (result,)))
        return pipeline

    make._is_pipeline_def = True  # type: ignore[attr-defined]
    return make
