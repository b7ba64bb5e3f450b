"""Nodes for ``torchdata.nodes``: a reader, a function on one of its outputs, and tensors of PyTorch.

They have the names and arguments of NVIDIA DALI's. Beyond these, their states are exact: a ``torchdata.nodes.Loader``
that loads a state goes on with the next batch of the epoch, also behind a ``Prefetcher``.

>>> import torchdata.nodes as tn  # doctest: +SKIP
>>> node = Reader(ndd.readers.File, batch_size=64, file_root=root, random_shuffle=True)  # doctest: +SKIP
>>> node = DictMapper(node, ndd.decoders.image)  # doctest: +SKIP
>>> loader = tn.Loader(tn.Prefetcher(ToTorch(node), prefetch_factor=2))  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dali_lab.dynamic.batch import Batch
from dali_lab.dynamic.random import RNG
from dali_lab.dynamic.reader import Reader as _Reader
from dali_lab.dynamic.tensor import Tensor
from dali_lab.model.extras import importing

with importing("torch", "'dali-lab[torch]'"):
    import torch
with importing("torchdata", "torchdata"):
    import torchdata.nodes as tn

__all__ = ["DictMapper", "Reader", "ToTorch"]

Data = Tensor | Batch
State = dict[str, Any]


class Reader(tn.BaseNode[dict[str, Data]]):  # type: ignore[misc, unused-ignore]  # torchdata may not be there
    """The epochs of a reader, as dictionaries.

    Parameters
    ----------
    reader_type
        A class of ``dali_lab.dynamic.readers``.
    batch_size
        Samples in a batch; `None` gives tensors of single samples.
    output_names
        Keys of the outputs; by default ``"data"`` and ``"label"`` of readers with two of them.
    **arguments
        Arguments of the reader. ``enable_checkpointing`` is set unless it is given as false, which leaves the state
        empty.

    Raises
    ------
    ValueError
        If the names do not fit the number of outputs, or have to be given.
    """

    def __init__(
        self,
        reader_type: type[_Reader],
        *,
        batch_size: int | None,
        output_names: Iterable[str] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__()
        self._type = reader_type
        self._arguments = {"enable_checkpointing": True, **arguments}
        self._batch_size = batch_size
        self._reader = self._made()
        count, keys = self._reader._outputs()
        names = keys if output_names is None else list(output_names)
        if names is None and count == 2:
            names = ["data", "label"]
        if names is None:
            raise ValueError(f"{reader_type.__qualname__} has {count} outputs: output_names must be given")
        if len(names) != count:
            raise ValueError(f"{len(names)} output_names for the {count} outputs of {reader_type.__qualname__}")
        self._names = names
        self._epoch: Iterator[Any] | None = None
        self._shard = 0

    def _made(self) -> _Reader:
        return self._type(**self._arguments)

    def next(self) -> dict[str, Data]:
        """The next batch, or sample.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        if self._epoch is None:
            raise RuntimeError("the node was not reset before its first use")
        found = next(self._epoch)
        return dict(zip(self._names, found.values() if isinstance(found, dict) else found, strict=True))

    def reset(self, initial_state: State | None = None) -> None:
        """Begin the next epoch, also where the one before was broken off, or go on from a state.

        Raises
        ------
        ValueError
            If the state is none of such a node.
        """
        super().reset(initial_state)
        taken = 0
        if initial_state:
            try:
                state, shard, taken = initial_state["reader"], int(initial_state["shard"]), int(initial_state["taken"])
                self._reader = self._made()
                self._reader.set_state(state)
                self._reader._shard = shard
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"this is not a state of a reader's node ({error!r})") from error
        else:
            self._reader._break_off()
        self._shard = self._reader._shard
        self._epoch = self._reader._epoch(self._batch_size, taken=taken)
        self._reader._open(self._batch_size or 1, None)

    def get_state(self) -> State:
        """The position behind what was given last, as plain JSON values."""
        if not self._arguments["enable_checkpointing"]:
            return {}
        return {"reader": self._reader.get_state(), "shard": self._shard, "taken": self._reader._taken}

    def get_metadata(self) -> dict[str, Any]:
        """Sizes of the epoch, with and without filling up, and the shard."""
        return self._reader.get_metadata(self._batch_size)


class _Behind(tn.BaseNode[Any]):  # type: ignore[misc, unused-ignore]
    """A node behind another one."""

    def __init__(self, source: tn.BaseNode[dict[str, Data]], rng: RNG | None = None) -> None:
        super().__init__()
        self._source = source
        self._rng = rng

    def reset(self, initial_state: State | None = None) -> None:
        """Begin the next epoch, or go on from a state."""
        super().reset(initial_state)
        state = initial_state or {}
        self._source.reset(state.get("source"))
        if self._rng is not None and "rng" in state:
            self._rng.set_state(state["rng"])

    def get_state(self) -> State:
        """The state of the source, and of the generator."""
        own = {} if self._rng is None else {"rng": str(self._rng.get_state())}
        return {"source": self._source.state_dict(), **own}


class DictMapper(_Behind):
    """Applies a function to one value of the dictionaries.

    Parameters
    ----------
    source
        The node in front.
    map_fn
        A function from tensor or batch to tensor or batch.
    key
        The value's key.
    rng
        The generator that `map_fn` draws from; its state travels with the node's.
    """

    def __init__(
        self,
        source: tn.BaseNode[dict[str, Data]],
        map_fn: Callable[[Any], Data],
        key: str = "data",
        rng: RNG | None = None,
    ) -> None:
        super().__init__(source, rng)
        self._map_fn = map_fn
        self._key = key

    def next(self) -> dict[str, Data]:
        """The next dictionary."""
        found = dict(next(self._source))
        found[self._key] = self._map_fn(found[self._key])
        return found


class ToTorch(_Behind):
    """Converts dictionaries to tuples of tensors of PyTorch, in the order of the keys.

    Where some values are on a GPU, the others are moved there.

    Parameters
    ----------
    source
        The node in front.
    output_stream
        The stream of CUDA on which the tensors are used; by default the current one of the thread that asks.
    """

    def __init__(self, source: tn.BaseNode[dict[str, Data]], output_stream: Any | None = None) -> None:
        super().__init__(source)
        self._stream = output_stream

    def next(self) -> tuple[torch.Tensor, ...]:
        """The next tensors.

        Raises
        ------
        ValueError
            If values are on different GPUs, or the samples of a batch have different shapes.
        """
        found: Mapping[str, Data] = next(self._source)
        places = {value.device.device_id for value in found.values() if value.device.device_type == "gpu"}
        if len(places) > 1:
            raise ValueError(f"the values are on the GPUs {sorted(map(str, places))}, and must be on one")
        with self._used_on():
            moved = (value.gpu(place) for value in found.values() for place in places) if places else found.values()
            return tuple(value.torch() for value in moved)

    def _used_on(self) -> AbstractContextManager[object]:
        if self._stream is None or not torch.cuda.is_available():
            return nullcontext()
        stream = self._stream
        if not isinstance(stream, torch.cuda.Stream):
            stream = torch.cuda.ExternalStream(int(getattr(stream, "handle", stream)))  # type: ignore[no-untyped-call]
        return torch.cuda.stream(stream)
