"""Readers: epochs of data sets, as samples or as batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from dali_lab.dynamic.batch import Batch
from dali_lab.dynamic.calling import fed
from dali_lab.dynamic.classes import Operator
from dali_lab.dynamic.modes import EvalContext
from dali_lab.dynamic.random import RNG
from dali_lab.dynamic.tensor import Tensor
from dali_lab.dynamic.values import Value
from dali_lab.graph.tracing import traced_call
from dali_lab.model.errors import ArgumentError
from dali_lab.model.tensor_list import TensorList
from dali_lab.pipeline.pipeline import Pipeline
from dali_lab.schema.registry import find_operator


class Reader(Operator):
    """Reads data sets: :meth:`next_epoch` gives what one epoch holds.

    Parameters
    ----------
    batch_size
        Samples in a batch; without one :meth:`next_epoch` gives single samples, unless it is told.
    name
        For its node in errors.
    device
        ``"cpu"``.
    **arguments
        Arguments of the operator.

    Raises
    ------
    ArgumentError
        If an argument is wrong.
    """

    _operator_name: ClassVar[str] = ""

    def __init__(
        self, batch_size: int | None = None, name: str | None = None, device: Any = "cpu", **arguments: Any
    ) -> None:
        self._batch_size = batch_size
        self._name = name
        self._device = str(device).partition(":")[0]
        self._checkpointing = bool(arguments.pop("enable_checkpointing", False))
        for unused in ("max_batch_size", "num_inputs"):
            arguments.pop(unused, None)
        self._arguments = {key: value for key, value in arguments.items() if value is not None}
        self._seed = arguments.get("seed")
        self._shard = int(arguments.get("shard_id") or 0)
        self._shards = int(arguments.get("num_shards") or 1)
        self._stays = bool(arguments.get("stick_to_shard"))
        self._taken = 0  # runs of the pipeline in this epoch
        self._is_in_epoch = False
        self._pipeline: Pipeline | None = None
        self._made_for: int | None = None
        self._keys: list[str] | None = None
        self._state: bytes | None = None
        self._use: str | None = None
        self._inputs: tuple[str, ...] = ()

    def __call__(self, *inputs: Any, batch_size: int | None = None, rng: RNG | None = None, **arguments: Any) -> Any:
        """Read on: the next sample, or the next batch where there is a batch size. Epochs follow each other.

        Parameters
        ----------
        batch_size
            In place of the reader's own.
        **arguments
            Arguments of this call that may change from call to call, such as regions: constants, tensors or batches.

        Raises
        ------
        TypeError
            If inputs or a generator are given: readers take neither.
        RuntimeError
            If :meth:`next_epoch` was used, or the first call had another batch size or other arguments.
        """
        if inputs or rng is not None:
            raise TypeError("a reader takes neither inputs nor a generator of random numbers")
        size = self._size(batch_size)
        given = {name: value for name, value in arguments.items() if value is not None}
        self._require_use("__call__")
        pipeline = self._open(size or 1, None, tuple(sorted(given)))
        operator = find_operator(self._operator_name)
        values = {name: fed(operator, name, value, size or 1) for name, value in given.items()}
        outputs = pipeline.run(**values)
        while not len(outputs[0]):  # all samples were left out as bad
            outputs = pipeline.run(**values)
        made = self._wrapped(size, outputs)
        return made[0] if isinstance(made, tuple) and len(made) == 1 else made

    def next_epoch(
        self, batch_size: int | None = None, ctx: EvalContext | None = None, capture: bool = False
    ) -> Iterator[Any]:
        """One epoch of the data set, or of its shard: tuples of batches, or of tensors without a batch size.

        The last batch is filled up from the next epoch, or as `pad_last_batch` says.

        Parameters
        ----------
        batch_size
            In place of the reader's own.
        ctx
            Whose threads are used.
        capture
            In NVIDIA DALI what is done with batches becomes a pipeline; here it runs as written, and gives the same.

        Raises
        ------
        ValueError
            If `capture` is set and there is no batch size.
        RuntimeError
            If batches of another size were read before.
        """
        size = self._size(batch_size)
        if capture and size is None:
            raise ValueError("capture=True requires a non-None batch_size")
        return self._epoch(size, ctx)

    def _size(self, batch_size: int | None) -> int | None:
        """The batch size of a call, or that of the reader."""
        size = batch_size if batch_size is not None else self._batch_size
        if size is not None and size < 1:
            raise ArgumentError(f"{size} is not a positive number", argument="batch_size", operator=self._operator_name)
        return size

    def _epoch(self, size: int | None, ctx: EvalContext | None = None, taken: int = 0) -> Iterator[Any]:
        """An epoch, or the rest of one behind so many runs of the pipeline."""
        self._require_use("next_epoch")
        self._taken = taken
        return self._items(size, ctx)

    def get_metadata(self, batch_size: int | None = None) -> dict[str, Any]:
        """Sizes of the epoch, with and without filling up, and the shard."""
        size = self._size(batch_size) or self._made_for or 1
        return dict(self._open(size, None).reader_meta("reader"))

    @property
    def _op_backend(self) -> _Meta:
        """The sizes of the epoch, under NVIDIA DALI's name for the object that programs ask."""
        return _Meta(self)

    def get_state(self, cuda_stream: object = None) -> str:
        """The position of the reader, as text.

        Raises
        ------
        RuntimeError
            Without `enable_checkpointing`, or before the first epoch.
        """
        if self._pipeline is None:
            raise RuntimeError(
                "Cannot get the reader's state before its first iteration. Call `next_epoch` once before"
            )
        if not self._checkpointing:
            raise RuntimeError("the reader has begun without enable_checkpointing=True")
        return self._pipeline.checkpoint().hex()

    def set_state(self, state: str | bytes) -> None:
        """Go on from a state that :meth:`get_state` gave, as text or its ASCII bytes.

        Raises
        ------
        RuntimeError
            If an epoch has begun already.
        """
        if isinstance(state, bytes):
            state = state.decode("ascii")
        if not isinstance(state, str):
            raise TypeError(f"state must be a ReaderState, str or bytes, got {type(state).__name__}")
        if self._pipeline is not None:
            raise RuntimeError(
                "Cannot set the reader's state after iteration has begun. Call `set_state` on a new reader"
            )
        self._state = bytes.fromhex(state)

    def _enable_checkpointing(self) -> None:
        if not self._checkpointing and self._pipeline is not None:
            raise RuntimeError("the reader has begun without enable_checkpointing=True")
        self._checkpointing = True

    def _outputs(self) -> tuple[int, list[str] | None]:
        """Number of outputs, and their names where they have some."""
        with Pipeline(1, 1, None) as pipeline:
            self._define(pipeline)
        return pipeline.num_outputs, self._keys

    def _require_use(self, use: str) -> None:
        if self._use not in (None, use):
            raise RuntimeError(
                "Cannot mix `samples`, `batches` and `_run`/`__call__` on the same reader: it is read by"
                f" {self._use} already"
            )
        self._use = use

    def _wrapped(self, size: int | None, outputs: Sequence[TensorList]) -> Any:
        """Outputs as batches, or as tensors without a batch size; by their names where they have some."""
        made: tuple[Value, ...] = tuple(
            Tensor._holding(each._batch) if size is None else Batch(each) for each in outputs
        )
        return made if self._keys is None else dict(zip(self._keys, made, strict=True))

    def _items(self, size: int | None, ctx: EvalContext | None) -> Iterator[Any]:
        """The items that are left of the epoch, without those whose samples were all left out as bad."""
        pipeline = self._open(size or 1, ctx)
        self._is_in_epoch = True
        while self._left(pipeline):
            outputs = pipeline.run()
            self._taken += 1
            if len(outputs[0]):
                yield self._wrapped(size, outputs)
        self._end_epoch()

    def _left(self, pipeline: Pipeline) -> int:
        """Runs of the pipeline that are left of the epoch."""
        step = int(pipeline.max_batch_size)
        padded = int(pipeline.reader_meta("reader")["epoch_size_padded"])
        whole = (self._shard + 1) * padded // self._shards - self._shard * padded // self._shards
        return max(0, -(-whole // step) - self._taken)

    def _end_epoch(self) -> None:
        self._is_in_epoch = False
        if not self._stays:
            self._shard = (self._shard + 1) % self._shards

    def _break_off(self) -> None:
        """End the epoch that has begun, if any; what is left of it is passed over, unread where states are kept."""
        pipeline = self._pipeline
        if pipeline is None or not self._is_in_epoch:
            return
        left = self._left(pipeline)
        if left and self._checkpointing:
            pipeline._go_on_from(pipeline.checkpoint())
            pipeline._built().sources["reader"].skip_batches(left, pipeline.max_batch_size)
        else:
            for _ in range(left):
                pipeline.run()
        self._end_epoch()

    def _open(self, size: int, ctx: EvalContext | None, inputs: tuple[str, ...] = ()) -> Pipeline:
        """The pipeline of the reader, with inputs for the arguments of these names."""
        if self._pipeline is None:
            threads = (ctx or EvalContext.current()).num_threads
            pipeline = Pipeline(
                size,
                threads,
                None,
                prefetch_queue_depth=1 if inputs else 2,
                enable_checkpointing=self._checkpointing,
                checkpoint=self._state,
            )
            with pipeline:
                self._define(pipeline, inputs)
            pipeline.build()
            self._pipeline, self._made_for, self._inputs = pipeline, size, inputs
        elif inputs != self._inputs:
            raise RuntimeError(f"the first call gave the arguments {list(self._inputs)}; now {list(inputs)} are given")
        elif size != self._made_for:
            raise RuntimeError(f"Cannot change batch_size from {self._made_for} to {size}: a reader keeps it")
        return self._pipeline

    def _define(self, pipeline: Pipeline, inputs: tuple[str, ...] = ()) -> None:
        source = find_operator("external_source")
        fed_by = {name: traced_call(source, (), {"name": name}) for name in inputs}
        found = traced_call(find_operator(self._operator_name), (), {**self._arguments, **fed_by, "name": "reader"})
        self._keys = list(found) if isinstance(found, dict) else None
        nodes = found.values() if isinstance(found, dict) else found
        pipeline.set_outputs(*(nodes if isinstance(found, (dict, list, tuple)) else (nodes,)))


class _Meta:
    def __init__(self, reader: Reader) -> None:
        self.GetReaderMeta = reader.get_metadata
