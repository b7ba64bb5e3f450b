"""Pipelines as ``tf.data.Dataset``."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dali_lab.interop.signatures import with_parameters_of
from dali_lab.interop.tensorflow import inputs as incoming
from dali_lab.interop.tensorflow.runs import (
    Array,
    OutputError,
    Recipe,
    Run,
    dense,
    fitting,
    of_declared_type,
    on_a_gpu,
    refuse_python_functions,
)
from dali_lab.model.user_code import user_stacklevel
from dali_lab.pipeline.pipeline import Pipeline

_runs: dict[int, Run] = {}
"""Runs of the iterators that are alive; operations of TensorFlow know them by number."""
_numbers = itertools.count()


class DALIDatasetWithInputs(tf.data.Dataset):  # type: ignore[misc]
    """A ``tf.data.Dataset`` over a pipeline, whose external sources get other datasets.

    Every iterator runs a pipeline of its own, from the beginning of the data, and closes it when it is dropped. Without
    external sources a dataset has no end: give ``steps_per_epoch`` to Keras, or use ``take``.

    Parameters
    ----------
    pipeline
        What computes the batches.
    output_dtypes
        A ``tf.DType``, or a tuple of them: one for each output.
    output_shapes
        A shape, or a tuple of shapes; unknown extents are `None`. The batch is the first dimension. Dimensions of 1,
        also that of a batch of one sample, can be left out; the batches are squeezed then.
    fail_on_device_mismatch
        Refuse outputs in the memory of a GPU where the dataset is placed on the CPU; otherwise they are copied. Nodes
        placed on ``"gpu"`` that run on the CPU, because there is no GPU, are no mismatch.
    input_datasets
        A dictionary from the names of external sources to datasets of samples, or to
        :class:`~dali_lab.plugin.tf.experimental.Input`, which says the layout and whether the elements are batches.
        Sources of Python stay as they are.
    batch_size, num_threads, device_id, exec_separated, exec_dynamic, prefetch_queue_depth, cpu_prefetch_queue_depth, \
gpu_prefetch_queue_depth
        As in :class:`dali_lab.Pipeline`, in place of the settings of `pipeline`.
    dtypes, shapes
        Older than `output_dtypes` and `output_shapes`.

    Raises
    ------
    TypeError, ValueError
        If types, shapes or inputs do not fit together or the pipeline.
    RuntimeError
        If the pipeline runs Python functions.
    tf.errors.InvalidArgumentError
        In an iterator, if a batch does not have the declared types and shapes.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        output_dtypes: tf.DType | tuple[tf.DType, ...] | None = None,
        output_shapes: Any = None,
        fail_on_device_mismatch: bool = True,
        *,
        input_datasets: object = None,
        batch_size: int = 1,
        num_threads: int = 4,
        device_id: int | None = 0,
        exec_separated: bool = False,
        exec_dynamic: bool = False,
        prefetch_queue_depth: int = 2,
        cpu_prefetch_queue_depth: int = 2,
        gpu_prefetch_queue_depth: int = 2,
        dtypes: Any = None,
        shapes: Any = None,
    ) -> None:
        types = _declared_types(_renamed("dtypes", output_dtypes, dtypes))
        extents = _declared_shapes(_renamed("shapes", output_shapes, shapes), types)
        types = types if isinstance(types, tuple) else (types,)
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"takes a pipeline, got {type(pipeline).__name__}")
        refuse_python_functions(pipeline.graph)
        given = incoming.assigned(pipeline, input_datasets)
        depth: object = prefetch_queue_depth
        if exec_separated:
            depth = {"cpu_size": cpu_prefetch_queue_depth, "gpu_size": gpu_prefetch_queue_depth}
        settings: dict[str, object] = {
            "batch_size": batch_size,
            "num_threads": num_threads,
            "device_id": device_id,
            "prefetch_queue_depth": depth,
            "exec_dynamic": False if exec_separated else None,
        }
        here = tf.zeros([]).device
        refuse_gpu = fail_on_device_mismatch and "GPU" not in here.upper()

        def convert(outputs: Sequence[Any]) -> list[Array]:
            if len(outputs) != len(types):
                raise OutputError(
                    f"the pipeline has {len(outputs)} outputs, and `output_dtypes` has types for {len(types)}"
                )
            arrays = []
            for index, (output, kind, shape) in enumerate(zip(outputs, types, extents, strict=True)):
                if refuse_gpu and on_a_gpu(output):
                    raise OutputError(
                        "TF device and DALI device mismatch. TF device: CPU, DALI device: GPU for output"
                        f" {index}; say fail_on_device_mismatch=False to have it copied"
                    )
                array = fitting(index, dense(index, output), shape, batch_size)
                arrays.append(of_declared_type(index, array, kind))
            return arrays

        recipe = Recipe(pipeline.graph, settings, convert, tuple(description for description, _ in given))
        sources = [
            incoming.batches(description.name, dataset, description.batched, batch_size)
            for description, dataset in given
        ]
        ahead = max(1, prefetch_queue_depth) if sources else 0
        self._structure = tuple(tf.TensorSpec(*each) for each in zip(extents, types, strict=True))
        endless = not incoming.has_external_source(pipeline)
        self._rows = _rows(recipe, sources, types, extents, ahead, endless)
        super().__init__(self._rows._variant_tensor)

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._rows]

    @property
    def element_spec(self) -> tuple[tf.TensorSpec, ...]:
        """Shapes and types of a batch: a tuple with one for each output."""
        return self._structure


class DALIDataset(DALIDatasetWithInputs):
    """A ``tf.data.Dataset`` over a pipeline without external sources.

    It takes the arguments of :class:`~dali_lab.plugin.tf.experimental.DALIDatasetWithInputs`.

    Raises
    ------
    TypeError
        If `input_datasets` is given.
    ValueError
        If the pipeline has an external source.
    """

    @with_parameters_of(DALIDatasetWithInputs.__init__)
    def __init__(self, pipeline: Pipeline, **settings: Any) -> None:
        if settings.get("input_datasets") is not None:
            raise TypeError(
                "got an unexpected keyword argument 'input_datasets'. Dataset inputs are allowed only in"
                " 'experimental.DALIDatasetWithInputs'."
            )
        if isinstance(pipeline, Pipeline) and incoming.has_external_source(pipeline):
            raise ValueError(
                "DALIDataset got a DALI pipeline containing External Source operator nodes. External Source nodes can"
                " be used to express placeholders for tf.data.Dataset inputs to DALI or to run user-provided Python"
                " code via `source` parameter. Support for Dataset inputs and External Source's `source` is allowed"
                " only in 'experimental.DALIDatasetWithInputs'."
            )
        super().__init__(pipeline, **settings)


def _rows(
    recipe: Recipe,
    sources: list[tf.data.Dataset],
    types: tuple[tf.DType, ...],
    shapes: Sequence[tf.TensorShape],
    ahead: int,
    endless: bool,
) -> tf.data.Dataset:
    """The dataset that does the work: each of its iterators makes a run, and drops it when it is dropped itself."""

    def numbers() -> Iterator[int]:
        number = next(_numbers)
        _runs[number] = run = Run(recipe)
        try:
            while True:
                yield number
        finally:
            _runs.pop(number, None)
            run.close()

    def step(number: Any, *parts: Any) -> list[Any]:
        remaining = iter(parts)
        given = [incoming.unpacked(list(itertools.islice(remaining, count))) for count in counts]
        try:
            return [np.bool_(True), *_runs[int(number)].step(given)]
        except StopIteration:
            return [np.bool_(False), *(np.zeros(0, kind.as_numpy_dtype) for kind in types)]

    def call(number: tf.Tensor, *elements: Any) -> tuple[tf.Tensor, ...]:
        return tuple(tf.numpy_function(step, [number, *tf.nest.flatten(elements)], [tf.bool, *types]))

    def shaped(_: tf.Tensor, *outputs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        for output, shape in zip(outputs, shapes, strict=True):
            output.set_shape(shape)
        return outputs

    counts = [len(tf.nest.flatten(source.element_spec)) for source in sources]
    tokens = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64))
    plain = tf.autograph.experimental.do_not_convert
    rows = tf.data.Dataset.zip((tokens, *sources)).map(plain(call))
    rows = rows.take_while(plain(lambda more, *_: more)).map(plain(shaped))
    if ahead:
        rows = rows.prefetch(ahead)
    if endless:
        rows = rows.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return rows.with_options(options)


def _renamed(name: str, value: Any, older: Any) -> Any:
    """The value of an argument that was renamed."""
    if older is None:
        return value
    if value is not None:
        raise ValueError(
            f"Usage of `{name}` is deprecated in favor of `output_{name}`. Both arguments were provided, but only"
            f" `output_{name}` should be provided."
        )
    warnings.warn(
        f"Use of argument `{name}` is deprecated. Please use `output_{name}` instead. `output_{name}` should be"
        " provided as a tuple or a single value.",
        DeprecationWarning,
        stacklevel=user_stacklevel(),
    )
    return tuple(older) if isinstance(older, list) else older


def _declared_types(types: object) -> Any:
    every = types if isinstance(types, tuple) else (types,)
    if not every or not all(isinstance(kind, tf.DType) for kind in every):
        raise TypeError(
            "`output_dtypes` should be provided as single tf.DType value or a tuple of tf.DType values. Got value"
            f" `{types}` of the type `{type(types)}`."
        )
    return types


def _declared_shapes(shapes: Any, types: Any) -> list[tf.TensorShape]:
    if not isinstance(types, tuple):
        return [tf.TensorShape(shapes)]
    if shapes is None:
        return [tf.TensorShape(None)] * len(types)
    if not isinstance(shapes, (tuple, list)):
        raise TypeError(f"`output_shapes` should be a tuple with a shape for each of {len(types)} types, got {shapes}")
    if len(shapes) != len(types):
        raise ValueError(
            "The two structures don't have the same sequence length. `output_shapes` has length"
            f" {len(shapes)}, while `output_dtypes` has length {len(types)}."
        )
    return [tf.TensorShape(shape) for shape in shapes]
