"""From a cluster back to one machine: the state of a distributed run as the checkpoint of a pipeline."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from dali_lab.interop.iteration import LastBatchPolicy
from dali_lab.interop.ray.epochs import Epochs
from dali_lab.interop.ray.plan import epochs_of
from dali_lab.interop.ray.progress import Progress
from dali_lab.interop.ray.recipe import recipe_of
from dali_lab.model.errors import DaliLabError


def checkpoint(
    pipe: object,
    state: object,
    *,
    reader_name: str | None = None,
    batches: int | None = None,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.PARTIAL,
) -> bytes:
    """The state of a distributed run as a checkpoint, for ``Pipeline(checkpoint=...)`` and iterators over it.

    Parameters
    ----------
    pipe
        The pipeline that the dataset was made of.
    state
        What ``state_dict()`` gave, or a list with that of each rank, taken after the same step.
    reader_name, batches, last_batch_policy
        As they were given to :func:`~dali_lab.interop.ray.datasource.dataset`.

    Raises
    ------
    DaliLabError
        If batches were delivered out of order, so that no single position in the run stands for the state.
    """
    progress = Progress.load(state)
    recipe = replace(recipe_of(pipe), seed=progress.seed)
    epochs = epochs_of(recipe, reader_name, batches, last_batch_policy)
    pieces = epochs.pieces(progress.epoch)
    left = [piece.batch for piece in pieces if piece.batch not in progress]
    following = left[0] if left else epochs.pieces(progress.epoch + 1)[0].batch
    ahead = [piece.batch for piece in pieces if piece.batch > following and piece.batch in progress]
    if ahead:
        raise DaliLabError(
            f"batch {following} was not delivered yet, but batch {ahead[0]} was: a local run cannot leave batches out."
            " Preserve the order and take the states of all ranks after the same step, or go on with"
            " dataset(resume=...)"
        )
    walk = recipe.positions(batches)
    try:
        position = walk.before(following)
    finally:
        walk.close()
    epoch = progress.epoch if left else progress.epoch + 1
    return recipe.checkpoint(replace(position, iterator=_iterator_state(epochs, epoch, following)))


def _iterator_state(epochs: Epochs, epoch: int, following: int) -> str:
    """The counters of an iterator with ``reader_name``; empty where its last batches go on into the next epoch."""
    samples = epochs.samples
    if samples is None or (epochs.policy is LastBatchPolicy.FILL and not epochs.padded):
        return ""
    size = samples
    if epochs.policy is not LastBatchPolicy.DROP and not epochs.padded:
        size = math.ceil(samples / epochs.batch_size) * epochs.batch_size
    return json.dumps(
        {
            "_counter": (following - epochs.pieces(epoch)[0].batch) * epochs.batch_size,
            "_counter_per_gpu": [0],
            "_shard_sizes_per_gpu": [samples],
            "_shards_id": [0],
            "_size": size,
        }
    )
