"""Pipelines in TensorFlow: a ``tf.data.Dataset`` (with inputs: :mod:`experimental`), and operations for sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dali_lab.model.extras import importing

with importing("tensorflow", "'dali-lab[tensorflow]'"):
    import tensorflow

    from dali_lab.interop.tensorflow.dataset import DALIDataset
    from dali_lab.interop.tensorflow.iterators import iterator, raw_iterator
    from dali_lab.interop.tensorflow.runs import serialize_pipeline
    from dali_lab.plugin.tf import experimental

__all__ = [
    "DALIDataset",
    "DALIIterator",
    "DALIIteratorWrapper",
    "DALIRawIterator",
    "dataset_compatible_tensorflow",
    "dataset_distributed_compatible_tensorflow",
    "dataset_inputs_compatible_tensorflow",
    "experimental",
    "serialize_pipeline",
]

DALIIteratorWrapper = iterator


def DALIIterator() -> Callable[..., list[Any]]:  # noqa: N802
    """The function :func:`DALIIteratorWrapper`, as programs ask for it."""
    return iterator


def DALIRawIterator() -> Callable[..., list[Any]]:  # noqa: N802
    """The function that takes a serialized pipeline and gives sparse outputs in parts; see `raw_iterator`."""
    return raw_iterator


def dataset_compatible_tensorflow() -> bool:
    """Whether this TensorFlow has what :class:`DALIDataset` needs."""
    return int(tensorflow.__version__.split(".")[0]) >= 2


dataset_inputs_compatible_tensorflow = dataset_compatible_tensorflow
dataset_distributed_compatible_tensorflow = dataset_compatible_tensorflow
