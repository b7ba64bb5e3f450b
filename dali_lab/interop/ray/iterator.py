"""Batches of a dataset as tensors, for training loops and workers of Ray Train."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from dali_lab.interop.ray.engines import POSITION
from dali_lab.interop.ray.failures import explaining
from dali_lab.interop.ray.progress import merged
from dali_lab.interop.ray.share import Context, Rest, Share, set_share, share_of
from dali_lab.interop.ray.tables import Samples, joined, to_samples
from dali_lab.model.errors import ArgumentError, ArgumentTypeError, DaliLabError

if TYPE_CHECKING:
    from pyarrow import Table
    from ray.data import Dataset

Batch = Mapping[str, Any]
"""For each column a tensor, or a list of tensors where shapes differ."""


class DataIterator(Protocol):
    """An iterator over a dataset of Ray Data, as far as it is used here."""

    def iter_batches(self, *, batch_size: int | None, batch_format: str, prefetch_batches: int) -> Iterator[Table]: ...
    def get_context(self) -> Context: ...


class BatchIterator:
    """Iterates over the batches of a pipeline on Ray; each ``iter()`` is the next epoch.

    Made by :func:`iterator`, which describes the parameters.
    """

    def __init__(
        self, source: DataIterator, share: Share | None, rest: Rest | None, prefetch: int, tensors: str
    ) -> None:
        self._source = source
        self._context = source.get_context()
        self._share = share
        self._rest = rest
        self._prefetch = prefetch
        self._tensors = tensors
        self._progress = share.progress if share is not None else None
        self._epoch = self._progress.epoch if self._progress is not None else 0
        self._ended = False

    def __len__(self) -> int:
        """Batches of this rank in the epoch that is read, or is to be read next."""
        if self._share is None:
            raise TypeError("the length is not known: the dataset is not that of a pipeline")
        return self._share.steps(self._epoch + self._ended)

    def __iter__(self) -> Generator[Batch, None, None]:
        self._begin()
        given = 0
        last: dict[str, Samples] | None = None
        for number, samples in self._batches():
            self._note(number)
            given += 1
            last = samples
            yield self._converted(samples)
        if self._share is not None and self._share.ranks > 1 and last is not None:
            for _ in range(self._share.steps(self._epoch) - given):
                yield self._converted({name: values[:0] for name, values in last.items()})
        self._ended = True

    def _batches(self) -> Iterator[tuple[int | None, dict[str, Samples]]]:
        """The batches with their numbers; those that came in several blocks are put together."""
        rows = self._share.rows(self._epoch) if self._share is not None else {}
        begun: dict[int, list[dict[str, Samples]]] = {}
        for table in self._tables():
            for number, samples in _parts(table):
                if number is None:
                    yield None, samples
                    continue
                parts = begun.setdefault(number, [])
                parts.append(samples)
                if sum(len(next(iter(part.values()))) for part in parts) >= rows.get(number, 0):
                    yield number, _together(begun.pop(number))
        for number, parts in begun.items():
            yield number, _together(parts)

    def _tables(self) -> Iterator[Table]:
        """The blocks; errors are those of the pipeline, or say what is wrong with the cluster."""
        with explaining():
            tables = iter(
                self._source.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=self._prefetch)
            )
        while True:
            with explaining():
                table = next(tables, None)
            if table is None:
                return
            yield table

    def _begin(self) -> None:
        self._epoch += self._ended
        self._ended = False
        share = self._share
        if share is not None:
            first = share.progress
            set_share(self._context, share, at=self._epoch)
            self._progress = first if self._epoch == first.epoch else replace(first, epoch=self._epoch, done=())

    def _note(self, number: int | None) -> None:
        progress = self._progress
        if progress is not None and number is not None:
            done = progress.done
            # Batches mostly follow each other.
            if done and done[-1][1] == number:
                self._progress = replace(progress, done=(*done[:-1], (done[-1][0], number + 1)))
            else:
                self._progress = replace(progress, done=merged((*done, (number, number + 1))))

    def _converted(self, samples: Mapping[str, Samples]) -> Batch:
        if self._rest is not None:
            samples = self._rest(samples)
        return {name: _tensor(values) for name, values in samples.items()} if self._tensors == "torch" else samples

    def state_dict(self) -> dict[str, object]:
        """The batches that this rank was given in this epoch, as plain JSON values, for ``dataset(resume=...)``.

        With several ranks, a list with the states of all of them, taken after the same step, is what to resume from.

        Raises
        ------
        DaliLabError
            If the dataset does not say which batches its rows are of.
        """
        if self._progress is None:
            raise DaliLabError(
                "the dataset does not say which batches its rows are of: give iterator() the dataset of a pipeline, or"
                " in Ray Train a shard by dali_lab.plugin.ray.DataConfig"
            )
        if self._ended:
            return replace(self._progress, epoch=self._epoch + 1, done=()).state_dict()
        return self._progress.state_dict()


def iterator(
    dataset_shard: object,
    *,
    rest: Rest | None = None,
    prefetch_batches: int = 0,
    tensors: Literal["torch", "numpy"] = "torch",
) -> BatchIterator:
    """Iterate over the batches of a pipeline on Ray.

    Batches are those of the pipeline, whole and in any order of arrival, unless the dataset preserves the order.
    Tensors lie in the memory of the object store, which others read too: do not write to them.

    Parameters
    ----------
    dataset_shard
        A dataset, or in a worker of Ray Train what ``ray.train.get_dataset_shard()`` gives. With
        :class:`~dali_lab.interop.ray.train.DataConfig` each rank gets the same number of batches.
    rest
        The rest of a graph that was cut, which is run here: ``stage(...).rest``; that of ``dataset(until=...)`` by
        default.
    prefetch_batches
        Blocks that must be there before the first one is given, beyond the next, which is always fetched meanwhile: for
        networks that are slower than the trainer.
    tensors
        Give torch tensors or NumPy arrays.

    Returns
    -------
    BatchIterator
        Each ``iter()`` gives an epoch: dictionaries with a tensor for each column, or a list of tensors where shapes
        differ.

    Raises
    ------
    ArgumentTypeError
        If `dataset_shard` is neither.
    """
    if tensors not in ("torch", "numpy"):
        raise ArgumentError(f"{tensors!r} is not one of 'torch', 'numpy'", argument="tensors")
    if prefetch_batches < 0:
        raise ArgumentError(f"must not be negative, got {prefetch_batches}", argument="prefetch_batches")
    import ray.data

    if isinstance(dataset_shard, ray.data.Dataset):
        dataset_shard = with_share(dataset_shard).iterator()
    if not isinstance(dataset_shard, ray.data.DataIterator):
        raise ArgumentTypeError(
            f"takes a dataset of Ray Data or an iterator over one, not {type(dataset_shard).__name__}",
            argument="dataset_shard",
        )
    share = share_of(dataset_shard.get_context())
    if share is not None and not share.positions:
        share = None  # split by Ray itself: its rows come without the numbers of their batches
    if rest is None and share is not None:
        rest = share.rest
    return BatchIterator(dataset_shard, share, rest, prefetch_batches, tensors)


def with_share(dataset: Dataset, rank: int = 0, ranks: int = 1) -> Dataset:
    """A copy of a dataset that reads the part of one rank, with the numbers of batches."""
    made = dataset.copy(dataset, _deep_copy=True)  # with a context of its own
    share = share_of(made.context)
    if share is not None:
        set_share(made.context, share, rank=rank, ranks=ranks, positions=True)
    return made


def _together(parts: list[dict[str, Samples]]) -> dict[str, Samples]:
    return {name: joined([part[name] for part in parts]) for name in parts[0]} if len(parts) > 1 else parts[0]


def _parts(table: Table) -> Iterator[tuple[int | None, dict[str, Samples]]]:
    """The batches in a block, with their numbers where the block has them."""
    names = [name for name in table.column_names if name != POSITION]
    if POSITION not in table.column_names:
        if table.num_rows:
            yield None, {name: to_samples(table[name]) for name in names}
        return
    numbers = to_samples(table[POSITION])
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for start, end in itertools.pairwise(starts):
        if end > start:
            part = table.slice(start, end - start)
            yield int(numbers[start]), {name: to_samples(part[name]) for name in names}


def _tensor(samples: Samples) -> object:
    """Samples as a torch tensor over the same memory, or a list of them where shapes differ."""
    import torch

    with warnings.catch_warnings():
        # The object store gives memory that is not to be written to; torch has no such tensors.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writ", category=UserWarning)
        if samples.dtype == object:
            return [torch.from_numpy(np.ascontiguousarray(sample)) for sample in samples]
        return torch.from_numpy(samples)
