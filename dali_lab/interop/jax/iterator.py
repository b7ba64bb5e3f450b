"""Iterators that give dictionaries of JAX arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack, overload

import jax
import numpy as np
import numpy.typing as npt

from dali_lab.interop.iteration import LastBatchPolicy, PipelineIterator
from dali_lab.interop.iterator_state import IteratorError
from dali_lab.model.system import usable_cores
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline.definition import pipeline_def
from dali_lab.pipeline.pipeline import Pipeline


class DALIGenericIterator(PipelineIterator):
    """Iterates over one or more pipelines, giving one dictionary of JAX arrays for each batch.

    Batches of several pipelines are joined along the first axis, on the devices of `sharding`, where that is given, and
    stacked along a new axis otherwise.

    Parameters
    ----------
    pipelines
        One pipeline or several, with the same batch size.
    output_map
        Names of the outputs; those after the last name are left out.
    size, reader_name, auto_reset, last_batch_padded, last_batch_policy, prepare_first_batch
        As in :class:`dali_lab.plugin.pytorch.DALIGenericIterator`; ``PARTIAL`` is not supported, as shapes are
        fixed.
    sharding
        A ``jax.sharding.Sharding`` for the arrays.
    pmap_compatible
        Whether arrays of a single pipeline have the new axis, too; :func:`data_iterator` has them so with `devices`.

    Raises
    ------
    IteratorError
        If the arguments contradict each other or the pipelines.
    """

    names_every_output = False

    if TYPE_CHECKING:

        def __iter__(self) -> Self: ...

        def __next__(self) -> dict[str, jax.Array]: ...

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
        sharding: jax.sharding.Sharding | None = None,
        pmap_compatible: bool | None = None,
    ) -> None:
        self._sharding = sharding
        self._stacks = bool(pmap_compatible)
        if last_batch_policy is LastBatchPolicy.PARTIAL:
            raise IteratorError(
                "is PARTIAL. JAX iterator does not support partial last batch policy. All batches have one shape",
                argument="last_batch_policy",
            )
        super().__init__(
            pipelines, output_map, size, reader_name, auto_reset, last_batch_padded=last_batch_padded,
            last_batch_policy=last_batch_policy, prepare_first_batch=prepare_first_batch,
        )  # fmt: skip

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> dict[str, npt.NDArray[Any]]:
        return {name: output.as_cpu().as_array() for name, output in zip(self.output_map, outputs, strict=False)}

    def _trimmed(self, batches: list[dict[str, npt.NDArray[Any]]]) -> Any:
        joined = {}
        for name in self.output_map:
            arrays = [batch[name] for batch in batches]
            if len({array.shape for array in arrays}) > 1:
                raise IteratorError(f"'{name}' has different shapes in the pipelines, which cannot be one JAX array")
            if self._sharding is not None:
                joined[name] = jax.device_put(np.concatenate(arrays), self._sharding)
            else:
                stacks = self._stacks or len(arrays) > 1
                joined[name] = jax.numpy.asarray(np.stack(arrays) if stacks else arrays[0])
        return joined


class IteratorArguments(TypedDict, total=False):
    """Arguments of :func:`data_iterator` behind the names of the outputs and the size."""

    reader_name: str | None
    auto_reset: str | bool | None
    last_batch_padded: bool
    last_batch_policy: LastBatchPolicy
    prepare_first_batch: bool
    sharding: jax.sharding.Sharding | None
    devices: Sequence[jax.Device] | None
    pmap_compatible: bool | None


@overload
def data_iterator(
    pipeline_fn: None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    **settings: Unpack[IteratorArguments],
) -> Callable[[Callable[..., Any]], Callable[..., DALIGenericIterator]]: ...
@overload
def data_iterator(
    pipeline_fn: Callable[..., Any],
    output_map: Sequence[str] = (),
    size: int = -1,
    **settings: Unpack[IteratorArguments],
) -> Callable[..., DALIGenericIterator]: ...
def data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    reader_name: str | None = None,
    auto_reset: str | bool | None = False,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    prepare_first_batch: bool = True,
    sharding: jax.sharding.Sharding | None = None,
    devices: Sequence[jax.Device] | None = None,
    pmap_compatible: bool | None = None,
) -> Callable[..., Any]:
    """Turn a function that defines a graph into one that makes iterators over it.

    Calls take the function's arguments and those of :class:`dali_lab.Pipeline`, and ``checkpoints`` to go on from.
    With `devices` or `sharding` there is a pipeline for each device, and the batch size is that of all of them; a
    function with the arguments ``device_id``, ``shard_id`` or ``num_shards`` gets them.

    Parameters
    ----------
    pipeline_fn
        Calls operators and returns the outputs; or what ``pipeline_def`` made of such a function.
    output_map
        Names of the outputs; those after the last name are left out.
    size, reader_name, auto_reset, last_batch_padded, last_batch_policy, prepare_first_batch
        As in :class:`dali_lab.plugin.pytorch.DALIGenericIterator`; ``PARTIAL`` is not supported, as shapes are
        fixed.
    sharding
        A ``jax.sharding.Sharding`` for the arrays.
    devices
        JAX devices whose batches are stacked along a new first axis, in this order.
    pmap_compatible
        Whether arrays of a single pipeline have the new axis, too; by default true with `devices`.

    Raises
    ------
    ValueError
        If both `devices` and `sharding` are given, or `checkpoints` is not as long as the devices are many.
    """
    return decorated(DALIGenericIterator, **locals())


def decorated(
    kind: type[DALIGenericIterator],
    pipeline_fn: Callable[..., Any] | None,
    devices: Sequence[jax.Device] | None,
    **settings: Any,
) -> Callable[..., Any]:
    """The result of :func:`data_iterator` for iterators of a class; `settings` are its other arguments."""
    if settings["sharding"] is not None and devices is not None:
        raise ValueError("give either 'sharding' or 'devices'")
    if settings["pmap_compatible"] is None:
        settings["pmap_compatible"] = devices is not None
    if pipeline_fn is None:
        return lambda function: _maker(kind, function, devices, settings)
    return _maker(kind, pipeline_fn, devices, settings)


def _maker(
    kind: type[DALIGenericIterator],
    function: Callable[..., Any],
    devices: Sequence[jax.Device] | None,
    settings: dict[str, Any],
) -> Callable[..., DALIGenericIterator]:
    """A function that makes iterators of a class over the graph that `function` defines."""
    define = function if getattr(function, "_is_pipeline_def", False) else pipeline_def(function)
    own = inspect.signature(function).parameters

    @functools.wraps(function)
    def make(*args: Any, checkpoints: Sequence[bytes] | None = None, **kwargs: Any) -> DALIGenericIterator:
        kwargs.setdefault("num_threads", min(8, usable_cores()))
        split = devices is not None or settings["sharding"] is not None
        used = devices if devices is not None else jax.local_devices() if split else [None]
        shards = len(used) if devices is not None else jax.device_count()
        if split and kwargs.get("batch_size") is not None:
            kwargs["batch_size"] //= shards
        if checkpoints is not None and len(checkpoints) != len(used):
            raise ValueError(f"there are {len(checkpoints)} checkpoints for {len(used)} devices")
        pipelines = []
        for index, device in enumerate(used):
            given = dict(kwargs)
            if split:
                known = {"device_id": index, "shard_id": device.id, "num_shards": shards}
                given.update({name: value for name, value in known.items() if name in own})
            if checkpoints is not None:
                given["checkpoint"] = checkpoints[index]
            pipelines.append(define(*args, **given))
        return kind(pipelines, **settings)

    return make


__all__ = ["DALIGenericIterator", "data_iterator"]
