"""Answers of a pipeline about itself: settings, outputs, readers, use of time and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

from dali_lab.executor.bad_samples import BadSample, OnError
from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy
from dali_lab.executor.runner import Runner
from dali_lab.executor.settings import Settings
from dali_lab.graph.graph import Graph
from dali_lab.model import dtypes
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import GraphError, nearest
from dali_lab.model.user_code import render_in_cells


def _answer(path: str, description: str) -> Any:
    """A property that gives a value of the pipeline, by its path from it."""
    return property(attrgetter(path), doc=description)


def _constant(value: object, description: str) -> Any:
    return property(lambda pipeline: value, doc=description)


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

    batch_size = max_batch_size  # the older name
    num_threads: int = _answer("_settings.threads", "CPU threads.")
    _num_threads = num_threads
    device_id: int | None = _answer("_settings.device_id", "The GPU, or `None`.")
    seed: int = _answer("_seed", "The seed in use.")
    exec_pipelined: bool = _answer("_settings.exec_pipelined", "Whether batches are kept ahead.")
    exec_async: bool = _answer("_settings.exec_async", "As it was given; work is always done by other threads.")
    exec_dynamic: bool = _answer(
        "_settings.dynamic", "As NVIDIA DALI answers; outputs own their memory in either case."
    )
    exec_separated: bool = _answer("_settings.separated", "Whether depths for CPU and GPU were given apart.")
    prefetch_queue_depth: int | Mapping[str, int] = _answer(
        "_settings.prefetch_queue_depth", "Batches kept ahead, as it was given."
    )
    on_error: OnError = _answer("_settings.on_error", "The answer to samples that fail.")
    max_error_rate: float = _answer("_settings.max_error_rate", "The largest share of bad samples.")
    cache: str = _answer("_settings.cache", "Where results are kept that are the same in every epoch.")
    cache_limit: int | None = _answer("_settings.cache_limit", "Most bytes of the cache.")
    cache_at: str | None = _answer("_settings.cache_at", "The node whose results are kept.")
    cache_epochs: int | None = _answer("_settings.cache_epochs", "Epochs within which keeping results has to pay.")
    cache_checksum: bool = _answer("_settings.cache_checksum", "Whether files are told apart by what they hold.")
    enable_memory_stats: bool = _answer("_settings.enable_memory_stats", "Whether sizes of outputs are noted.")
    enable_checkpointing: bool = _answer("_settings.enable_checkpointing", "Whether checkpoints can be taken.")
    _enable_checkpointing = enable_checkpointing
    py_num_workers: int = _answer("_settings.py_num_workers", "Processes of parallel external sources.")
    py_start_method: str = _answer("_settings.py_start_method", "How these processes start.")
    stream_policy: StreamPolicy | None = _answer(
        "_settings.stream_policy", "As it was given; without effect, as streams are ordered by events."
    )
    concurrency: OperatorConcurrency | None = _answer(
        "_settings.concurrency", "As it was given; without effect, as independent operators always run side by side."
    )
    set_affinity: bool = _constant(False, "Always false: threads are not bound to cores.")
    max_streams: int = _constant(-1, "Always −1; deprecated in NVIDIA DALI.")
    default_cuda_stream_priority: int = _constant(0, "Always 0; deprecated in NVIDIA DALI.")

    @property
    def cpu_queue_size(self) -> int:
        """Batches kept ahead on the CPU."""
        return self._settings.depths[0]

    @property
    def gpu_queue_size(self) -> int:
        """Batches kept ahead on the GPU."""
        return self._settings.depths[1]

    @property
    def bad_samples(self) -> list[BadSample]:
        """The bad samples of the batches that were taken, the latest 10,000 of them, oldest first."""
        return [] if self._runner is None else list(self._runner.bad_samples.records)

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

    def _reader_node(self, name: str) -> str | None:
        """The node of a reader by its name, which may be the one that NVIDIA DALI makes up."""
        sources = self._built().sources
        return name if name in sources else next((n for n in sources if self._dali_names.get(n) == name), None)

    def _reader_start(self, name: str) -> tuple[int, list[int]]:
        """Shard of a reader, and the place in its epochs of the next batch to be taken."""
        state = self._built().checkpoint().sources[self._reader_node(name) or name]
        start = state["epoch_start"] if "epoch_start" in state else [*state["then"], 0]
        return int(self.reader_meta(name)["shard_id"]), start

    @property
    def _in_rest(self) -> bool:
        """Whether a reader goes on with the rest of an epoch that another number of processes began."""
        return any(getattr(source, "in_rest", False) for source in self._built().sources.values())

    @overload
    def reader_meta(self, name: None = None) -> dict[str, dict[str, int]]: ...
    @overload
    def reader_meta(self, name: str) -> dict[str, int]: ...
    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Size and shard of a reader, or of all readers by their names.

        A reader without a name has the one that NVIDIA DALI makes up, such as ``__File_0``.

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
                f"Operator {name} not found or does not expose valid metadata{nearest(name, found)};"
                f" readers: {', '.join(found) or 'none'}"
            )
        return found[name]

    @overload
    def epoch_size(self, name: None = None) -> dict[str, int]: ...
    @overload
    def epoch_size(self, name: str) -> int: ...
    def epoch_size(self, name: str | None = None) -> int | dict[str, int]:
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

    @contextmanager
    def _check_api_type_scope(self, kind: dtypes.PipelineAPIType) -> Iterator[None]:
        """Let the methods of one way of running call each other, while users may not mix the ways."""
        if not self._skip_api_check:
            if self._api_type is None:
                self._api_type = kind
            if kind is not self._api_type:
                raise RuntimeError(
                    f"Mixing pipeline API type. Currently used: {self._api_type}, but trying to use {kind}:"
                    " a pipeline is run by one kind of calls"
                )
        before, self._skip_api_check = self._skip_api_check, True
        try:
            yield
        except KeyboardInterrupt as error:
            render_in_cells(error)
            raise
        finally:
            self._skip_api_check = before
