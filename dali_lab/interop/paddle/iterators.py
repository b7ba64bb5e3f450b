"""Iterators that give tensors of Paddle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dali_lab.interop.iteration import ClassificationIterator, PipelineIterator
from dali_lab.interop.paddle.tensors import lod_tensor_clip, to_paddle_tensor
from dali_lab.interop.signatures import with_parameters_of
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline.pipeline import Pipeline


class DALIGenericIterator(PipelineIterator):
    """Iterates over one or more pipelines, giving a list with a dictionary of tensors for each of them.

    Parameters
    ----------
    output_map
        A name for each output, or a pair of the name and a LoD level: samples of such an output may have different
        shapes, and are joined along their first axes.
    pipelines, size, reader_name, auto_reset, fill_last_batch, dynamic_shape, last_batch_padded, last_batch_policy, \
prepare_first_batch
        As in :class:`dali_lab.plugin.pytorch.DALIGenericIterator`.

    Raises
    ------
    IteratorError
        If the arguments contradict each other or the pipelines.
    """

    @with_parameters_of(PipelineIterator.__init__)
    def __init__(
        self, pipelines: Pipeline | list[Pipeline], output_map: Sequence[str | tuple[str, int]], **settings: Any
    ) -> None:
        pairs = [(entry, 0) if isinstance(entry, str) else (entry[0], int(entry[1])) for entry in output_map]
        self.normalized_map = dict(pairs)
        super().__init__(pipelines, [name for name, _ in pairs], **settings)

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> dict[str, Any]:
        return {
            name: to_paddle_tensor(number, output, self.normalized_map[name])
            for number, (name, output) in enumerate(zip(self.output_map, outputs, strict=True))
        }

    def _cut(self, batch: dict[str, Any], count: int) -> dict[str, Any]:
        return {name: lod_tensor_clip(tensor, count) for name, tensor in batch.items()}


class DALIClassificationIterator(ClassificationIterator, DALIGenericIterator):
    """A :class:`DALIGenericIterator` over pipelines with two outputs, ``"data"`` and ``"label"``.

    It takes the same arguments but `output_map`.
    """
