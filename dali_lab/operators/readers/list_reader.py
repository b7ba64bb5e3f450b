"""Base of readers of a list of samples: arguments, the order of samples, shards, saved states."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.model.errors import ArgumentError, UnlikeSampleError, as_ours
from dali_lab.schema import Call, Operator, flag, integer
from dali_lab.schema.source import Draw, Source

if TYPE_CHECKING:
    from dali_lab.operators.readers.order import ReaderOrder

READER = (
    flag("random_shuffle", "Draw samples from a buffer of `initial_fill` samples.", important=True),
    integer("initial_fill", 1024, "Size of the buffer that `random_shuffle` draws from.", minimum=1),
    integer("num_shards", 1, "Number of parts that the data are cut into, one for each process.", minimum=1),
    integer("shard_id", 0, "The part to read, less than `num_shards`.", minimum=0),
    flag("stick_to_shard", "Read the same part in each epoch, rather than the next one."),
    flag("pad_last_batch", "Repeat the last sample to fill the last batch and to even out the parts."),
    flag("skip_cached_images", "Kept for programs that set it; decoded pictures are not cached.", advanced=True),
    flag("lazy_init", "Look for the data when the first batch is read.", advanced=True),
    flag("read_ahead", "Have archives and record files read as a whole when they are opened.", advanced=True),
    integer(
        "prefetch_queue_depth",
        1,
        "Kept for programs that set it; batches are read ahead anyway.",
        minimum=1,
        advanced=True,
    ),
    flag("dont_use_mmap", "Kept for programs that set it; files are read into memory.", advanced=True),
    integer("tensor_init_bytes", 1048576, "Kept for programs that set it.", advanced=True),
)
"""Arguments of all readers."""

AFTER_EPOCH = (
    flag("shuffle_after_epoch", "Shuffle all samples anew in each epoch."),
    integer("shuffle_after_epoch_seed", None, "Seed of those shuffles, the same for all shards.", advanced=True),
)
"""Arguments of readers that can shuffle their list in each epoch."""


class ListReader(Operator):
    """A reader that knows the list of its samples before it reads them.

    A subclass declares :data:`READER` among its arguments, and :data:`AFTER_EPOCH` if it may shuffle its list in each
    epoch. `run` finds the places of its samples in the list in ``call.ticket``, for the whole batch.

    Attributes
    ----------
    shuffles_list
        Whether `random_shuffle` shuffles the list before it draws from the buffer; readers of record files do not.
    """

    source = True
    random = True
    shuffles_list: ClassVar[bool] = True

    @abstractmethod
    def load(self) -> int:
        """Find the samples, and return their number; called once, before all other methods."""

    def sources(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """The files of samples, by their places in the list; empty where there are none."""
        return ()

    def source_names(self, call: Call) -> tuple[str, ...]:
        return self.sources(call.ticket[call.start : call.start + call.count])

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        count, shard = values.get("num_shards", 1), values.get("shard_id", 0)
        if shard >= count:
            raise ArgumentError(f"{shard} is not in [0, {count - 1}], which 'num_shards' allows", argument="shard_id")

    def open_source(self, seed: int, *, checkpointing: bool = False) -> Source:
        source = ListSource(self, seed, checkpointing)
        if not self.value("lazy_init"):
            source.meta()
        return source


class ListSource(Source):
    """Gives the places of samples in a reader's list; the first use finds the samples."""

    def __init__(self, reader: ListReader, seed: int, checkpointing: bool) -> None:
        self._reader = reader
        self._seed = seed
        self._checkpointing = checkpointing

    @functools.cached_property
    def _order(self) -> ReaderOrder:
        from dali_lab.operators.readers.order import ReaderOrder

        reader = self._reader
        try:
            return ReaderOrder(
                reader.load(),
                seed=self._seed,
                random_shuffle=reader.value("random_shuffle"),
                initial_fill=reader.value("initial_fill"),
                shuffle_after_epoch=reader.values.get("shuffle_after_epoch", False),
                shuffle_after_epoch_seed=reader.values.get("shuffle_after_epoch_seed"),
                num_shards=reader.value("num_shards"),
                shard_id=reader.value("shard_id"),
                stick_to_shard=reader.value("stick_to_shard"),
                pad_last_batch=reader.value("pad_last_batch"),
                checkpointing=self._checkpointing,
                shuffle_list=reader.shuffles_list,
            )
        except Exception as error:
            ours = as_ours(error)
            ours.locate(reader.node, reader.name)
            if ours is error:
                raise
            raise ours from error

    def draw(self, batch_size: int) -> Draw:
        return Draw(batch_size, self._order.next_batch(batch_size))

    def state(self) -> Any:
        return self._order.get_state()

    def restore(self, state: Any) -> None:
        self._order.set_state(state)

    def meta(self) -> Mapping[str, int]:
        return self._order.meta()


def check_alike(call: Call, output: int, arrays: Sequence[npt.NDArray[np.generic]], sources: Sequence[str]) -> None:
    """Check that the arrays read for an output can form a batch.

    Raises
    ------
    SampleError
        If an array differs from the first in type or number of dimensions.
    """
    first = arrays[0]
    for index, array in enumerate(arrays):
        if (array.dtype, array.ndim) != (first.dtype, first.ndim):
            raise call.problem(
                f"output {output} has {array.ndim} dimensions of {array.dtype}, where '{sources[0]}' has {first.ndim}"
                f" of {first.dtype}",
                sample=index,
                source=sources[index],
                kind=UnlikeSampleError,
            )
