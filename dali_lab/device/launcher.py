"""Puts work for a stream together and issues it, the descriptors of all its launches in one upload."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Bytes, Device, Event, Stream
from dali_lab.device.memory import Block
from dali_lab.device.staging import Staging
from dali_lab.kernels.cuda.kernel import THREADS, Variant
from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import DALIDataType, numpy_dtype

_CHUNK = 128 << 10
_MOST_BLOCKS = 1024
_MOST_ROWS = 65535


class Launcher:
    """Collects launches and other work for one stream, and issues them together by :meth:`issue`.

    Use it as a context: the stream is locked, and the work is issued at the end.

    Parameters
    ----------
    stream
        Where the work runs.

    Attributes
    ----------
    launches, uploads
        Their numbers, for statistics and tests.
    launched
        Launches under each name (see :meth:`time`).
    culprit
        The name (see :meth:`time`) of the work that could not be started.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.device: Device = stream.device
        self.launches = 0
        self.uploads = 0
        self.launched: Counter[str] = Counter()
        self.culprit = ""
        self._name = ""
        self._work: list[tuple[str, Callable[[], None]]] = []
        self._kept: list[Any] = []
        self._times: list[tuple[str, Event]] = []
        self._afterwards: list[Callable[[Event], None]] = []
        self._chunk: tuple[Block, Staging] | None = None
        self._used = 0
        self._chunks: list[tuple[Block, Staging, int]] = []

    def __enter__(self) -> Self:
        self.stream.lock.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.issue()
        finally:
            self.stream.lock.release()

    def batch(
        self, shapes: npt.ArrayLike, dtype: DALIDataType, layout: str = "", groups: npt.NDArray[np.int64] | None = None
    ) -> Batch:
        """Device memory for samples of these shapes, one after the other; its contents are undefined.

        `groups` says how many of them belong together, as frames of a sequence do.
        """
        table = np.asarray(shapes, np.int64)
        if table.ndim != 2:
            table = table.reshape(len(table), -1)
        sizes = table.prod(axis=1) * numpy_dtype(dtype).itemsize
        ends = np.cumsum(sizes)
        if not self.device.arena.slab:  # each sample on its own, so that a memory checker sees its ends
            counts = np.ones(len(sizes), np.int64) if groups is None else groups
            last = np.cumsum(counts)
            edges = np.concatenate([[0], ends])
            blocks = [self.scratch(int(n)) for n in edges[last] - edges[last - counts]]
            starts = np.array([block.address for block in blocks], np.int64) - edges[last - counts]
            return Batch(np.repeat(starts, counts) + ends - sizes, table, dtype, layout, tuple(blocks))
        block = self.scratch(int(ends[-1]) if len(ends) else 0)
        return Batch(block.address + ends - sizes, table, dtype, layout, (block,))

    def scratch(self, nbytes: int) -> Block:
        """Device memory that a kernel may use; drop it when the launches that use it have been put together."""
        block = self.device.arena.allocate(nbytes, self.stream)
        address, size = block.address, block.nbytes
        self.then(lambda: self.device.poison(self.stream, address, size))
        return block

    def constant(self, values: npt.NDArray[Any]) -> int:
        """Send an array along with the descriptors; its address, good for the launches until :meth:`issue`."""
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        start = -(-self._used // 16) * 16
        if self._chunk is None or start + data.nbytes > self._chunk[0].nbytes:
            self._begin_chunk(max(_CHUNK, data.nbytes))
            start = 0
        assert self._chunk is not None
        block, staging = self._chunk
        staging.data[start : start + data.nbytes] = data
        self._used = start + data.nbytes
        return block.address + start

    def rows(self, values: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
        """Send a table with a row for each of `count` samples, or one for all; the address of each sample's row."""
        step = values[:1].nbytes if len(values) > 1 else 0
        return self.constant(values) + step * np.arange(count, dtype=np.int64)

    def launch(self, variant: Variant, table: npt.NDArray[Any], param: npt.NDArray[Any], most: int) -> None:
        """Launch over a table of samples, of which the largest has work for `most` threads."""
        address = self.constant(table)
        blocks = (min(_MOST_BLOCKS, -(-most // THREADS)), min(_MOST_ROWS, len(table)))
        self.then(lambda: self.stream.launch(variant, blocks, THREADS, address, param))
        self.launches += 1
        self.launched[self._name] += 1

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy within the device."""
        if nbytes:
            self.then(lambda: self.stream.copy(target, source, nbytes))

    def upload(self, batch: Batch) -> Batch:
        """A batch of the CPU on the device: one copy, from pinned memory, for all of its samples."""
        from dali_lab.kernels.cpu.copy import copy

        out = self.batch(batch.shapes, batch.dtype, batch.layout)
        out.sources = batch.sources
        sizes = batch.sizes * batch.itemsize
        total = int(sizes.sum())
        starts = np.cumsum(sizes) - sizes
        staging = self.device_staging(total)
        copy(batch.addresses, staging.data.ctypes.data + starts, batch.sizes, batch.itemsize)
        self._kept.append(staging)
        if self.device.arena.slab:
            if total:
                self._send(int(out.addresses[0]), staging.data[:total])
            return out
        for address, start, size in zip(out.addresses.tolist(), starts.tolist(), sizes.tolist(), strict=True):
            if size:
                self._send(address, staging.data[start : start + size])
        return out

    def use(self, batch: Batch) -> None:
        """Use a batch that other streams may have made: after them, and its memory is kept until this has run."""
        for owner in batch.owners:
            if isinstance(owner, Block):
                owner.ready_on(self.stream)
                owner.used_on(self.stream)

    def keep(self, thing: object) -> None:
        """Keep something alive until the work has been issued."""
        self._kept.append(thing)

    def then(self, work: Callable[[], None]) -> None:
        """Queue other work for the stream, in order (decoders, kernels of the user); called by :meth:`issue`."""
        self._work.append((self._name, work))

    def afterwards(self, work: Callable[[Event], None]) -> None:
        """Call something with the event that marks the end of this work, once it has been issued."""
        self._afterwards.append(work)

    def time(self, name: str) -> None:
        """Begin to count time for a name, and end to count it for the one before; see :meth:`times`."""
        self._name = name
        self.then(lambda: self._times.append((name, self.stream.record(timing=True))))

    def times(self) -> list[tuple[str, Event, Event]]:
        """Names that were timed in what has been issued, with the events between which their work runs."""
        marks = self._times
        return [(name, begin, end) for (name, begin), (_, end) in itertools.pairwise(marks) if name]

    def device_staging(self, nbytes: int) -> Staging:
        """Pinned memory; it goes back when the work has run."""
        return Staging.borrow(self.device, nbytes)

    def issue(self) -> Event:
        """Upload the descriptors, start all work that was put together, and mark its end."""
        self._end_chunk()
        work, self._work = self._work, []
        try:
            for block, staging, used in self._chunks:
                self.stream.upload(block.address, staging.data[:used])
                self.uploads += 1
            for name, start in work:
                self.culprit = name
                start()
            self.culprit = ""
        finally:
            event = self._finish()
        return event

    def _finish(self) -> Event:
        """Mark the end of what was started, after which what was kept for it may go."""
        event = self.stream.mark()
        for staging in [staging for _, staging, _ in self._chunks] + self._kept:
            if isinstance(staging, Staging):
                staging.give_back(event)
        self._chunks = []
        self._kept = []
        afterwards, self._afterwards = self._afterwards, []
        for tell in afterwards:
            tell(event)
        return event

    def _send(self, address: int, data: Bytes) -> None:
        self.then(lambda: self.stream.upload(address, data))

    def _begin_chunk(self, nbytes: int) -> None:
        self._end_chunk()
        kept = self.stream.descriptors
        place = len(self._chunks)
        if place == len(kept):
            kept.append(self.device.arena.allocate(nbytes, self.stream, fresh=True))
        elif kept[place].nbytes < nbytes:
            kept[place].used_on(self.stream)  # work that was issued may still read what goes back now
            kept[place] = self.device.arena.allocate(nbytes, self.stream, fresh=True)
        self._chunk = (kept[place], self.device_staging(kept[place].nbytes))
        self._used = 0

    def _end_chunk(self) -> None:
        if self._chunk is not None:
            self._chunks.append((*self._chunk, self._used))
        self._chunk = None
        self._used = 0
