"""Positions in an epoch, for callbacks of external sources."""

from __future__ import annotations


class SampleInfo:
    """Position of the sample that an :func:`~dali_lab.fn.external_source` callback is to return.

    Attributes
    ----------
    idx_in_epoch, idx_in_batch
        Position of the sample, counted from 0.
    iteration
        Batch number within the epoch.
    epoch_idx
        Epoch number.
    """

    def __init__(self, idx_in_epoch: int, idx_in_batch: int, iteration: int, epoch_idx: int) -> None:
        self.idx_in_epoch = idx_in_epoch
        self.idx_in_batch = idx_in_batch
        self.iteration = iteration
        self.epoch_idx = epoch_idx


class BatchInfo:
    """Position of the batch that an :func:`~dali_lab.fn.external_source` callback is to return.

    Attributes
    ----------
    iteration
        Batch number within the epoch.
    epoch_idx
        Epoch number.
    """

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx
