"""Base of stores that write: samples wait for a thread that writes them, and every read is checked against a sum."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dali_lab.executor.caching.compression import Compression, has_codecs, unpack
from dali_lab.executor.caching.entries import CODEC, NONE, STORED, SUM, Form, Rows
from dali_lab.executor.caching.filling import RecentCost
from dali_lab.executor.caching.index_file import Index
from dali_lab.executor.caching.store import Store
from dali_lab.io.locations import shown
from dali_lab.model.batch import Batch
from dali_lab.model.buffers import buffer
from dali_lab.model.lifetime import ended_at_exit

PENDING = 32 << 20
"""Most bytes that wait to be written: what comes beyond is kept in a later epoch."""
_LINGER = 0.5
"""Seconds that the writer waits for more before it lets other processes see what it has written, and ends."""
_LAST = 10.0
"""Most seconds that the end of a pipeline waits for the writer; a slow disk gets the rest in a later run."""
_PATIENCE = 2.0
"""Seconds spent on reading from which on a slow disk is noticed."""


@dataclass
class Waiting:
    """Samples that wait to be written, with their rows; these have no places yet, and sums of outputs alone."""

    rows: Rows
    batches: Sequence[Batch]
    nbytes: int
    seconds: float


class WrittenStore(Store):
    """Keeps samples somewhere outside of the process's memory.

    Samples are read with their sums checked, so damage of any kind is a sample that is not there. What is kept is
    written by a thread that lives while there is something to write. Where writing fails, nothing more is written.

    Parameters
    ----------
    form
        Of its rows.
    place
        Where samples are kept, for messages.
    compression
        Chooses how they are compressed.
    exposed
        For each edge whether its batches are outputs, which a program may write to.
    """

    def __init__(self, form: Form, place: str, compression: Compression, exposed: Sequence[bool]) -> None:
        super().__init__(form)
        self._place, self._compression, self._exposed = shown(place), compression, exposed
        self._lock = threading.Lock()
        self._done, self._more = threading.Condition(self._lock), threading.Condition(self._lock)
        self._hurried = 0
        self._waiting: deque[Waiting] = deque()
        self._pending = 0
        self._writer: threading.Thread | None = None
        self._full = self._slow = False
        self._told: set[str] = set()
        self._reading, self._read_bytes = 0.0, 0
        self._made, self._made_bytes = 0.0, 0
        self._cost, self._writing = RecentCost(), 0.0
        _open.add(self)

    @property
    def takes_more(self) -> bool:
        return not (self._full or self._slow)

    @property
    def writing(self) -> float:
        return self._writing

    @abstractmethod
    def _look(self) -> None:
        """Take in what other processes have written, if it is time to."""

    @abstractmethod
    def _fetch(self, rows: Rows, edge: int, addresses: Rows, found: Rows) -> npt.NDArray[np.bool_]:
        """Read the stored bytes of samples of an edge to addresses; tells which ones were there, and `found` sums."""

    @abstractmethod
    def _write(self, item: Waiting) -> None:
        """Write samples, and enter their rows."""

    @abstractmethod
    def _settle(self) -> None:
        """Let other processes see what was written; called whenever nothing waits."""

    def _is_own(self, index: Index, name: str) -> bool:
        """Whether an index is one of this cache; says so where it is not."""
        own = index.form is not None and (index.form.words, index.form.edges) == (self.form.words, self.form.edges)
        if not own:
            self._tell("foreign", f"'{name}' in '{self._place}' is no index of this cache, and is left alone")
        return own

    def _enter(self, index: Index, number: int) -> None:
        """Enter the samples of an index, whose data have this number."""
        index.rows[:, self.form.words] = number
        self._made += index.seconds
        self._made_bytes += self.form.stored(index.rows)
        self.entries.add(index.rows)

    # -- reading ----------------------------------------------------------------------------------------------------

    def find(self, identities: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
        if self._slow:
            return np.zeros(len(identities), np.bool_), np.zeros((0, self.form.width), np.int64)
        found, rows = self.entries.find(identities)
        if not found.all():
            before = len(self.entries)
            self._look()
            if len(self.entries) != before:
                found, rows = self.entries.find(identities)
        return found, rows

    def read(self, rows: Rows, edge: int, addresses: Rows) -> npt.NDArray[np.bool_]:
        began = time.perf_counter()
        at = self.form.at(edge)
        stored, packed = rows[:, at + STORED], np.flatnonzero(rows[:, at + CODEC] != NONE)
        targets = np.array(addresses, np.int64)
        if len(packed):
            ends = np.cumsum(stored[packed])
            memory = buffer(int(ends[-1]))
            targets[packed] = memory.ctypes.data + ends - stored[packed]
        found = np.zeros(len(rows), np.int64)
        whole = self._fetch(rows, edge, targets, found)
        counts = np.where(whole, stored, 0)
        whole &= found == rows[:, at + SUM]
        for index in packed[whole[packed]].tolist():
            size = int(self.form.counts(rows[index : index + 1], edge)[0])
            codec, count = int(rows[index, at + CODEC]), int(stored[index])
            whole[index] = unpack(codec, int(targets[index]), count, int(addresses[index]), size)
        if not whole.all():
            self.entries.drop(rows[~whole])
            reason = "is damaged; damaged samples are computed again"
            if len(packed) and not has_codecs():
                reason = "has compressed data, which take the package imagecodecs; these samples are computed again"
            self._tell("damaged", f"the cache '{self._place}' {reason}")
        self._note_reading(time.perf_counter() - began, int(counts.sum()))
        return whole

    def _note_reading(self, seconds: float, nbytes: int) -> None:
        self._reading += seconds
        self._read_bytes += nbytes
        if self._reading > _PATIENCE and self._made_bytes and self._made > 0 and not self._slow:
            made_anew = self._made / self._made_bytes * self._read_bytes
            if self._reading > 2 * made_anew:
                self._slow = True
                self._tell(
                    "slow", f"reading from the cache '{self._place}' takes longer than the work; it is left alone"
                )

    # -- writing ----------------------------------------------------------------------------------------------------

    def put(self, identities: Rows, batches: Sequence[Batch], seconds: float) -> None:
        if self._full or self._slow:
            return
        wanted = np.flatnonzero(identities.any(axis=1))
        if not len(wanted):
            return
        parts = list(batches)
        if len(wanted) < len(identities):
            identities, parts = identities[wanted], [batch.take(wanted) for batch in batches]
        rows = self.form.described(identities, parts)
        if rows is None:
            return
        nbytes = self.form.total(rows)
        with self._lock:
            if self._pending + nbytes > PENDING:
                return
            self._pending += nbytes
        for edge, part in enumerate(parts):
            if self._exposed[edge]:
                rows[:, self.form.at(edge) + SUM] = sums(part.addresses, self.form.counts(rows, edge))
        with self._lock:
            if self._full:
                self._pending -= nbytes
                return
            if self._writer is None:
                writer = threading.Thread(target=self._write_all, name="dali-lab-cache")
                try:
                    writer.start()
                except RuntimeError:  # there may be no more threads
                    self._pending -= nbytes
                    return
                self._writer = writer
            self._waiting.append(Waiting(rows, parts, nbytes, seconds * len(wanted) / len(batches[0])))
            self._more.notify()

    def _write_all(self) -> None:
        """Write until nothing waits; the body of the writer."""
        while True:
            with self._lock:
                if not self._waiting and not self._hurried:
                    self._more.wait(_LINGER)  # a thread and an index for each chunk would cost as much as writing
                item = self._waiting.popleft() if self._waiting else None
            began = time.thread_time()
            try:
                if item is None:
                    self._settle()
                elif not self._full:
                    new = self._without_known(item)
                    if len(new.rows):
                        self._write(new)
                        self._cost.note(len(item.rows), time.thread_time() - began)
                        self._writing = self._cost.seconds
            except OSError as error:
                self._give_up(error)
            except Exception as error:  # whatever it is, it must not end training
                self._give_up(error)
            with self._lock:
                if item is not None:
                    self._pending -= item.nbytes
                elif not self._waiting:
                    self._writer = None
                    self._done.notify_all()
                    return

    def _without_known(self, item: Waiting) -> Waiting:
        """The samples that nobody has written meanwhile: the same one may have been computed twice at a time."""
        known, _ = self.entries.find(item.rows[:, : self.form.words])
        if not known.any():
            return item
        new = np.flatnonzero(~known)
        rows, batches = item.rows[new], [batch.take(new) for batch in item.batches]
        return Waiting(rows, batches, item.nbytes, item.seconds * len(new) / len(known))

    def _packed(self, item: Waiting) -> list[Batch]:
        """The bytes to write for each edge: those of the samples, or what they are compressed to."""
        found = []
        for edge, batch in enumerate(item.batches):
            at, counts = self.form.at(edge), self.form.counts(item.rows, edge)
            codec = self._compression.choose(edge, batch, counts, item.seconds)
            if codec == NONE:
                found.append(batch)
                continue
            packed, codecs = self._compression.pack(codec, batch, counts)
            found.append(packed)
            if self._exposed[edge]:
                changed = sums(batch.addresses, counts) != item.rows[:, at + SUM]
            item.rows[:, at + STORED], item.rows[:, at + CODEC] = packed.sizes, codecs
            item.rows[:, at + SUM] = sums(packed.addresses, packed.sizes)
            if self._exposed[edge]:
                item.rows[changed, at + SUM] += 1
        return found

    def _unchanged(self, item: Waiting, written: Sequence[Batch]) -> npt.NDArray[np.bool_]:
        """Which samples still hold what they held when they were put: a program may write to outputs."""
        same = np.ones(len(item.rows), np.bool_)
        for edge, batch in enumerate(written):
            if self._exposed[edge]:
                at = self.form.at(edge)
                same &= sums(batch.addresses, item.rows[:, at + STORED]) == item.rows[:, at + SUM]
        return same

    def _give_up(self, error: Exception) -> None:
        self._full = True
        reason = getattr(error, "strerror", None) or shown(str(error)) or type(error).__name__
        self._tell("unwritable", f"nothing more is kept in the cache '{self._place}': {reason}")

    def _tell(self, kind: str, message: str) -> None:
        """Warn once of each kind of trouble; the pipeline goes on in any case."""
        if kind not in self._told:
            self._told.add(kind)
            with contextlib.suppress(Warning):
                warnings.warn(message, RuntimeWarning, stacklevel=2)

    # -- ending -----------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        self._await_writer()

    def _await_writer(self, seconds: float | None = None) -> None:
        with self._lock:
            self._hurried += 1
            self._more.notify()
            self._done.wait_for(lambda: self._writer is None, seconds)
            self._hurried -= 1

    def end(self) -> None:
        """Write what waits, for a while, and take nothing more."""
        self._await_writer(_LAST)
        self._full = True
        self._await_writer()

    def close(self) -> None:
        self.end()


_open = ended_at_exit(WrittenStore.end)
"""Their writers end, and none begins, before the interpreter does: it never tells that a thread has ended with it."""


def sums(addresses: Rows, counts: Rows) -> Rows:
    """The sum of the bytes at each address."""
    from dali_lab.kernels.cpu import background, file_access

    found = np.zeros(len(counts), np.int64)
    tables = np.ascontiguousarray(addresses), np.ascontiguousarray(counts)
    background.call(file_access.sums, *tables, found, meanwhile=file_access.sums_plain)
    return found
