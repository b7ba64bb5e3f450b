"""Iterators that give torch tensors over the memory of the batches themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import torch

from dali_lab.interop.iteration import ClassificationIterator, LastBatchPolicy, PipelineIterator
from dali_lab.interop.iterator_state import IteratorError
from dali_lab.interop.pytorch.tensors import to_torch_tensor
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline.pipeline import Pipeline


class DALIGenericIterator(PipelineIterator):
    """Iterates over one or more pipelines, giving a list with a dictionary of tensors for each of them.

    Parameters
    ----------
    pipelines
        One pipeline or several, with the same batch size.
    output_map
        A name for each output.
    size
        Samples in an epoch, over all pipelines; by default the pipeline itself ends it.
    reader_name
        Name of the reader that knows the size, the shards and the padding.
    auto_reset
        ``"yes"`` or true begins the next epoch by itself after the :class:`StopIteration` of this one; otherwise
        :meth:`reset` or ``iter()`` does.
    fill_last_batch
        Older than `last_batch_policy`.
    dynamic_shape
        Without effect.
    last_batch_padded
        Without `reader_name`: whether the reader repeats its last sample (true) or goes on into the next epoch.
    last_batch_policy
        Treatment of an incomplete last batch.
    prepare_first_batch
        Compute the first batch at once.

    Raises
    ------
    IteratorError
        If the arguments contradict each other or the pipelines.
    """

    if TYPE_CHECKING:

        def __iter__(self) -> Self: ...

        def __next__(self) -> list[dict[str, torch.Tensor]]: ...

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> dict[str, Any]:
        return {name: to_torch_tensor(output) for name, output in zip(self.output_map, outputs, strict=True)}


class DALIClassificationIterator(ClassificationIterator, DALIGenericIterator):
    """A :class:`DALIGenericIterator` over pipelines with two outputs, ``"data"`` and ``"label"``.

    It takes the same arguments but `output_map`.
    """


class DALIRaggedIterator(DALIGenericIterator):
    """A :class:`DALIGenericIterator` whose samples may have different shapes; it takes the same arguments and one more.

    Parameters
    ----------
    output_types
        For each output :attr:`DENSE_TAG` (one tensor), :attr:`SPARSE_LIST_TAG` (a list of tensors) or
        :attr:`SPARSE_COO_TAG` (a sparse tensor of one-dimensional samples); by default all are dense.
    """

    DENSE_TAG: str = "dense"
    SPARSE_LIST_TAG: str = "sparse_list"
    SPARSE_COO_TAG: str = "sparse_coo"

    if TYPE_CHECKING:  # a tensor, or a list of them

        def __next__(self) -> list[dict[str, Any]]: ...

    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        tags = (self.DENSE_TAG, self.SPARSE_LIST_TAG, self.SPARSE_COO_TAG)
        self._types = list(output_types) if output_types is not None else [self.DENSE_TAG] * len(output_map)
        if len(self._types) != len(output_map) or any(tag not in tags for tag in self._types):
            raise IteratorError(
                "Only DENSE_TAG, SPARSE_LIST_TAG and SPARSE_COO_TAG are allowed:"
                f" takes one of {', '.join(map(repr, tags))} for each output",
                argument="output_types",
            )
        super().__init__(
            pipelines, output_map, size, reader_name, auto_reset, fill_last_batch, dynamic_shape, last_batch_padded,
            last_batch_policy, prepare_first_batch,
        )  # fmt: skip

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, kind, output in zip(self.output_map, self._types, outputs, strict=True):
            if kind == self.DENSE_TAG:
                result[name] = to_torch_tensor(output)
                continue
            tensors = [to_torch_tensor(output[sample]) for sample in range(len(output))]
            result[name] = tensors if kind == self.SPARSE_LIST_TAG else _sparse(tensors)
        return result

    def _cut(self, batch: dict[str, Any], count: int) -> dict[str, Any]:
        return {
            name: _cut_sparse(value, count) if getattr(value, "is_sparse", False) else value[:count]
            for name, value in batch.items()
        }


def _sparse(tensors: list[torch.Tensor]) -> torch.Tensor:
    """One-dimensional samples of different lengths as a sparse matrix with one row for each."""
    device = tensors[0].device if tensors else None
    lengths = torch.tensor([len(tensor) for tensor in tensors], device=device)
    rows = torch.repeat_interleave(torch.arange(len(tensors), device=device), lengths)
    columns = torch.cat([torch.arange(len(tensor), device=device) for tensor in tensors]) if tensors else rows
    return torch.sparse_coo_tensor(torch.stack([rows, columns]), torch.hstack(tensors), check_invariants=True)


def _cut_sparse(value: torch.Tensor, count: int) -> torch.Tensor:
    value = value.coalesce()
    keep = value.indices()[0] < count
    return torch.sparse_coo_tensor(value.indices()[:, keep], value.values()[keep], check_invariants=True)
