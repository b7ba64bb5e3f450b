"""What a pipeline tells about itself: its settings, its outputs, its readers, its use of time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dali_lab.model import dtypes
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import GraphError, nearest

if TYPE_CHECKING:
    from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy
    from dali_lab.executor.runner import Runner
    from dali_lab.executor.settings import Settings
    from dali_lab.graph.graph import Graph


class _ApiScope:
    """Lets the methods of one way of running call each other, while users may not mix the ways."""

    def __init__(self, pipeline: PipelineReport) -> None:
        self._pipeline = pipeline
        self._before = pipeline._skip_api_check

    def __enter__(self) -> None:
        self._pipeline._skip_api_check = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipeline._skip_api_check = self._before


class PipelineReport:
    """The side of :class:`dali_lab.Pipeline` that only answers."""

    _settings: Settings
    _seed: int
    _runner: Runner | None
    _dali_names: dict[str, str]
    _api_type: dtypes.PipelineAPIType | None
    _skip_api_check: bool

    if TYPE_CHECKING:

        @property
        def graph(self) -> Graph: ...
        def _built(self) -> Runner: ...

    @property
    def max_batch_size(self) -> int:
        """Largest number of samples in a batch, or −1 if it was not given."""
        return -1 if self._settings.batch_size is None else self._settings.batch_size

    @property
    def batch_size(self) -> int:
        """The older name of :attr:`max_batch_size`."""
        return self.max_batch_size

    @property
    def num_threads(self) -> int:
        """CPU threads."""
        return self._settings.threads

    @property
    def device_id(self) -> int | None:
        """The GPU, or `None`."""
        return self._settings.device_id

    @property
    def seed(self) -> int:
        """The seed in use."""
        return self._seed

    @property
    def exec_pipelined(self) -> bool:
        """Whether batches are kept ahead."""
        return self._settings.exec_pipelined

    @property
    def exec_async(self) -> bool:
        """As it was given; work is always done by other threads."""
        return self._settings.exec_async

    @property
    def exec_dynamic(self) -> bool:
        """As NVIDIA DALI answers; outputs own their memory in either case."""
        return self._settings.dynamic

    @property
    def exec_separated(self) -> bool:
        """Whether depths for CPU and GPU were given apart."""
        return self._settings.separated

    @property
    def prefetch_queue_depth(self) -> int | Mapping[str, int]:
        """Batches kept ahead, as it was given."""
        return self._settings.prefetch_queue_depth

    @property
    def cpu_queue_size(self) -> int:
        """Batches kept ahead on the CPU."""
        return self._settings.depths[0]

    @property
    def gpu_queue_size(self) -> int:
        """Batches kept ahead on the GPU."""
        return self._settings.depths[1]

    @property
    def enable_memory_stats(self) -> bool:
        """Whether sizes of outputs are noted."""
        return self._settings.enable_memory_stats

    @property
    def enable_checkpointing(self) -> bool:
        """Whether checkpoints can be taken."""
        return self._settings.enable_checkpointing

    @property
    def _enable_checkpointing(self) -> bool:
        return self._settings.enable_checkpointing

    @property
    def py_num_workers(self) -> int:
        """Processes of parallel external sources."""
        return self._settings.py_num_workers

    @property
    def py_start_method(self) -> str:
        """How these processes start."""
        return self._settings.py_start_method

    @property
    def set_affinity(self) -> bool:
        """Always false: threads are not bound to cores."""
        return False

    @property
    def stream_policy(self) -> StreamPolicy | None:
        """As it was given; without effect, as streams are ordered by events, whatever their number."""
        return self._settings.stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency | None:
        """As it was given; without effect, as independent operators always run side by side."""
        return self._settings.concurrency

    @property
    def max_streams(self) -> int:
        """Always −1; deprecated in NVIDIA DALI."""
        return -1

    @property
    def default_cuda_stream_priority(self) -> int:
        """Always 0; deprecated in NVIDIA DALI."""
        return 0

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline goes on from a checkpoint; known once it is built."""
        return self._runner is not None and self._runner.restored

    @property
    def _iterator_data(self) -> str:
        return self._built().state.iterator

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.graph.outputs)

    def output_dtype(self) -> list[DALIDataType | None]:
        """The dtype that each output is expected to have, or `None`."""
        return [dtype for dtype, _, _ in self._built().expected]

    def output_ndim(self) -> list[int | None]:
        """The number of dimensions that each output is expected to have, or `None`."""
        return [ndim for _, ndim, _ in self._built().expected]

    def output_layout(self) -> list[str | None]:
        """The layout that each output is expected to have, or `None`."""
        return [layout for _, _, layout in self._built().expected]

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Size and shard of a reader, or of all readers by their names: for one without a name that which NVIDIA DALI
        makes up, such as ``__File_0``.

        Returns
        -------
        dict
            ``epoch_size``, ``epoch_size_padded`` (to a multiple of the shards), ``number_of_shards``, ``shard_id``,
            ``pad_last_batch``, ``stick_to_shard``.

        Raises
        ------
        GraphError
            If there is no reader of this name.
        """
        found = {}
        for node, source in self._built().sources.items():
            meta = source.meta()
            if meta is not None:
                found[self._dali_names.get(node, node)] = dict(meta)
                if name == node:
                    return dict(meta)
        if name is None:
            return found
        if name not in found:
            raise GraphError(
                f"there is no reader '{name}'{nearest(name, found)}; readers: {', '.join(found) or 'none'}"
            )
        return found[name]

    def epoch_size(self, name: str | None = None) -> Any:
        """Samples in an epoch of a reader, padded to a multiple of the shards, or of all readers by their names."""
        if name is not None:
            return self.reader_meta(name)["epoch_size_padded"]
        return {reader: meta["epoch_size_padded"] for reader, meta in self.reader_meta().items()}

    def executor_statistics(self) -> dict[str, dict[str, Any]]:
        """Time and memory of each node.

        Returns
        -------
        dict
            By node: ``seconds`` (summed over threads) and ``samples``; for nodes that run on a GPU ``gpu_seconds``
            (from events, of what has run by now), ``gpu_memory`` (bytes of the largest batch) and ``gpu_launches``
            (kernels launched for the last batch); with `enable_memory_stats` also ``real_memory_size`` and
            ``reserved_memory_size`` (bytes of the largest batch, one entry for each output) and
            ``max_real_memory_size`` and ``max_reserved_memory_size`` (bytes of the largest sample).
        """
        engine = self._built().engine
        table: dict[str, dict[str, Any]] = {}
        for step in engine.plan.steps():
            name = step.node.id
            table[name] = {"seconds": engine.seconds.get(name, 0.0), "samples": engine.samples.get(name, 0)}
            if step.gpu and engine.device is not None:
                sizes = [size for edge, (size, _) in engine.device.memory.sizes.items() if edge.node == name]
                table[name].update(
                    gpu_seconds=engine.device.seconds().get(name, 0.0),
                    gpu_memory=sum(sizes),
                    gpu_launches=engine.device.launches.get(name, 0),
                )
            if engine.memory is None:
                continue
            pairs = [size for edge, size in sorted(engine.memory.items()) if edge.node == name]
            for key in ("real_memory_size", "reserved_memory_size"):
                table[name][key] = [total for total, _ in pairs]
                table[name][f"max_{key}"] = [largest for _, largest in pairs]
        return table

    def gpu_memory(self) -> dict[str, Any] | None:
        """Memory of the GPU that the pipeline runs on; `None` where it runs on the CPU.

        Returns
        -------
        dict or None
            Bytes: ``in_use`` by batches, ``held`` for them, ``peak`` in use, ``free`` and ``total`` of the device; and
            ``table``, a text with the size of each result, whether it was seen or follows from what operators declare,
            and how long it is kept; and ``transfers``, for each result that is copied between CPU and GPU
            ``(result, "gpu" or "cpu", bytes of the largest batch)``.
        """
        state = self._built().engine.device
        if state is None:
            return None
        arena = state.device.arena
        free, total = state.device.memory()
        return {
            "in_use": arena.in_use,
            "held": arena.held,
            "peak": arena.peak,
            "free": free,
            "total": total,
            "table": str(state.memory.table()),
            "transfers": [(str(edge), to, nbytes) for (edge, to), nbytes in state.transfers.items()],
        }

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Bytes of shared memory that parallel external sources hold: ``capacities`` and ``per_sample_capacities``."""
        workers = self._built().workers
        sizes = workers.shared_memory() if workers is not None else []
        return {"capacities": sizes, "per_sample_capacities": [size // self.max_batch_size for size in sizes]}

    def output_stream(self) -> None:
        """The stream that outputs are made on; `None`, as work is complete when outputs are returned."""
        self._built()

    def enable_api_check(self, enable: bool) -> None:
        """Whether mixing ``run``, ``schedule_run`` and iterators on one pipeline raises."""
        self._skip_api_check = not enable

    def _check_api_type_scope(self, kind: dtypes.PipelineAPIType) -> _ApiScope:
        if not self._skip_api_check:
            if self._api_type is None:
                self._api_type = kind
            if kind is not self._api_type:
                raise RuntimeError(
                    f"this pipeline is run by {self._api_type.name.lower()} calls, and cannot be run by"
                    f" {kind.name.lower()} ones as well"
                )
        return _ApiScope(self)
