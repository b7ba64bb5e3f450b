"""Errors of a batch: adding their origin, and chunks that do not fit together."""

from __future__ import annotations

from collections.abc import Sequence

from dali_lab.graph.graph import Node
from dali_lab.model.batch import Batch
from dali_lab.model.errors import SampleError, UnlikeSampleError, as_ours


class Cancelled(Exception):
    """The result is no longer wanted."""


def explain(error: BaseException, node: Node, inputs: Sequence[Batch], start: int = 0) -> BaseException:
    """The error with the node, the user's line and the file of the failed sample added.

    `start` is the index in the batch of the first sample of `inputs`.
    """
    if isinstance(error, (StopIteration, Cancelled, KeyboardInterrupt)):
        return error
    error = as_ours(error)
    error.locate(node.id, node.op, node.origin)
    if isinstance(error, SampleError) and error.sample is not None and error.source is None:
        for batch in inputs:
            if batch.sources is not None and 0 <= error.sample - start < len(batch.sources):
                error.source = batch.sources[error.sample - start]
                break
    return error


def named_sample(error: BaseException, start: int, stop: int) -> int | None:
    """The bad sample that an error names, if it is among those from `start` to `stop`."""
    if not isinstance(error, SampleError) or isinstance(error, UnlikeSampleError):
        return None
    sample = error.sample
    return sample if sample is not None and start <= sample < stop else None


def mismatch(node: Node, parts: Sequence[tuple[int, Batch]]) -> UnlikeSampleError:
    """The error about chunks of one output that differ in dtype or number of dimensions.

    `parts` are the chunks that have samples, each with the index of its first one.
    """
    begin, first = parts[0]
    start, other = next((start, part) for start, part in parts if (part.dtype, part.ndim) != (first.dtype, first.ndim))
    described = [f"{part.dtype.name.lower()} of shape {tuple(part.shapes[0].tolist())}" for part in (other, first)]
    error = UnlikeSampleError(
        f"Inconsistent data: {described[0]} beside {described[1]} in sample {begin}:"
        " the samples of a batch must have one type and one number of dimensions",
        sample=start,
        source=other.sources[0] if other.sources else None,
    )
    error.locate(node.id, node.op, node.origin)
    return error
