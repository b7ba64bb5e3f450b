"""Memory of batches: mapped by the package itself and used again, so that the process's heap is left as it is.

A fresh page costs two to three microseconds when it is first touched, which for a photograph is as much as half of
decoding it. So while a task pool is open, memory that batches give back keeps its pages for the next ones. It is given
back when the last array over it is gone, in whichever thread that is, also after its pipeline is closed.
"""

from __future__ import annotations

import bisect
import contextlib
import math
import mmap
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from dali_lab.model import system
from dali_lab.model.control_groups import memory_limit
from dali_lab.model.lifetime import after_fork

MOST_IDLE = 256 << 20
"""Most bytes with pages that are kept for later batches."""
MOST_IDLE_UNUSED = 4 << 20
"""The same while no task pool is open: small batches of dynamic mode come one after the other."""
LEAST_MAPPED = 64 << 10
"""Bytes of the smallest array that has memory here; smaller ones are NumPy's own."""
_SLAB = 256 << 20
"""Least bytes mapped at a time: unused parts have no pages."""
_ALIGNMENT = 64


class _Slab:
    """Memory mapped in one piece; it is unmapped with the last range and the last array that refer to it."""

    __slots__ = ("address", "memory", "nbytes")

    def __init__(self, nbytes: int) -> None:
        self.memory = system.map_memory(nbytes)
        self.address = np.frombuffer(self.memory, np.uint8).ctypes.data
        self.nbytes = nbytes


class _Range:
    """Free memory; only its first `paged` bytes may have pages."""

    __slots__ = ("address", "nbytes", "paged", "slab")

    def __init__(self, slab: _Slab, address: int, nbytes: int, paged: int) -> None:
        self.slab, self.address, self.nbytes, self.paged = slab, address, nbytes, paged


class _Heap:
    """Cuts arrays from slabs, at the lowest address that fits, so that those in use stay close together."""

    def __init__(self) -> None:
        self.users: weakref.WeakSet[object] = weakref.WeakSet()
        self._free: list[_Range] = []  # by address
        # Any thread may drop memory at any point; the next thread that gets the lock returns it to the heap.
        self._returned: deque[tuple[_Slab, int, int]] = deque()
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> tuple[_Slab, int]:
        """Memory for so many bytes, a multiple of the alignment, and its address."""
        with self._lock:
            self._drain()
            fitting = (free for free in self._free if free.nbytes >= nbytes)
            found = next(fitting, None) or self._grow(nbytes)
            address = found.address
            found.address += nbytes
            found.nbytes -= nbytes
            found.paged = max(0, found.paged - nbytes)
            if not found.nbytes:
                self._free.remove(found)
            return found.slab, address

    def give(self, slab: _Slab, address: int, nbytes: int) -> None:
        """Take memory back; the garbage collector may call this while the same thread holds the lock."""
        self._returned.append((slab, address, nbytes))
        if len(self._returned) > 16 or not self.users:
            self.settle()

    def settle(self) -> None:
        """Return dropped memory to the heap and trim its pages to the limit, unless another thread does so now."""
        if self._lock.acquire(blocking=False):
            try:
                self._drain()
            finally:
                self._lock.release()

    def idle(self) -> int:
        """Bytes that are free and have pages."""
        with self._lock:
            self._drain()
            return sum(free.paged for free in self._free)

    def _drain(self) -> None:
        while self._returned:
            self._put_back(*self._returned.popleft())
        excess = sum(free.paged for free in self._free) - (MOST_IDLE if self.users else MOST_IDLE_UNUSED)
        for free in self._free[::-1] if excess > 0 else ():
            excess -= self._drop_pages(free, min(free.paged, excess))
            if not excess:
                break

    def _put_back(self, slab: _Slab, address: int, nbytes: int) -> None:
        place = bisect.bisect_left(self._free, address, key=attrgetter("address"))
        freed = _Range(slab, address, nbytes, nbytes)
        if place < len(self._free):
            after = self._free[place]
            if after.slab is slab and address + nbytes == after.address:
                freed.paged += after.paged
                freed.nbytes += after.nbytes
                del self._free[place]
        if place:
            before = self._free[place - 1]
            if before.slab is slab and before.address + before.nbytes == address:
                before.paged = before.nbytes + freed.paged
                before.nbytes += freed.nbytes
                return
        self._free.insert(place, freed)

    def _drop_pages(self, free: _Range, nbytes: int) -> int:
        """Give the last `nbytes` of a range that have pages back to the system, and return how many these are."""
        free.paged -= nbytes
        if free.nbytes == free.slab.nbytes and not free.paged:
            self._free.remove(free)
        elif system.DROPS_PAGES:
            begin = free.address - free.slab.address
            first, last = _next_page(begin + free.paged), _next_page(begin + free.paged + nbytes)
            last = last if last <= begin + free.nbytes else last - mmap.PAGESIZE
            if first < last:
                system.drop_pages(free.slab.memory, first, last - first)
        return nbytes

    def _grow(self, nbytes: int) -> _Range:
        try:
            slab = _Slab(max(nbytes, _SLAB))
        except OSError:
            slab = _Slab(nbytes)
        found = _Range(slab, slab.address, slab.nbytes, 0)
        bisect.insort(self._free, found, key=attrgetter("address"))
        return found


def _next_page(place: int) -> int:
    return -(-place // mmap.PAGESIZE) * mmap.PAGESIZE


class Budget:
    """A limit of the memory of batches: of a part of the process, such as previews, or of all that has none.

    Parameters
    ----------
    most
        Bytes that may be in use at a time; arrays under 64 KiB are not counted.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._used = 0
        # The garbage collector may give memory back while the same thread holds the lock.
        self._returned: deque[int] = deque()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def limiting(self) -> Iterator[None]:
        """Let this context, and pools of threads that are made in it, take memory within the limit alone."""
        token = _budget.set(self)
        try:
            yield
        finally:
            _budget.reset(token)

    def take(self, nbytes: int) -> None:
        """Count memory that is about to be taken.

        Raises
        ------
        MemoryError
            If it would be too much.
        """
        with self._lock:
            while self._returned:
                self._used -= self._returned.popleft()
            if self._used + nbytes > self.most:
                more, used, most = (f"{size / 2**30:.3g} GiB" for size in (nbytes, self._used, self.most))
                raise MemoryError(f"{more} are wanted, batches take {used} already, and {most} are the limit")
            self._used += nbytes

    def give(self, nbytes: int) -> None:
        """Count memory that is free again; from any thread, at any point."""
        self._returned.append(nbytes)


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
_process: Budget | None = None
"""The limit where a context has none: more than the machine has would end the process without a word."""


class _Lease:
    """Memory of an array, which goes back to its heap with the last reference to it."""

    __slots__ = ("__array_interface__", "_address", "_budget", "_heap", "_nbytes", "_slab")

    def __init__(self, heap: _Heap, whole: int, nbytes: int, budget: Budget) -> None:
        self._heap, self._nbytes, self._budget = heap, whole, budget
        self._slab, self._address = heap.take(whole)
        self.__array_interface__ = {"version": 3, "data": (self._address, False), "shape": (nbytes,), "typestr": "|u1"}

    def __del__(self) -> None:
        if hasattr(self, "_slab"):  # there was memory
            self._heap.give(self._slab, self._address, self._nbytes)
            self._budget.give(self._nbytes)


_heap = _Heap()


def buffer(nbytes: int) -> npt.NDArray[np.uint8]:
    """Memory with undefined contents, as an array of bytes.

    Raises
    ------
    MemoryError
        If there is not so much, or it would be beyond the :class:`Budget` of this context.
    """
    if nbytes >= LEAST_MAPPED:
        budget = _budget.get() or _of_the_process()
        whole = -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        budget.take(whole)
        try:
            return np.asarray(_Lease(_heap, whole, nbytes, budget))
        except (OSError, OverflowError):
            budget.give(whole)  # NumPy says how much could not be had
    return np.empty(nbytes, np.uint8)


def _of_the_process() -> Budget:
    global _process
    if _process is None:
        _process = Budget(memory_of_machine())
    return _process


def is_own(memory: object) -> TypeGuard[npt.NDArray[np.uint8]]:
    """Whether an object is a whole array of :func:`buffer`."""
    return type(memory) is np.ndarray and memory.dtype == np.uint8 and isinstance(memory.base, (_Lease, type(None)))


def memory_of_machine() -> int:
    """Bytes of memory that the processes of this machine, or of this container, may use."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        found = 8 << 30
    return int(min(found, memory_limit()))


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array with undefined contents in such memory, otherwise as :func:`numpy.empty` makes it."""
    kind = np.dtype(dtype)
    return buffer(math.prod(shape) * kind.itemsize).view(kind).reshape(shape)


def keep_for(user: object) -> None:
    """Keep pages of free memory until `user` is released or gone."""
    _heap.users.add(user)


def release(user: object) -> None:
    """Undo :func:`keep_for`; with the last user, the pages of free memory go back to the system."""
    _heap.users.discard(user)
    _heap.settle()


@after_fork
def _after_fork() -> None:
    """Give a forked child its own heap: a thread of the parent may have held the lock of the old one."""
    global _heap, _process
    _heap.users.clear()
    _heap, _process = _Heap(), None
