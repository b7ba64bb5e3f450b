"""The pipeline: a graph with an engine, and the ways in which NVIDIA DALI lets people define and run one."""

from __future__ import annotations

import inspect
import os
import random
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dali_lab.executor.bad_samples import DEFAULT_RATE, OnError
from dali_lab.executor.placement import choose_device, output_on_gpu
from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy, policies
from dali_lab.executor.runner import Runner
from dali_lab.executor.settings import Settings, make_settings
from dali_lab.graph.graph import Graph
from dali_lab.graph.recorder import DataNode, Recorder
from dali_lab.graph.seeds import graph_seeds
from dali_lab.graph.settings import whole_number
from dali_lab.graph.switches import complete
from dali_lab.graph.tracing import build_graph, dali_names
from dali_lab.graph.verification import verify
from dali_lab.model import dtypes
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, GraphError, nearest
from dali_lab.model.tensor_list import TensorList, TensorListCPU, TensorListGPU
from dali_lab.model.user_code import user_line
from dali_lab.pipeline.definition import as_outputs
from dali_lab.pipeline.report import PipelineReport
from dali_lab.pipeline.serialization import PipelineFiles
from dali_lab.pipeline.unused import warn_of_unused_outputs
from dali_lab.schema.registry import find_operator
from dali_lab.schema.source import Source

if TYPE_CHECKING:
    from dali_lab.executor.sources.workers import WorkerPool

_TRAVELLING = (
    "exec_pipelined", "exec_async", "exec_dynamic", "enable_memory_stats", "enable_checkpointing", "py_num_workers",
    "py_start_method", "output_dtype", "output_ndim", "output_layout", "optimize", "bytes_per_sample",
    "on_error", "max_error_rate", "cache", "cache_limit", "cache_at", "cache_epochs",
    "cache_checksum",
)  # fmt: skip


class Pipeline(PipelineReport, PipelineFiles):
    """A graph of operators that yields batches.

    Parameters
    ----------
    batch_size
        Largest number of samples in a batch.
    num_threads
        CPU threads that work on it; by default as many as there are cores, up to 4. A pipeline with -1 can be
        serialized and does not run.
    device_id
        The GPU to use, or `None` for the CPU alone.
    seed
        Seed of all random operators; `None` takes a new one each time.
    prefetch_queue_depth
        Batches kept ahead of the consumer: a number, or a dictionary with ``cpu_size`` and ``gpu_size``, of which the
        larger counts.
    exec_pipelined
        Keep batches ahead at all; otherwise each run computes one batch.
    exec_async
        Answered by the property of this name; work is always done by other threads.
    enable_memory_stats
        Let :meth:`executor_statistics` tell how large outputs are.
    enable_checkpointing, checkpoint
        Let :meth:`checkpoint` be called; go on from what it gave. A list holds the checkpoints of all processes, in the
        order of their ``shard_id``: with another ``num_shards`` than theirs the readers give the rest of the epoch
        exactly once over all processes, and then whole epochs.
    py_num_workers, py_start_method, py_callback_pickler
        Processes of parallel external sources: how many, started by ``"fork"`` or ``"spawn"``, and for the latter a
        module with ``dumps`` and ``loads`` (or a tuple of it and keyword arguments of both) for sources that `pickle`
        does not take. ``"fork"`` is for programs whose other threads are idle: OpenBLAS, on which NumPy stands, may
        hang for ever in a thread that computes at that moment.
    output_dtype, output_ndim, output_layout
        Expectations about the outputs, one value or one for each; other outputs raise.
    exec_dynamic, bytes_per_sample, set_affinity, max_streams, default_cuda_stream_priority, stream_policy, concurrency
        No effect here, for the reasons in :data:`dali_lab.executor.settings.NO_EFFECT`.
    gpu
        Where nodes placed on a GPU run: on the GPU `device_id`, or on the CPU with a warning if there is none
        (``"auto"``); ``"require"`` refuses instead, ``"never"`` runs on the CPU without a word, ``"emulated"`` on a
        device that the CPU emulates, for tests. By default the environment variable ``DALI_LAB_GPU``.
    optimize
        Let passes rewrite the graph where that does not change a result.
    on_error
        The answer to a sample that fails, such as a damaged file: ``"raise"`` ends the batch with the error;
        ``"replace"`` puts another good sample of the batch in its place, with its labels and all that sources gave for
        it and with random numbers of the place, so that batches stay full; ``"skip"`` leaves it out, so that batches
        may be smaller, even empty. :attr:`bad_samples` lists them. Errors
        that no other sample mends are raised. A node's own argument ``on_error`` counts for the errors of that node.
    max_error_rate
        The largest share of bad samples among the last 1,000; where more are bad, the run ends with a
        :class:`~dali_lab.executor.bad_samples.TooManyBadSamples` that names the first ones.
    cache
        Where results that are the same in every epoch are kept, so that they are computed once: ``"memory"``, or a
        folder, or the URL of one in an object store, that later runs and other processes share. By default ``"off"``.
        Batches are the same to the bit.
    cache_limit
        Most bytes of the cache; by default a quarter of the memory, or what the disk has room for.
    cache_at
        Name of the node whose results are kept; by default those of the ``fn.cache`` in the graph, or else of the
        nodes that save most time for their bytes, as measured. Where it is given, or the graph has ``fn.cache``, the
        first epoch keeps everything; else filling takes about a twentieth of an epoch without a cache, what the cache
        has saved, and the time in which threads wait and processors are idle.
    cache_epochs
        How many epochs the run has: results are kept only if that pays within them. By default there are many.
    cache_checksum
        Tell versions of a file apart by a checksum of what is read from it, rather than by its size and time of change:
        every epoch reads the files then, and computes a BLAKE2 of about a gigabyte a second and thread.
    """

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
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
        checkpoint: str | bytes | Sequence[str | bytes] | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | None = None,
        concurrency: OperatorConcurrency | None = None,
        gpu: str | None = None,
        optimize: bool = True,
        on_error: OnError = "raise",
        max_error_rate: float = DEFAULT_RATE,
        cache: str | os.PathLike[str] = "off",
        cache_limit: int | None = None,
        cache_at: str | None = None,
        cache_epochs: int | None = None,
        cache_checksum: bool = False,
    ) -> None:
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._for_serialization = isinstance(num_threads, int) and num_threads < 1
        self._settings = make_settings({**given, "num_threads": None} if self._for_serialization else given)
        self._seed = random.SystemRandom().getrandbits(31) if self._settings.seed is None else self._settings.seed
        self._recorder = self._make_recorder()
        self._outputs_traced: tuple[DataNode, ...] | None = None
        self._wrong_outputs: TypeError | None = None
        self._sinks_traced = 0
        self._graph: Graph | None = None
        self._runner: Runner | None = None
        self._outputs_on_gpu: list[bool] = []
        self._fill_queue = True
        self._closed = False
        self._resharded = False
        self._api_type: dtypes.PipelineAPIType | None = None
        self._skip_api_check = False
        self._dali_names: dict[str, str] = {}

    # -- the pipeline that is being defined ---------------------------------------------------------------------

    def _make_recorder(self) -> Recorder:
        return Recorder(weakref.ref(self))

    @staticmethod
    def current() -> Pipeline | None:
        """The pipeline that is being defined on this thread, or whose Python function is running on it."""
        recorder = Recorder.current()
        pipeline = recorder.owner() if recorder is not None else None
        return pipeline if isinstance(pipeline, Pipeline) else None

    @staticmethod
    def push_current(pipeline: Pipeline) -> Pipeline | None:
        """Make a pipeline the one being defined; returns the one before."""
        before = Pipeline.current()
        Recorder.push(pipeline._recorder)
        return before

    @staticmethod
    def pop_current() -> None:
        """Undo the last :meth:`push_current`."""
        Recorder.pop()

    def __enter__(self) -> Self:
        Recorder.push(self._recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Recorder.pop()

    # -- definition ---------------------------------------------------------------------------------------------

    @classmethod
    def from_graph(cls, graph: Graph, **settings: object) -> Pipeline:
        """A pipeline that runs `graph`; `settings` replace those that the graph carries.

        Raises
        ------
        ArgumentTypeError
            If `settings` has a name that :class:`Pipeline` does not take.
        """
        accepted = inspect.signature(Pipeline.__init__).parameters
        for name in settings:
            if name not in accepted:
                raise ArgumentTypeError(f"there is no argument '{name}'{nearest(name, accepted)}", argument=name)
        stored = {key: value for key, value in graph.pipeline.items() if key in accepted}
        settings = {name: value for name, value in settings.items() if name != "num_threads" or value != -1}
        stored.update(policies(whole_number("executor_flags", graph.pipeline.get("executor_flags"))))
        pipeline = cls(**{"batch_size": 1, "num_threads": 2, "device_id": None, **stored, **settings})
        pipeline._graph = graph
        return pipeline

    @property
    def graph(self) -> Graph:
        """The graph, traced if it was not yet."""
        added = self._runner is None and len(self._recorder.sinks) > self._sinks_traced
        if self._graph is None or added:
            self._trace()
        assert self._graph is not None
        return self._graph

    def define_graph(self) -> Any:
        """Define the outputs; for subclasses to fill in."""
        raise NotImplementedError(
            "no outputs are defined: use pipeline_def, call set_outputs, or define define_graph in a subclass"
        )

    def set_outputs(self, *outputs: object) -> None:
        """Set the outputs of a run.

        Raises
        ------
        GraphError
            If the pipeline was built already.
        """
        if self._runner is not None:
            raise GraphError("the outputs cannot be changed once the pipeline is built")
        self._graph = self._wrong_outputs = None
        with self:
            try:
                self._outputs_traced = as_outputs(outputs)
            except TypeError as error:
                self._wrong_outputs = error  # raised with this line when the pipeline is built

    def add_sink(self, edge: DataNode) -> None:
        """Keep a node and run it, though it is no output."""
        if not isinstance(edge, DataNode):
            raise TypeError(f"a sink is a DataNode, not {type(edge).__name__}")
        self._recorder.sinks.append(edge)

    def _trace(self, define_graph: Callable[[], Any] | None = None) -> None:
        if self._wrong_outputs is not None:
            raise self._wrong_outputs
        if self._outputs_traced is None:
            with self:
                result = (define_graph or self.define_graph)()
                self._outputs_traced = as_outputs(result if isinstance(result, (tuple, list)) else (result,))
        elif define_graph is not None:
            raise GraphError("the graph is defined twice: by set_outputs or pipeline_def, and by define_graph")
        self._graph = build_graph(self._outputs_traced, self._recorder.sinks, self._stored_settings())
        self._sinks_traced = len(self._recorder.sinks)
        self._dali_names = dali_names((*self._outputs_traced, *self._recorder.sinks))

    def _stored_settings(self) -> dict[str, Any]:
        """The settings that travel with the graph: the usual ones, and others that were changed."""
        always = ("batch_size", "num_threads", "device_id", "seed", "prefetch_queue_depth")
        stored = {name: getattr(self._settings, name) for name in always}
        for name in _TRAVELLING:
            value = getattr(self._settings, name)
            if value != getattr(Settings, name):
                stored[name] = tuple(value) if isinstance(value, list) else value
        stored["executor_flags"] = self._settings.executor_flags
        return {name: value for name, value in stored.items() if value is not None}

    def build(self, define_graph: Callable[[], Any] | None = None) -> None:
        """Verify the graph and prepare to run it; done by the first run where it was not called.

        Raises
        ------
        GraphError
            With the node, the argument and the line at fault.
        """
        if self._closed:
            raise RuntimeError("the pipeline is closed")
        if self._runner is not None:
            return
        if define_graph is not None:
            self._trace(define_graph)
        graph = complete(self.graph)
        if self._settings.batch_size is None:
            raise ArgumentError("must be given", argument="batch_size", origin=user_line())
        if self._for_serialization:
            raise ArgumentError(
                "Pipeline created with `num_threads` < 1 can only be used for serialization."
                " Left out, it is the number of cores, up to 4",
                argument="num_threads",
            )
        verify(graph)
        warn_of_unused_outputs(graph)
        device = choose_device(graph, self._settings.gpu, self._settings.device_id or 0)
        self._outputs_on_gpu = [output_on_gpu(graph, edge) for edge in graph.outputs]
        seeds = graph_seeds(graph, self._seed)
        self._runner = Runner(
            graph,
            self._settings,
            seeds,
            device,
            self._saved(graph),
            self._recorder.recording,
            self._dali_names,
        )
        self._fill_queue = True

    @property
    def _py_pool(self) -> WorkerPool | None:
        """The processes of parallel external sources, under the name that programs find them by in NVIDIA DALI."""
        return None if self._runner is None else self._runner.workers

    def start_py_workers(self) -> None:
        """Start the processes of parallel external sources, which :meth:`build` does too."""
        self.build()

    def _built(self) -> Runner:
        if self._runner is None or self._closed:
            self.build()
        assert self._runner is not None
        return self._runner

    # -- running ------------------------------------------------------------------------------------------------

    def run(self, cuda_stream: object = None, /, **pipeline_inputs: object) -> tuple[TensorList, ...]:
        """Run one batch, keeping others ahead of it.

        Parameters
        ----------
        cuda_stream
            The stream that the outputs are for; work is complete when they are returned.
        **pipeline_inputs
            Batches for inputs by their names, as with :meth:`feed_input`.

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
        self._built()
        for name, data in pipeline_inputs.items():
            self.feed_input(name, data)
        with self._check_api_type_scope(dtypes.PipelineAPIType.BASIC):
            self.schedule_run()
            return self.outputs(cuda_stream)

    def schedule_run(self) -> None:
        """Start the next batch without waiting for it; the first time, as many as are kept ahead."""
        runner = self._built()
        with self._check_api_type_scope(dtypes.PipelineAPIType.SCHEDULED):
            each = None if type(self).iter_setup is Pipeline.iter_setup else self.iter_setup
            # The queue is filled at first, and again after batches that had to wait for their input.
            wanted = max(1, self._settings.ahead - runner.in_flight) if self._fill_queue else 1
            started = 0
            while started < wanted and runner.schedule(each):
                started += 1
            self._fill_queue = started < wanted

    _run_once = _run = schedule_run  # names of older releases

    def _prefetch(self) -> None:
        """Start missing batches of those kept ahead; iterators of programs call it before each batch."""
        if self._built().in_flight < self._settings.ahead:
            self._fill_queue = True
            self.schedule_run()

    def share_outputs(self, cuda_stream: object = None) -> tuple[TensorList, ...]:
        """Wait for the oldest batch in flight and return it.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        runner = self._built()
        with self._check_api_type_scope(dtypes.PipelineAPIType.SCHEDULED):
            kinds = (TensorListGPU if on_gpu else TensorListCPU for on_gpu in self._outputs_on_gpu)
            return tuple(kind(batch) for kind, batch in zip(kinds, runner.take(), strict=True))

    def outputs(self, cuda_stream: object = None) -> tuple[TensorList, ...]:
        """Release the batch taken before, and take the oldest in flight."""
        return self.share_outputs(cuda_stream)

    def release_outputs(self) -> None:
        """Give the last batch back; outputs own their memory here, so those that are still held stay valid."""
        with self._check_api_type_scope(dtypes.PipelineAPIType.SCHEDULED):
            self._built()

    _share_outputs, _release_outputs, _outputs = share_outputs, release_outputs, outputs  # names of older releases

    def iter_setup(self) -> None:
        """For subclasses: feed the inputs of the next batch, or raise :class:`StopIteration`."""

    def feed_input(
        self,
        data_node: DataNode | str,
        data: object,
        layout: str | None = None,
        cuda_stream: object = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Hand a batch to an external source that has no source of its own.

        Parameters
        ----------
        data_node
            The node, or its name.
        data
            An array whose first dimension counts the samples, a list of arrays, or a :class:`TensorList`; NumPy arrays,
            torch tensors, anything with an array or DLPack interface.
        layout
            Layout of a sample.
        cuda_stream
            Stream on which data in GPU memory was made, by its handle or as an object of CuPy or PyTorch.
        use_copy_kernel
            NVIDIA DALI's choice between two ways to copy; without effect.

        Raises
        ------
        KeyError
            If there is no such input; the message names those that there are.
        """
        self._feed(data_node, data, layout, cuda_stream)

    def _feed(self, data_node: DataNode | str, data: object, layout: str | None, cuda_stream: object) -> None:
        self._input(data_node).feed(data, layout, self._settings.batch_size, cuda_stream)

    def input_feed_count(self, input_name: str) -> int:
        """Batches to feed to an input before the first run, so that none has to wait.

        Raises
        ------
        KeyError
            If there is no such input; the message names those that there are.
        """
        self._input(input_name)
        return self._settings.ahead

    def _input(self, data_node: DataNode | str) -> Source:
        """The source of an input."""
        runner = self._built()
        if not isinstance(data_node, (str, DataNode)):
            message = (
                f'The name of an input, or its node of type "DataNode", is wanted, not "{type(data_node).__name__}"'
            )
            raise TypeError(message)
        name = data_node if isinstance(data_node, str) else data_node.source.placed
        nodes = runner.graph.nodes
        inputs = {name: source for name, source in runner.sources.items() if find_operator(nodes[name].op).fed}
        if name not in inputs:
            what = name or repr(data_node)
            known = f"; inputs: {', '.join(inputs) or 'none'}"
            raise KeyError(f'Could not find an input operator with name "{what}"{nearest(what, inputs)}{known}')
        return inputs[name]

    def reset(self) -> None:
        """Begin the next epoch after a :class:`StopIteration`; before one, nothing happens."""
        if self._runner is not None and self._runner.reset():
            self._fill_queue = True

    def empty(self) -> bool:
        """Whether no batch is in flight."""
        return self._runner is None or self._runner.in_flight == 0

    def close(self) -> None:
        """Stop all work and give up threads and processes; can be called again."""
        self._closed = True
        if self._runner is not None:
            self._runner.close()

    def __del__(self) -> None:
        runner = self.__dict__.get("_runner")
        # As the interpreter ends, all threads have: see where `atexit` is used.
        if runner is not None and not sys.is_finalizing():
            # The caller may hold a lock that a thread needs: so the wait has a limit.
            runner.close(timeout=1.0)
