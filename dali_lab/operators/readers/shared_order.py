"""What readers of lists share: their order by the common arguments, and checks of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dali_lab.errors import ArgumentError

if TYPE_CHECKING:
    from dali_lab.operators.readers.order import ReaderOrder
    from dali_lab.schema import Operator


def verify_shards(values: Mapping[str, Any]) -> None:
    """Raise :class:`ArgumentError` if ``shard_id`` is none of the shards."""
    count, shard = values.get("num_shards", 1), values.get("shard_id", 0)
    if shard >= count:
        raise ArgumentError(f"{shard} is not in [0, {count - 1}], which 'num_shards' allows", argument="shard_id")


def make_order(operator: Operator, size: int) -> ReaderOrder:
    """The order in which a reader gives its `size` samples."""
    from dali_lab.operators.readers.order import ReaderOrder

    return ReaderOrder(
        size,
        seed=operator.seed,
        random_shuffle=operator.value("random_shuffle"),
        initial_fill=operator.value("initial_fill"),
        shuffle_after_epoch=operator.value("shuffle_after_epoch"),
        shuffle_after_epoch_seed=operator.value("shuffle_after_epoch_seed"),
        num_shards=operator.value("num_shards"),
        shard_id=operator.value("shard_id"),
        stick_to_shard=operator.value("stick_to_shard"),
        pad_last_batch=operator.value("pad_last_batch"),
        checkpointing=operator.checkpointing,
    )
