"""Operations of TensorFlow that give a pipeline's next batch each time they run, for sessions above all."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from dali_lab.formats.dali import writer as dali_proto
from dali_lab.interop.tensorflow.runs import Array, OutputError, Recipe, Run, dense, serialize_pipeline, sparse_parts
from dali_lab.pipeline.pipeline import Pipeline

_open: dict[tuple[Any, ...], Run] = {}
"""Runs of operations called eagerly, by what they were called with: the same call goes on with the next batch."""


def raw_iterator(
    serialized_pipeline: bytes,
    shapes: Sequence[Any],
    dtypes: Sequence[tf.DType],
    sparse: Sequence[bool] = (),
    batch_size: int = -1,
    num_threads: int = -1,
    device_id: int | None = -1,
    exec_separated: bool = False,
    exec_dynamic: bool = False,
    gpu_prefetch_queue_depth: int = 2,
    cpu_prefetch_queue_depth: int = 2,
    enable_memory_stats: bool = False,
    name: str | None = None,
) -> list[tf.Tensor]:
    """Tensors of a pipeline's next batch, each time that they are evaluated.

    Parameters
    ----------
    serialized_pipeline
        A pipeline in NVIDIA DALI's serialized form.
    shapes, dtypes
        One for each tensor; an empty shape is not checked. A batch of another type is converted.
    sparse
        For each output whether it is given as three tensors: indices, values and dense shape.
    batch_size
        By default the first extent of the first shape.
    num_threads, device_id
        By default those of the pipeline.
    exec_separated, exec_dynamic, gpu_prefetch_queue_depth, cpu_prefetch_queue_depth
        As in :class:`dali_lab.plugin.tf.DALIDataset`.
    enable_memory_stats
        Without effect.
    name
        Name of the operation.

    Raises
    ------
    ValueError
        If there is no batch size.
    """
    types = tuple(tf.as_dtype(kind) for kind in dtypes)
    declared = [tf.TensorShape(shape) for shape in shapes]
    kinds = list(sparse)
    if batch_size is None or batch_size < 0:
        batch_size = _batch_size(declared)
    depth: object = gpu_prefetch_queue_depth
    if exec_separated:
        depth = {"cpu_size": cpu_prefetch_queue_depth, "gpu_size": gpu_prefetch_queue_depth}
    settings: dict[str, object] = {
        "batch_size": batch_size,
        "prefetch_queue_depth": depth,
        "exec_dynamic": False if exec_separated else None,
    }
    if num_threads > 0:
        settings["num_threads"] = num_threads
    if device_id is None or device_id >= 0:
        settings["device_id"] = device_id

    def convert(outputs: Sequence[Any]) -> list[Array]:
        arrays: list[Array] = []
        for index, output in enumerate(outputs):
            if index < len(kinds) and kinds[index]:
                arrays += sparse_parts(output)
            else:
                arrays.append(_as_declared(len(arrays), dense(index, output), declared))
        if len(arrays) != len(types):
            raise OutputError(f"the pipeline gives {len(arrays)} tensors, and `dtypes` has {len(types)}")
        return [array.astype(kind.as_numpy_dtype, copy=False) for array, kind in zip(arrays, types, strict=True)]

    graph, _ = dali_proto.read(serialized_pipeline)
    key = (serialized_pipeline, types, tuple(map(str, declared)), tuple(kinds), repr(settings))
    run = _open[key] if key in _open and tf.executing_eagerly() else Run(Recipe(graph, settings, convert))
    if tf.executing_eagerly():
        _open[key] = run
    tensors = tf.numpy_function(lambda: run.step(()), [], types, name=name)
    return [_shaped(tensor, shape) for tensor, shape in zip(tensors, [*declared, *[None] * len(types)], strict=False)]


def iterator(
    pipeline: Pipeline | None = None,
    serialized_pipeline: bytes | None = None,
    sparse: Sequence[bool] = (),
    shapes: Sequence[Any] = (),
    dtypes: Sequence[tf.DType] = (),
    batch_size: int = -1,
    prefetch_queue_depth: int | dict[str, int] = 2,
    exec_dynamic: bool | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Tensors of a pipeline's next batch, each time that they are evaluated: one for each output.

    Parameters
    ----------
    pipeline, serialized_pipeline
        A pipeline, or its serialized form.
    sparse
        For each output whether it is given as a ``tf.SparseTensor``.
    shapes, dtypes
        One for each output; an empty shape is not checked.
    batch_size
        By default the first extent of the first shape.
    prefetch_queue_depth
        Batches computed ahead, or ``{"cpu_size": …, "gpu_size": …}``.
    exec_dynamic
        As in :class:`dali_lab.Pipeline`.
    **kwargs
        ``num_threads``, ``device_id`` and others of :func:`DALIRawIterator`.

    Raises
    ------
    ValueError
        If neither `shapes` nor `batch_size` says how large a batch is, or the settings contradict each other.
    RuntimeError
        If the pipeline runs Python functions.
    """
    if len(shapes) == 0 and batch_size == -1:
        raise ValueError(
            "shapes and batch_size arguments cannot be empty, please provide at least one shape argument element with"
            " the BATCH size or set batch_size"
        )
    depth = prefetch_queue_depth
    if isinstance(depth, dict):
        if exec_dynamic:
            raise ValueError("separated queues need exec_dynamic=False")
        kwargs.update(exec_separated=True, cpu_prefetch_queue_depth=depth["cpu_size"])
        depth = depth["gpu_size"]
    if serialized_pipeline is None:
        if pipeline is None:
            raise ValueError("give either pipeline or serialized_pipeline")
        serialized_pipeline = serialize_pipeline(pipeline)
    if batch_size == -1:
        batch_size = _batch_size([tf.TensorShape(shape) for shape in shapes])
    is_sparse = [index < len(sparse) and bool(sparse[index]) for index in range(len(dtypes))]
    all_types: list[tf.DType] = []
    all_shapes: list[Any] = []
    for index, kind in enumerate(dtypes):
        all_types += [tf.int64, kind, tf.int64] if is_sparse[index] else [kind]
        all_shapes += [None] * 3 if is_sparse[index] else [shapes[index] if index < len(shapes) else None]
    tensors = iter(
        raw_iterator(
            serialized_pipeline,
            all_shapes,
            all_types,
            is_sparse,
            batch_size,
            gpu_prefetch_queue_depth=depth,
            exec_dynamic=bool(exec_dynamic),
            **kwargs,
        )
    )
    return [
        tf.SparseTensor(next(tensors), next(tensors), next(tensors)) if each else next(tensors) for each in is_sparse
    ]


def _batch_size(shapes: Sequence[tf.TensorShape]) -> int:
    first = shapes[0] if shapes else tf.TensorShape(None)
    if not first.rank or first[0] is None:
        raise ValueError(f"set batch_size, or the first extent of the first shape, which is {first}")
    return int(first[0])


def _as_declared(index: int, array: Array, declared: Sequence[tf.TensorShape]) -> Array:
    """A batch, which must have the declared shape if there is one."""
    shape = declared[index] if index < len(declared) else tf.TensorShape(None)
    if shape.rank and not shape.is_compatible_with(array.shape):
        raise OutputError(
            f"DALI pipeline output shape at {index} {list(array.shape)} != {shape} plugin `shapes` argument"
        )
    return array


def _shaped(tensor: tf.Tensor, shape: tf.TensorShape | None) -> tf.Tensor:
    if shape is not None and shape.rank:
        tensor.set_shape(shape)
    return tensor


@atexit.register
def _close_all() -> None:
    for run in _open.values():
        run.close()
