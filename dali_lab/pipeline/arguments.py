"""Types of the keyword arguments of pipelines, for functions that pass them on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from dali_lab.executor.bad_samples import OnError
from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy


class PipelineArguments(TypedDict, total=False):
    """Keyword arguments of :class:`~dali_lab.pipeline.pipeline.Pipeline`; a test compares the names."""

    batch_size: int | None
    num_threads: int | None
    device_id: int | None
    seed: int | None
    exec_pipelined: bool
    prefetch_queue_depth: int | Mapping[str, int]
    exec_async: bool
    bytes_per_sample: int
    set_affinity: bool
    max_streams: int | None
    default_cuda_stream_priority: int | None
    enable_memory_stats: bool
    enable_checkpointing: bool
    checkpoint: str | bytes | Sequence[str | bytes] | None
    py_num_workers: int
    py_start_method: str
    py_callback_pickler: Any
    output_dtype: Any
    output_ndim: Any
    output_layout: Any
    exec_dynamic: bool | None
    experimental_exec_dynamic: bool | None
    stream_policy: StreamPolicy | None
    concurrency: OperatorConcurrency | None
    gpu: str | None
    optimize: bool
    on_error: OnError
    max_error_rate: float
    cache: str | os.PathLike[str]
    cache_limit: int | None
    cache_at: str | None
    cache_epochs: int | None
    cache_checksum: bool
