"""Runs of a pipeline for TensorFlow: its batches as arrays of the types and shapes that were declared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from dali_lab.graph.graph import Graph
from dali_lab.model.errors import DaliLabError
from dali_lab.model.tensor_list import TensorList, TensorListGPU
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator

Array = npt.NDArray[Any]

NOT_SERIALIZABLE = (
    "Error during pipeline initialization. Note that some operators (e.g. Python Operators) cannot be used with"
    " TensorFlow Dataset API and DALIIterator."
)


class OutputError(DaliLabError, ValueError):
    """An output of a pipeline that does not fit what was declared for TensorFlow."""


def serialize_pipeline(pipeline: Pipeline) -> bytes:
    """A pipeline in NVIDIA DALI's serialized form.

    Parameters
    ----------
    pipeline
        Whose graph is written. External sources are written without their Python source.

    Raises
    ------
    RuntimeError
        If it has an operator that runs a Python function, or cannot be written for another reason.
    """
    refuse_python_functions(pipeline.graph)
    try:
        return pipeline.serialize()
    except RuntimeError as error:
        raise RuntimeError(f"{NOT_SERIALIZABLE} {error}") from error


def refuse_python_functions(graph: Graph) -> None:
    """Refuse graphs with operators that run Python functions, as NVIDIA DALI does.

    Raises
    ------
    RuntimeError
        With the node, and what to do.
    """
    for name, node in graph.nodes.items():
        operator = find_operator(node.op)
        if operator.python_objects and not operator.fed:
            raise RuntimeError(
                f"{NOT_SERIALIZABLE} '{name}' ({node.op}) runs a Python function; call it by Dataset.map behind the"
                " pipeline instead"
            )


@dataclass(frozen=True)
class InputDescription:
    """An input of a run: its external source, the layout of its samples, and whether it comes in batches."""

    name: str
    layout: str | None
    batched: bool


@dataclass(frozen=True)
class Recipe:
    """The settings that a run of a pipeline is made from.

    Attributes
    ----------
    graph
        What is run.
    settings
        Arguments of :class:`dali_lab.Pipeline` that replace those of the graph.
    convert
        Makes arrays of the outputs of a batch.
    inputs
        Inputs that are handed to each step, in this order.
    """

    graph: Graph
    settings: Mapping[str, object]
    convert: Callable[[Sequence[Any]], list[Array]]
    inputs: tuple[InputDescription, ...] = field(default=())


class Run:
    """A run of a pipeline: one batch a call, of its inputs if it has any."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        settings = dict(recipe.settings)
        if recipe.inputs:
            # Each step hands over the input of one batch and waits for it; tf.data keeps batches ahead.
            settings.update(prefetch_queue_depth=1, exec_pipelined=False, exec_async=False)
        self._pipeline = Pipeline.from_graph(recipe.graph, **settings)

    def step(self, inputs: Sequence[Any]) -> list[Array]:
        """The arrays of the next batch.

        Raises
        ------
        StopIteration
            At the end of the data.
        OutputError
            If an output is not of the declared type and shape.
        """
        for description, batch in zip(self._recipe.inputs, inputs, strict=True):
            self._pipeline.feed_input(description.name, batch, layout=description.layout)
        return self._recipe.convert(self._pipeline.run())

    def close(self) -> None:
        """Stop the pipeline."""
        self._pipeline.close()


def dense(index: int, output: TensorList) -> Array:
    """The samples of an output as one array.

    Raises
    ------
    OutputError
        If their shapes differ.
    """
    if not output.is_dense_tensor():
        raise OutputError(
            f"Batch output at index '{index}' from DALI pipeline is not uniform - individual samples have different"
            " shapes. This output cannot be represented as single, dense Tensor, which is required by TensorFlow."
            " Ensure that all the samples that you produce in given batch have equal shape, by fn.resize or fn.pad for"
            f" example. Got shapes: {output.shape()}"
        )
    array: Array = output.as_cpu().as_array()
    return array


def fitting(index: int, array: Array, wanted: tf.TensorShape, batch_size: int) -> Array:
    """A batch in the declared shape, for which dimensions of 1 may be left out.

    Raises
    ------
    OutputError
        If the shapes do not fit, or fit in several ways.
    """
    if wanted.is_compatible_with(array.shape):
        return array
    told = f"Expected (output_shapes[{index}]): {wanted}, got from Pipeline: {list(array.shape)}."
    start = f"The shape provided for output `{index}` is not compatible with"
    if wanted.rank >= array.ndim:
        raise OutputError(f"{start} the shape returned by DALI Pipeline. {told}")
    if batch_size != 1 and not wanted[:1].is_compatible_with([batch_size]):
        raise OutputError(
            f"{start} the `batch_size` argument that was specified in `DALIDataset`. Specified `batch_size`:"
            f" {batch_size}, got: {wanted[0]} in shape: {wanted}."
        )
    ones = [axis for axis, extent in enumerate(array.shape) if extent == 1]
    shapes = {
        tuple(extent for axis, extent in enumerate(array.shape) if axis not in dropped)
        for dropped in itertools.combinations(ones, array.ndim - wanted.rank)
    }
    found = [shape for shape in shapes if wanted.is_compatible_with(shape)]
    if len(found) != 1:
        raise OutputError(
            f"{start} the shape returned by DALI Pipeline in an unambiguous way: dimensions of 1 can be left out in"
            f" {len(found)} ways that fit. {told}"
        )
    return array.reshape(found[0])


def of_declared_type(index: int, array: Array, wanted: tf.DType) -> Array:
    """A batch, which must have the declared type.

    Raises
    ------
    OutputError
        If it has another one.
    """
    found = tf.dtypes.as_dtype(array.dtype)
    if found != wanted:
        raise OutputError(
            f"The type provided for output `{index}` is not compatible with the type returned by DALI Pipeline."
            f" Expected (output_types[{index}]): {wanted.name}, got from Pipeline: {found.name}."
        )
    return array


def on_a_gpu(output: object) -> bool:
    """Whether the samples are in the memory of a GPU, rather than placed there in the graph alone."""
    return isinstance(output, TensorListGPU) and len(output) > 0 and output[0].__dlpack_device__()[0] != 1


def sparse_parts(output: TensorList) -> tuple[Array, Array, Array]:
    """The samples of an output as the parts of one sparse tensor.

    Returns
    -------
    indices
        ``int64[elements, dimensions]``: the sample, and the place in it. A last dimension of 1 is left out, and samples
        with fewer dimensions than others have zeros before.
    values
        All elements, in order.
    dense_shape
        ``int64[dimensions]``, large enough for all samples.
    """
    samples = [np.asarray(sample) for sample in output.as_cpu()]
    shapes = [sample.shape[:-1] if sample.shape[-1:] == (1,) else sample.shape for sample in samples]
    ndim = max((len(shape) for shape in shapes), default=0)
    shapes = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    places = [
        np.column_stack([np.full(sample.size, index), *(axis.ravel() for axis in np.indices(shape))])
        for index, (sample, shape) in enumerate(zip(samples, shapes, strict=True))
    ]
    extents = np.max(np.array(shapes, np.int64).reshape(len(shapes), ndim), axis=0, initial=0)
    return (
        np.concatenate([np.zeros((0, 1 + ndim), np.int64), *places]),
        np.concatenate([sample.ravel() for sample in samples]) if samples else np.zeros(0, np.float32),
        np.array([len(samples), *extents.tolist()], np.int64),
    )
