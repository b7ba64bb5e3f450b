"""Base of iterators over pipelines: the length of an epoch, the last batch and resets."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from enum import Enum, unique
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dali_lab.executor.bad_samples import BadSample
from dali_lab.interop.iterator_state import IteratorError, IteratorState
from dali_lab.model.dtypes import PipelineAPIType
from dali_lab.model.errors import ArgumentError, ArgumentTypeError
from dali_lab.model.tensor_list import TensorList
from dali_lab.model.user_code import user_stacklevel
from dali_lab.pipeline.pipeline import Pipeline

Counts = npt.NDArray[np.int64]


@unique
class LastBatchPolicy(Enum):
    """Treatment of the last batch of an epoch where too few samples are left to fill it.

    ``FILL`` fills it with the last sample again, or with the first ones of the next epoch, as the reader pads or not;
    ``DROP`` leaves it out; ``PARTIAL`` makes it smaller.
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


class PipelineIterator(IteratorState):
    """Base of iterators over one or more pipelines; see :class:`dali_lab.plugin.pytorch.DALIGenericIterator`.

    A subclass fills in :meth:`_convert`. Counters have the names of NVIDIA DALI, because iterators of
    programs reach for them.

    Attributes
    ----------
    names_every_output
        Whether each output has to have a name; those without are left out otherwise.
    """

    names_every_output: ClassVar[bool] = True

    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self.output_map = list(output_map)
        if len(set(self.output_map)) != len(self.output_map):
            raise IteratorError(f"output_map names should be distinct, got {self.output_map}", argument="output_map")
        self._pipes = list(pipelines) if isinstance(pipelines, (list, tuple)) else [pipelines]
        if not self._pipes or not all(isinstance(pipeline, Pipeline) for pipeline in self._pipes):
            message = "Number of provided pipelines has to be at least 1: takes a pipeline or a list of pipelines"
            raise IteratorError(message, argument="pipelines")
        self._num_gpus = len(self._pipes)
        self.batch_size = self._pipes[0].max_batch_size
        if any(pipeline.max_batch_size != self.batch_size for pipeline in self._pipes):
            raise IteratorError("must all have the same batch size", argument="pipelines")
        if auto_reset not in (False, None, "no", True, "yes"):
            message = f"Unsupported value for `auto_reset` {auto_reset}: it is not one of 'yes', 'no', True, False"
            raise ArgumentError(message, argument="auto_reset")
        self._auto_reset = auto_reset in (True, "yes")
        self._prepare_first_batch = prepare_first_batch
        if fill_last_batch is not None:
            message = "Please do not use `fill_last_batch` and use `last_batch_policy` instead"
            warnings.warn(message, DeprecationWarning, stacklevel=user_stacklevel())
            last_batch_policy = LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
        if not isinstance(last_batch_policy, LastBatchPolicy):
            message = (
                "Wrong type for `last_batch_policy`."
                f" Expected {LastBatchPolicy!r}, got {type(last_batch_policy)!r}: {last_batch_policy!r}"
            )
            raise ArgumentTypeError(message, argument="last_batch_policy")
        self._last_batch_policy = last_batch_policy
        self._last_batch_padded = bool(last_batch_padded)
        self._size = int(size)
        self._reader_name = reader_name
        self._check_size()
        self._open()

    def _open(self, tell_end: bool = False) -> None:
        """Begin where the pipelines are: at the start, or where their checkpoints were taken.

        Behind the last batch of an epoch that is the next epoch, as in NVIDIA DALI, unless `tell_end` asks for the end
        of the epoch first.
        """
        self._counter = 0
        self._ever_scheduled = False
        self._ever_consumed = False
        self._end_is_due = False
        self._is_at_end = False
        self._first_batch: Any = None
        self._taken: list[tuple[TensorList, ...] | Exception] = []
        self._in_rest = False
        for pipeline in self._pipes:
            with pipeline._check_api_type_scope(PipelineAPIType.ITERATOR):
                pipeline.build()
        if self._reader_name:
            self._read_meta(self._reader_name)
        self._enable_checkpointing = self._pipes[0].enable_checkpointing
        if any(pipeline.enable_checkpointing != self._enable_checkpointing for pipeline in self._pipes):
            raise IteratorError("must agree in enable_checkpointing", argument="pipelines")
        self._note_start()
        if self._enable_checkpointing:
            self._restore()
            self._initial_checkpoints = self._take_checkpoints()
        for pipeline in self._pipes:
            unnamed = pipeline.num_outputs - len(self.output_map)
            if unnamed < 0 or (unnamed and self.names_every_output):
                raise IteratorError(
                    f"has {len(self.output_map)} names for {pipeline.num_outputs} outputs", argument="output_map"
                )
        self._prepare(tell_end)

    def _check_size(self) -> None:
        if self._size == 0:
            raise IteratorError("Size cannot be 0", argument="size")
        if self._size < 0 and not self._reader_name:
            if self._num_gpus > 1:
                raise IteratorError(
                    "must be given for several pipelines, or reader_name. Negative size is supported only for a single"
                    " pipeline",
                    argument="size",
                )
            # The end is where the pipeline ends, so there is no last batch to care for.
            self._last_batch_policy, self._last_batch_padded = LastBatchPolicy.FILL, False
        if self._reader_name and self._size > 0:
            raise IteratorError(
                "When reader_name is provided, size should not be set: the reader knows it", argument="size"
            )
        if self._reader_name and self._last_batch_padded:
            message = "When reader_name is provided, last_batch_padded should not be set: the reader knows it"
            raise IteratorError(message, argument="last_batch_padded")
        if self._size > 0 and not self._reader_name:
            warnings.warn(
                "Please set `reader_name` and don't set last_batch_padded and size manually whenever possible. This may"
                " lead, in some situations, to missing some samples or returning duplicated ones: where there are"
                " several shards.",
                UserWarning,
                stacklevel=user_stacklevel(),
            )

    # -- the reader's shards ------------------------------------------------------------------------------------

    def _read_meta(self, name: str) -> None:
        metas = [pipeline.reader_meta(name) for pipeline in self._pipes]
        for key in ("epoch_size", "number_of_shards", "pad_last_batch", "stick_to_shard"):
            if any(meta[key] != metas[0][key] for meta in metas):
                raise IteratorError(f"the reader '{name}' has different {key} in the pipelines", argument="reader_name")
        first = metas[0]
        self._size_no_pad = int(first["epoch_size"])
        self._shards_num = int(first["number_of_shards"])
        self._last_batch_padded = bool(first["pad_last_batch"])
        self._is_stick_to_shard = bool(first["stick_to_shard"])
        self._shards_id: Counts = np.array([meta["shard_id"] for meta in metas], np.int64)
        if self._last_batch_policy is LastBatchPolicy.DROP:
            self._size = self._size_no_pad // self._shards_num
        elif self._last_batch_padded:
            self._size = int(first["epoch_size_padded"]) // self._shards_num
        else:
            self._size = self._whole_batches(math.ceil(self._size_no_pad / self._shards_num))
        bounds = [math.floor(shard * self._size_no_pad / self._shards_num) for shard in range(self._shards_num + 1)]
        self._initial_sizes: Counts = np.array([end - start for start, end in itertools.pairwise(bounds)], np.int64)
        # Samples of each shard in this epoch, and how many of them were read at the end of the last one already.
        self._shard_sizes_per_gpu: Counts = self._initial_sizes.copy()
        self._counter_per_gpu: Counts = np.zeros(self._shards_num, np.int64)

    def _whole_batches(self, samples: int) -> int:
        return math.ceil(samples / self.batch_size) * self.batch_size

    @property
    def _wraps(self) -> bool:
        """Whether the last batch goes on into the next epoch."""
        return self._last_batch_policy is LastBatchPolicy.FILL and not self._last_batch_padded

    @property
    def _drops(self) -> bool:
        return self._last_batch_policy is LastBatchPolicy.DROP

    def _begin_epoch_of_reader(self) -> None:
        assert self._reader_name is not None
        if self._in_rest:  # of an epoch that another number of processes began: whole ones follow
            self._in_rest = False
            self._read_meta(self._reader_name)
            return
        if not self._is_stick_to_shard:
            self._shards_id = (self._shards_id + 1) % self._shards_num
        if not self._wraps:
            return
        if not self._is_stick_to_shard:
            self._shard_sizes_per_gpu = np.roll(self._shard_sizes_per_gpu, 1)
        self._size = self._whole_batches(int((self._shard_sizes_per_gpu - self._counter_per_gpu).max()))
        if self._size == 0:
            # The last batch of the epoch before held all of this one: skip it.
            self._counter_per_gpu = np.zeros(self._shards_num, np.int64)
            self._counter = 0
            self._shard_sizes_per_gpu = np.roll(self._shard_sizes_per_gpu, 1)
            self._size = self._whole_batches(int(self._shard_sizes_per_gpu.max()))

    # -- batches ------------------------------------------------------------------------------------------------

    def _convert(self, index: int, outputs: Sequence[TensorList]) -> Any:
        """Convert a batch of one pipeline."""
        raise NotImplementedError

    def _cut(self, batch: Any, count: int) -> Any:
        """The first samples of what :meth:`_convert` made, which is a dictionary unless this is replaced, too."""
        return {name: values[:count] for name, values in batch.items()}

    def _prepare(self, tell_end: bool) -> None:
        """Have the first batch computed ahead, and keep it."""
        if not self._prepare_first_batch:
            return
        try:
            self._first_batch = self._next_batches()
        except StopIteration:
            if all(not pipeline.is_restored_from_checkpoint for pipeline in self._pipes):
                raise RuntimeError(
                    "It seems that there is no data in the pipeline. This may happen if `last_batch_policy` is set to"
                    " PARTIAL and the requested batch size is greater than the shard size."
                ) from None
            self._end_is_due = tell_end and self._auto_reset
            self._is_at_end = not tell_end and not self._auto_reset

    def __next__(self) -> Any:
        self._ever_consumed = True
        self._is_at_end = False
        if self._end_is_due:
            self._end_is_due = False
            raise StopIteration
        if self._first_batch is not None:
            batch, self._first_batch = self._first_batch, None
            return batch
        return self._next_batches()

    @property
    def end_is_due(self) -> bool:
        """Whether iteration begins with the end of an epoch: the loaded state was taken behind the last batch."""
        return self._end_is_due

    def next(self) -> Any:
        """The next batch."""
        return next(self)

    @property
    def bad_samples(self) -> list[BadSample]:
        """The bad samples of the batches so far, pipeline by pipeline; see :attr:`dali_lab.Pipeline.bad_samples`."""
        return [record for pipeline in self._pipes for record in pipeline.bad_samples]

    def _next_batches(self) -> Any:
        """The next batches that have samples: where all were left out as bad, those behind."""
        while True:
            batches = self._next_computed()
            if any(len(left_out) < self.batch_size for left_out in self._left_out()):
                return batches

    def _left_out(self) -> list[Sequence[int]]:
        """For each pipeline the positions in its last batch whose samples were left out as bad."""
        return [pipeline._built().left_out for pipeline in self._pipes]

    def _next_computed(self) -> Any:
        if not self._ever_scheduled:
            self._schedule_runs(release_outputs=False)
        if 0 < self._size <= self._counter:
            self._end_iteration()
        try:
            outputs = self._get_outputs()
            batches = [self._convert(index, row) for index, row in enumerate(outputs)]
        except StopIteration:
            if self._size < 0 and self._auto_reset:
                self.reset()
            raise
        except Exception:
            # The batch is lost; those after it can be asked for all the same.
            self._schedule_runs()
            self._advance_and_check_drop_last(end_iteration=False)
            raise
        try:
            self._schedule_runs()
        except BaseException:  # the caller was interrupted, perhaps in a source: the next call gives this batch
            self._taken = [*outputs]
            raise
        self._advance_and_check_drop_last()
        return self._trimmed(batches)

    def _get_outputs(self) -> list[tuple[TensorList, ...]]:
        # Where the caller is interrupted, the next call goes on with the pipelines that have not been asked yet.
        for pipeline in self._pipes[len(self._taken) :]:
            try:
                with pipeline._check_api_type_scope(PipelineAPIType.ITERATOR):
                    self._taken.append(pipeline.share_outputs())
            except Exception as error:  # the others give their batch all the same, so that all stay in step
                self._taken.append(error)
        taken, self._taken = self._taken, []
        rows = [each for each in taken if not isinstance(each, Exception)]
        for failure in taken:
            if isinstance(failure, Exception):
                raise failure
        if self._reader_name or self._size != -1:
            for row, left_out in zip(rows, self._left_out(), strict=True):
                for size in (len(output) + len(left_out) for output in row):
                    if size != self.batch_size:
                        raise RuntimeError(
                            f"got a batch of {size} samples where {self.batch_size} are needed: batches of different"
                            " sizes cannot be counted with reader_name or size"
                        )
        return rows

    def _schedule_runs(self, release_outputs: bool = True) -> None:
        self._ever_scheduled = True
        for pipeline in self._pipes:
            with pipeline._check_api_type_scope(PipelineAPIType.ITERATOR):
                if release_outputs:
                    pipeline.release_outputs()
                pipeline.schedule_run()

    def _advance_and_check_drop_last(self, dry_run: bool = False, end_iteration: bool = True) -> bool:
        """Count one more batch, or only see what that would mean: whether this batch is to be dropped."""
        counter = self._counter + self.batch_size * (1 if self._reader_name else self._num_gpus)
        drop = False
        if self._last_batch_policy is LastBatchPolicy.DROP:
            if self._reader_name:
                drop = bool(np.any(self._counter_per_gpu + counter > self._shard_sizes_per_gpu))
            else:
                drop = counter > self._size
        if not dry_run:
            self._counter = counter
            if drop and end_iteration:
                self._end_iteration()
        return drop

    def _trimmed(self, batches: list[Any]) -> list[Any]:
        """The batches without what lies beyond the end of the epoch, for the policy PARTIAL."""
        if self._last_batch_policy is not LastBatchPolicy.PARTIAL:
            return batches
        if self._reader_name:
            left = self.batch_size - (self._counter - self._initial_sizes[self._shards_id])
            if not (left < self.batch_size).any():
                return batches
            return [self._cut_at(index, batches[index], int(count)) for index, count in enumerate(left)]
        if not 0 < self._size < self._counter:
            return batches
        samples = self._num_gpus * self.batch_size - (self._counter - self._size)
        kept = batches[: math.ceil(samples / self.batch_size)]
        kept[-1] = self._cut_at(len(kept) - 1, kept[-1], samples % self.batch_size or self.batch_size)
        return kept

    def _cut_at(self, index: int, batch: Any, position: int) -> Any:
        """The samples of a pipeline's batch before a position, which may lie outside of it."""
        # A shard that ended before gives an empty batch; its slice end must not count from the back.
        position = max(0, min(position, self.batch_size))
        return self._cut(batch, position - sum(other < position for other in self._left_out()[index]))

    # -- epochs -------------------------------------------------------------------------------------------------

    def _end_iteration(self) -> None:
        if self._auto_reset:
            self.reset()
        raise StopIteration

    def reset(self) -> None:
        """Begin the next epoch; in the middle of one it is ignored, with a warning."""
        if self._last_batch_policy is LastBatchPolicy.DROP:
            drop = self._advance_and_check_drop_last(dry_run=True, end_iteration=False)
            if drop and not 0 < self._size <= self._counter:
                # A caller that counts batches stops here, while the incomplete one is still to come.
                if not self._ever_scheduled:
                    self._schedule_runs(release_outputs=False)
                self._get_outputs()
                self._schedule_runs()
                self._advance_and_check_drop_last(end_iteration=False)
        if self._size > 0 and self._counter < self._size:
            warnings.warn("the iterator was not reset: its epoch is not finished", UserWarning, stacklevel=2)
            return
        if not self._wraps:
            self._counter = 0
        elif self._reader_name:
            read = self._counter - int(self._counter_per_gpu.min())
            self._counter_per_gpu = self._counter_per_gpu + read - self._shard_sizes_per_gpu
            self._counter = int(self._counter_per_gpu.min())
        else:
            self._counter = self._counter % self._size if self._size > 0 else 0
        if self._reader_name:
            self._begin_epoch_of_reader()
        for pipeline in self._pipes:
            pipeline.reset()
            if pipeline.empty():
                with pipeline._check_api_type_scope(PipelineAPIType.ITERATOR):
                    pipeline.schedule_run()
        self._note_start()

    def __iter__(self) -> Any:
        if self._counter != 0 and (self._ever_consumed or self._is_at_end):
            self.reset()
        self._is_at_end = False
        return self

    @property
    def size(self) -> int:
        """Samples in an epoch, or −1 where the pipeline itself ends it."""
        return self._size

    def __len__(self) -> int:
        if self._size < 0:
            raise TypeError("the length is not known: the iterator reads until its pipeline ends")
        each = self.batch_size if self._reader_name else self.batch_size * self._num_gpus
        return self._size // each if self._last_batch_policy is LastBatchPolicy.DROP else math.ceil(self._size / each)


class ClassificationIterator(PipelineIterator):
    """Base of iterators over pipelines with outputs ``"data"`` and ``"label"``, named before the framework's."""

    def __init__(
        self,
        pipelines: Pipeline | list[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines, ["data", "label"], size, reader_name, auto_reset, fill_last_batch, dynamic_shape,
            last_batch_padded, last_batch_policy, prepare_first_batch,
        )  # fmt: skip
