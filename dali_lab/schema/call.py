"""One call of an operator's `run`: its samples, memory, kernels, and other chunks of the batch."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType
from dali_lab.model.errors import DaliLabError, SampleError
from dali_lab.schema.argument_values import CalledSamples

if TYPE_CHECKING:
    from dali_lab.device.launcher import Launcher

LARGEST_SAMPLE = 1 << 40
"""Elements of a sample beyond which a shape is taken for a mistake."""
MOST_DIMENSIONS = 64
"""Dimensions of a sample, as many as NumPy's arrays have."""


class Wait(Exception):
    """Raised where facts about other chunks of the batch are missing; the chunk is run again once they are known."""


@dataclass
class Notes:
    """Facts that the chunks of a batch noted at one node, by their first sample; `complete` when all have."""

    facts: dict[int, Any] = field(default_factory=dict)
    complete: bool = False


@dataclass
class Call(CalledSamples):
    """One call of `run`: which samples its inputs are, and the argument values for each of them.

    Attributes
    ----------
    operator
        The node's operator.
    start, count
        The samples are ``start … start + count - 1`` of their batch.
    batch_size
        Samples in the whole batch (before conditionals cut it).
    iteration
        Batch number since the pipeline was built.
    drawn_before
        Samples that this operator has seen in earlier batches; random streams start there.
    seed
        The operator's seed.
    ticket
        The ticket from the source's `draw`.
    batches
        Connected arguments by name.
    repeat
        For a call on frames: number of frames in each sample.
    random_state
        The words of a generator to draw from, where the call itself is given one, not the operator.
    place
        Offers memory for an output: ``place(output, shapes, dtype, layout)``.
    cancelled
        Returns whether the result is no longer wanted.
    gpu
        Where kernels are launched, if the node runs on a GPU; inputs and outputs are device memory then, connected
        arguments (`batches`) are not.
    defer
        The only user of the output takes pictures that are not decoded yet.
    notes
        Facts that the chunks of the batch share; `None` where this chunk is the whole batch.
    sharing
        How :meth:`share` finds other threads.
    lost
        Samples that the call goes on without, with their errors; `None` where it must fail. See :meth:`lose`.
    stand_ins
        Lost samples at whose place the results are those of another sample of the call. See :meth:`lose`.
    transient
        The batch is used and given back soon, as a preview's is not: samples may lie in memory that they share.
    user_context
        Entered around functions of the user: it makes their pipeline the current one.
    aside
        Where a fused operator may leave the result of its first half, which a cache keeps; `None` where none is wanted.
    rows
        ``int64[count]``, the index by which each sample draws random numbers, where it is not that in the batch.
    """

    iteration: int = 0
    ticket: Any = None
    place: Callable[[int, npt.NDArray[np.int64], DALIDataType, str], Batch | None] | None = None
    cancelled: Callable[[], bool] = lambda: False
    sources: tuple[str, ...] | None = None
    gpu: Launcher | None = None
    defer: bool = False
    notes: Notes | None = None
    sharing: Callable[[Callable[[int], bool]], None] | None = None
    lost: dict[int, SampleError] | None = None
    stand_ins: dict[int, int] = field(default_factory=dict)
    transient: bool = False
    user_context: Callable[[], AbstractContextManager[object]] = nullcontext
    aside: list[Batch] | None = None
    rows: npt.NDArray[np.int64] | None = None

    def share(self, work: Callable[[int], bool]) -> None:
        """Run work on the samples on this thread and on idle ones.

        Parameters
        ----------
        work
            Processes at most as many of the remaining samples as it is told, and returns whether any remain. It
            takes them from a counter (:func:`~dali_lab.kernels.cpu.machine.instructions.take`), so that several threads
            can run it at the same time.
        """
        if self.sharing is None:
            work(self.count)
        else:
            self.sharing(work)

    def share_each(self, count: int, work: Callable[[int], None]) -> None:
        """Call `work` with each index below `count`, on this thread and on idle ones."""
        following = itertools.count()

        def some(most: int) -> bool:
            for _ in range(most):
                index = next(following)
                if index >= count:
                    return False
                work(index)
            return True

        if self.sharing is None:
            some(count)
        else:
            self.sharing(some)

    def note(self, fact: object) -> list[Any]:
        """Tell the other chunks of the batch a fact about this one; returns all facts so far, this one included.

        An operator that asks with :meth:`gathered` notes something in every call.
        """
        if self.notes is None:
            return [fact]
        self.notes.facts[self.start] = fact
        return list(self.notes.facts.values())

    def gathered(self) -> list[Any]:
        """The facts that all chunks of the batch noted; empty where this chunk is the whole batch.

        Raises
        ------
        Wait
            If some chunks have noted nothing yet: the executor calls `run` again when they have.
        """
        if self.notes is None:
            return []
        if not self.notes.complete:
            raise Wait
        return list(self.notes.facts.values())

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """Index in the batch of each sample, by which it draws random numbers: ``int64[count]``."""
        if self.rows is not None:
            return self.rows
        return np.arange(self.start, self.start + self.count, dtype=np.int64)

    def allocate(self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "", *, output: int = 0) -> Batch:
        """Memory for an output, in the output batch itself where the executor knows it already.

        Raises
        ------
        OperatorError
            If a shape is negative, or larger than memory can be.
        """
        table = np.asarray(shapes, np.int64)
        if table.ndim != 2:
            table = table.reshape(self.count, -1)
        self._check_shapes(table, dtype)
        if self.gpu is not None:
            batch = self.gpu.batch(table, dtype, layout, self.repeat)
            batch.sources = self.sources
            return batch
        if self.place is not None and self.repeat is None:
            placed = self.place(output, table, dtype, layout)
            if placed is not None:
                placed.sources = self.sources
                return placed
        return Batch.allocate(table, dtype, layout, self.sources)

    def _check_shapes(self, table: npt.NDArray[np.int64], dtype: DALIDataType) -> None:
        if table.shape[1] > MOST_DIMENSIONS:
            raise self.problem(
                f"the output would have {table.shape[1]} dimensions; a sample has at most {MOST_DIMENSIONS}"
            )
        if not table.size or (table.min() >= 0 and int(table.max()) ** table.shape[1] <= LARGEST_SAMPLE):
            return
        elements = table.prod(axis=1, dtype=np.float64)  # int64 would wrap
        wrong = (table < 0).any(axis=1) | (elements > LARGEST_SAMPLE)
        if wrong.any():
            index = int(wrong.argmax())
            raise self.problem(
                f"the output would have the shape {table[index].tolist()} of {dtype.name};"
                f" extents are not negative, and a sample has at most 2^{LARGEST_SAMPLE.bit_length() - 1} elements",
                sample=index,
            )

    def scratch(self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "") -> Batch:
        """Temporary memory on the device of the node; shapes are checked as for outputs."""
        table = np.asarray(shapes, np.int64)
        table = table.reshape(len(table), -1)
        self._check_shapes(table, dtype)
        return Batch.allocate(table, dtype, layout) if self.gpu is None else self.gpu.batch(table, dtype, layout)

    def kernels(self, module: str) -> Any:
        """The kernels of a module of :mod:`dali_lab.kernels`, such as ``"copy"``, for the device of the node.

        Both devices have the same functions with the same arguments: tables of addresses and shapes, and arrays of
        parameters on the CPU.

        Raises
        ------
        OperatorError
            If the GPU has no such kernels.
        """
        if self.gpu is None:
            return _on_cpu(module)
        return _Kernels(self, module)

    def lose(self, error: DaliLabError, stand_in: int | None = None) -> None:
        """Go on without a sample: the results of the call hold anything in its place, and are not used.

        Parameters
        ----------
        error
            It names the sample.
        stand_in
            Index in the call of another sample: the results at the place of the lost one are what they were if the
            first input held that sample there. This saves computing them again where it is the one that takes the
            place.

        Raises
        ------
        SampleError
            The error itself, where the call must fail.
        """
        if self.lost is None or error.sample is None or not isinstance(error, SampleError):
            raise error
        self.lost.setdefault(error.sample, error)
        self.stand_ins.pop(error.sample, None)
        if stand_in is not None:
            self.stand_ins[error.sample] = self.start + stand_in


@functools.cache
def _on_cpu(module: str) -> ModuleType:
    return importlib.import_module(f"dali_lab.kernels.cpu.{module}")


class _Kernels:
    """The functions of a module of CUDA kernels, with the launcher of a call as their first argument."""

    def __init__(self, call: Call, module: str) -> None:
        self._call = call
        self._name = f"dali_lab.kernels.cuda.{module}"
        try:
            self._module = importlib.import_module(self._name)
        except ModuleNotFoundError as error:
            if error.name != self._name:
                raise
            raise call.problem("does not run on the GPU yet; place it on the CPU (device='cpu')") from None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name, None)
        if found is None:
            raise self._call.problem("does not run on the GPU with these arguments; place it on the CPU (device='cpu')")
        return functools.partial(found, self._call.gpu) if getattr(found, "launches", False) else found
