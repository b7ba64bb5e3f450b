"""Iterators that give dictionaries of JAX arrays."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from dali_lab.batch.tensors import TensorList
from dali_lab.errors import ArgumentError
from dali_lab.pipeline import Pipeline, pipeline_def
from dali_lab.plugin.base_iterator import LastBatchPolicy, _DaliBaseIterator


class DALIGenericIterator(_DaliBaseIterator):
    """Iterates over one or more pipelines, giving one dictionary of JAX arrays for each batch.

    Batches of several pipelines are joined along the first axis, on the devices of `sharding` where it is given.

    Parameters
    ----------
    pipelines
        One pipeline or several, with the same batch size.
    output_map
        A name for each output.
    size, reader_name, auto_reset, last_batch_padded, last_batch_policy, prepare_first_batch
        As in :class:`dali_lab.plugin.pytorch.DALIGenericIterator`; ``PARTIAL`` is not supported, as shapes are fixed.
    sharding
        A ``jax.sharding.Sharding`` for the arrays.

    Raises
    ------
    ArgumentError
        If the arguments contradict each other or the pipelines.
    """

    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Any = None,
    ) -> None:
        self.output_map = list(output_map)
        self._sharding = sharding
        if len(set(self.output_map)) != len(self.output_map):
            raise ArgumentError(f"the names must differ, got {self.output_map}", argument="output_map")
        if last_batch_policy is LastBatchPolicy.PARTIAL:
            raise ArgumentError(
                "PARTIAL is not supported: arrays of all batches have one shape", argument="last_batch_policy"
            )
        super().__init__(
            pipelines, size, reader_name, auto_reset, None, last_batch_padded, last_batch_policy, prepare_first_batch
        )
        if any(pipeline.num_outputs != len(self.output_map) for pipeline in self._pipes):
            raise ArgumentError(
                f"has {len(self.output_map)} names for {self._pipes[0].num_outputs} outputs", argument="output_map"
            )
        self._prepare()

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> dict[str, Any]:
        return {name: output.as_cpu().as_array() for name, output in zip(self.output_map, outputs, strict=True)}

    def _cut(self, batch: dict[str, Any], count: int) -> dict[str, Any]:
        return {name: array[:count] for name, array in batch.items()}

    def _trimmed(self, batches: list[Any]) -> Any:
        joined = {}
        for name in self.output_map:
            arrays = [batch[name] for batch in batches]
            array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
            joined[name] = (
                jax.device_put(array, self._sharding) if self._sharding is not None else jax.numpy.asarray(array)
            )
        return joined


def data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    reader_name: str | None = None,
    auto_reset: str | bool | None = False,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    prepare_first_batch: bool = True,
    sharding: Any = None,
    devices: Sequence[Any] | None = None,
) -> Any:
    """Turn a function that defines a graph into one that makes iterators over it.

    Calls take the function's arguments and those of :class:`dali_lab.Pipeline`, and ``checkpoints`` to go on from. With
    `devices` there is a pipeline for each; a function with the arguments ``device_id``, ``shard_id`` or ``num_shards``
    gets them.

    Parameters
    ----------
    pipeline_fn
        Calls operators and returns the outputs; or what ``pipeline_def`` made of such a function.
    devices
        JAX devices whose batches are joined, in this order.
    output_map, size, reader_name, auto_reset, last_batch_padded, last_batch_policy, prepare_first_batch, sharding
        As in :class:`DALIGenericIterator`.
    """
    if pipeline_fn is None:
        options = {name: value for name, value in locals().items() if name != "pipeline_fn"}
        return lambda function: data_iterator(function, **options)
    function = pipeline_fn
    define = function if getattr(function, "_is_pipeline_def", False) else pipeline_def(function)
    own = inspect.signature(function).parameters

    @functools.wraps(function)
    def make(*args: Any, checkpoints: Sequence[bytes] | None = None, **kwargs: Any) -> DALIGenericIterator:
        kwargs.setdefault("num_threads", min(8, os.cpu_count() or 1))
        count = len(devices) if devices is not None else 1
        pipelines = []
        for index in range(count):
            given = dict(kwargs)
            if count > 1:
                known = {"device_id": index, "shard_id": index, "num_shards": count}
                given.update({name: value for name, value in known.items() if name in own})
            if checkpoints is not None:
                given["checkpoint"] = checkpoints[index]
            pipelines.append(define(*args, **given))
        return DALIGenericIterator(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            sharding,
        )

    return make


__all__ = ["DALIGenericIterator", "data_iterator"]
