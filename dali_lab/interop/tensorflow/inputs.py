"""Inputs of pipelines from datasets of TensorFlow: which external source gets which, and their batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from dali_lab.interop.tensorflow.runs import Array, InputDescription
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.external import cycle_mode
from dali_lab.schema.registry import find_operator

_TAKES = (
    "`input_datasets` must be a dictionary that maps input names (the `name` specified for External Source node in DALI"
    " pipeline) to input datasets objects (`tf.data.Dataset`) or `nvidia.dali.plugin.tf.experimental.Input` wrapper"
    " objects"
)


class Input:
    """An input of a dataset over a pipeline, with options.

    Parameters
    ----------
    dataset
        A ``tf.data.Dataset`` of tensors.
    layout
        Layout of a sample; by default the one that the external source has.
    batch
        Whether an element is a batch rather than a sample; `None` leaves it to the external source.

    Raises
    ------
    TypeError
        If `dataset` is something else.
    """

    def __init__(self, dataset: tf.data.Dataset, *, layout: str | None = None, batch: bool | None = False) -> None:
        if not isinstance(dataset, tf.data.Dataset):
            raise TypeError(
                "The inputs specified to DALIDataset must be instances of type `tf.data.Dataset` got:"
                f" `{dataset}` of type: {type(dataset)} instead."
            )
        self.dataset = dataset
        self.layout = layout
        self.batch = batch


def has_external_source(pipeline: Pipeline) -> bool:
    """Whether a pipeline takes data from outside of its graph."""
    return any(find_operator(node.op).fed for node in pipeline.graph.nodes.values())


def assigned(pipeline: Pipeline, given: object) -> list[tuple[InputDescription, tf.data.Dataset]]:
    """The inputs of a pipeline with their datasets.

    Parameters
    ----------
    given
        A mapping from names of external sources to datasets or :class:`Input`, or `None`.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If a source has no dataset, or a dataset no source.
    NotImplementedError
        If a source of Python has ``cycle="raise"``: a dataset has one epoch.
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise TypeError(f"{_TAKES}, got: `{given}` of type: {type(given)} instead.")
    graph = pipeline.graph
    sources = {name: node for name, node in graph.nodes.items() if find_operator(node.op).fed}
    places = {name for name, node in sources.items() if node.arguments.get("source") is None}
    for name, node in sources.items():
        if name in places and name in pipeline._dali_names:
            raise ValueError(
                "Found placeholder External Source node (without `source` argument) in the Pipeline that was not named"
                " (no `name` argument set). Only single-output (with `num_outputs=None`), named (with `name` argument"
                " specified) External Source nodes are supported as inputs placeholders for DALIDataset integration."
                " Alternatively, External Source can be used with `source` parameter specified."
                f" It was defined at {node.origin}"
            )
        if cycle_mode(node.arguments.get("cycle")) == "raise":
            raise NotImplementedError(
                f"External Source node: '{name}' got argument cycle='raise' which is not supported."
            )
    found = []
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(
                f"{_TAKES}. Expected the keys (representing the input names) to be of type `str`, got: `{name}` of"
                f" type: {type(name)} instead."
            )
        if not isinstance(value, (tf.data.Dataset, Input)):
            raise TypeError(
                f"{_TAKES}. Expected the values of the dictionary (representing the inputs) to be of type"
                f" `tf.data.Dataset` or `nvidia.dali.plugin.tf.Input` got: `{value}` of type: {type(value)} instead."
            )
        if name not in places:
            raise ValueError(
                "Did not find an External Source placeholder node with"
                f" name='{name}' in the provided pipeline - required by the name specified in the `input_datasets`."
                f" Names of available placeholder External Source nodes are: {sorted(places)}. Placeholder nodes cannot"
                " have `source` argument specified."
            )
        entry = value if isinstance(value, Input) else Input(value)
        declared = sources[name].arguments
        layout = entry.layout
        if layout is None and declared.get("layout"):
            layout = declared["layout"] if isinstance(declared["layout"], str) else declared["layout"][0]
        batched = entry.batch if entry.batch is not None else declared.get("batch")
        found.append((InputDescription(name, layout, batched is None or bool(batched)), entry.dataset))
    missing = sorted(places - set(given))
    if missing:
        raise ValueError(
            "Found External Source nodes in the Pipeline, that were not assigned any inputs. Nodes without inputs: \n"
            f"{missing}.\nNodes that were assigned inputs:\n{list(given)}."
        )
    return found


def batches(name: str, dataset: tf.data.Dataset, batched: bool, batch_size: int) -> tf.data.Dataset:
    """A dataset of batches from one of samples, without an incomplete last one, or from one of batches.

    Samples whose shape is not known beforehand are laid out flat and padded to one length, along with their shapes;
    :func:`unpacked` takes them apart.

    Raises
    ------
    tf.errors.InvalidArgumentError
        If an element has several tensors.
    """
    specs = tf.nest.flatten(dataset.element_spec)
    if len(specs) != 1:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"Got an example consisting of {len(specs)} elements for input: '{name}'. Only examples of 1 element are"
            " supported.",
        )
    tensors = dataset.map(lambda *element: tf.nest.flatten(element)[0])
    if batched:
        return tensors.map(lambda tensor: (tensor,))
    if specs[0].shape.is_fully_defined():
        return tensors.batch(batch_size, drop_remainder=True).map(lambda tensor: (tensor,))
    parts = tensors.map(lambda tensor: (tf.reshape(tensor, [-1]), tf.shape(tensor, tf.int64)))
    return parts.padded_batch(batch_size, ([None], [None]), drop_remainder=True)


def unpacked(parts: Sequence[Any]) -> Array | list[Array]:
    """A batch as :meth:`dali_lab.Pipeline.feed_input` takes it, from the tensors of an element of :func:`batches`."""
    if len(parts) == 1:
        return np.asarray(parts[0])
    flat, shapes = parts
    return [row[: int(np.prod(shape))].reshape(shape) for row, shape in zip(flat, shapes, strict=True)]
