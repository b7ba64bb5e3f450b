"""Iterators that can look ahead, for Google's CLU (Common Loop Utils); needs jax and clu."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, Unpack, overload

import jax
import numpy as np
import numpy.typing as npt
from clu.data.dataset_iterator import ArraySpec

from dali_lab.interop.jax.iterator import DALIGenericIterator, IteratorArguments, data_iterator, decorated


def get_spec_for_array(jax_array: jax.Array) -> ArraySpec:
    """Shape and dtype of an array, as an ``ArraySpec`` of CLU."""
    return ArraySpec(shape=jax_array.shape, dtype=jax_array.dtype)


class DALIGenericPeekableIterator(DALIGenericIterator):
    """As :class:`DALIGenericIterator`, for batches that all have the same shapes; :meth:`peek` shows the next one.

    Several threads may use it. A batch that has other shapes or dtypes than the first is a :class:`ValueError` of
    ``next`` and ``peek``.
    """

    _pool: ThreadPoolExecutor | None = None
    _peeked: dict[str, jax.Array] | None = None
    _element_spec: dict[str, ArraySpec] | None = None

    def _prepare(self, tell_end: bool) -> None:
        # The last step of the constructor, which is that of the base, and of loading a state.
        self._mutex = threading.RLock()
        self._peeked = None
        super()._prepare(tell_end)

    def __next__(self) -> dict[str, jax.Array]:
        with self._mutex:
            if self._peeked is not None:
                batch, self._peeked = self._peeked, None
                return batch
            return self._checked(super().__next__())

    def __iter__(self) -> Self:
        return super().__iter__() if self._peeked is None else self

    def _checked(self, batch: dict[str, jax.Array]) -> dict[str, jax.Array]:
        specs = {name: get_spec_for_array(array) for name, array in batch.items()}
        if self._element_spec is None:
            self._element_spec = specs
        for name, spec in specs.items():
            if spec != self._element_spec[name]:
                raise ValueError(
                    f"'{name}' is {spec}, and was {self._element_spec[name]}. The shape or type of the output changed"
                    " between iterations. A peekable iterator needs one shape and type"
                )
        return batch

    def peek(self) -> dict[str, jax.Array]:
        """The next batch, which ``next`` gives again."""
        with self._mutex:
            if self._peeked is None:
                self._peeked = next(self)
            return self._peeked

    def peek_async(self) -> Future[dict[str, jax.Array]]:
        """:meth:`peek` on another thread; ``next`` does not wait for it."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=1)
        return self._pool.submit(self.peek)

    def checkpoints(self) -> list[bytes]:
        """As :meth:`DALIGenericIterator.checkpoints`.

        Raises
        ------
        RuntimeError
            If there is a batch that was shown and not yet taken.
        """
        if self._peeked is not None:
            raise RuntimeError("no checkpoint can be taken of a batch that was shown by peek; take it with next first")
        return super().checkpoints()

    @property
    def element_spec(self) -> dict[str, ArraySpec]:
        """Shape and dtype of each output; the first batch is looked at if need be."""
        if self._element_spec is None:
            self.peek()
        assert self._element_spec is not None
        return self._element_spec

    @property
    def is_nonpadding(self) -> jax.Array | npt.NDArray[np.bool_]:
        """For each sample of the last batch taken, whether it is one of the data set rather than one that fills up."""
        left = self.batch_size - (self._counter - self._initial_sizes[self._shards_id])
        real = [np.arange(self.batch_size) < count for count in left]
        joined = np.concatenate(real)
        return joined if self._sharding is None else jax.device_put(joined, self._sharding)


# It takes what its base takes.
DALIGenericPeekableIterator.__doc__ = f"""{(DALIGenericPeekableIterator.__doc__ or "").rstrip()}

    Parameters{(DALIGenericIterator.__doc__ or "").partition("Parameters")[2]}"""


@overload
def peekable_data_iterator(
    pipeline_fn: None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    **settings: Unpack[IteratorArguments],
) -> Callable[[Callable[..., Any]], Callable[..., DALIGenericPeekableIterator]]: ...
@overload
def peekable_data_iterator(
    pipeline_fn: Callable[..., Any],
    output_map: Sequence[str] = (),
    size: int = -1,
    **settings: Unpack[IteratorArguments],
) -> Callable[..., DALIGenericPeekableIterator]: ...
@functools.wraps(data_iterator)
def peekable_data_iterator(*args: Any, **settings: Any) -> Any:
    given = inspect.signature(data_iterator).bind(*args, **settings)
    given.apply_defaults()
    return decorated(DALIGenericPeekableIterator, **given.arguments)


__all__ = ["DALIGenericPeekableIterator", "get_spec_for_array", "peekable_data_iterator"]
