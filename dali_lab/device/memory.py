"""Device memory: an arena that blocks are cut from, and given back to in the order of streams."""

from __future__ import annotations

import bisect
import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dali_lab.model.errors import OutOfDeviceMemory
from dali_lab.model.memory import DeviceMemory

if TYPE_CHECKING:
    from dali_lab.device.interface import Device, Event, Stream

ALIGNMENT = 256
_SLAB = 64 << 20


class Block(DeviceMemory):
    """Device memory in use; it goes back to its arena when the last reference to it is dropped.

    Attributes
    ----------
    address, nbytes
        Its address and size.
    device
        Whose memory it is.
    """

    __slots__ = ("__weakref__", "_arena", "_users", "address", "device", "nbytes")

    device: Device

    def __init__(self, arena: Arena, address: int, nbytes: int, stream: Stream) -> None:
        self._arena = arena
        self._users: dict[Stream, int] = {stream: stream.issued}
        self.address = address
        self.nbytes = nbytes
        self.device = arena.device

    def used_on(self, stream: Stream) -> None:
        """Note that work put together for a stream uses the memory, so that it is not reused before that has run."""
        self._users[stream] = stream.issued if not stream.foreign else 0

    def ready_on(self, stream: Stream) -> None:
        """Let later work of a stream run after what other streams have been given to do with the memory."""
        for user, number in list(self._users.items()):  # other threads add theirs
            if user is not stream and number < user.issued:
                stream.wait(self._arena.event_of(user, number))

    def __del__(self) -> None:
        arena = getattr(self, "_arena", None)
        if arena is not None:
            arena._returned.append((self.address, self.nbytes, self._users))


class Borrowed(Block):
    """Device memory of another library; its owner is kept alive until all work that uses it has run.

    Parameters
    ----------
    arena
        Of the device.
    address, nbytes
        Its address and size.
    owner
        The object that keeps the memory alive.
    producers
        Streams whose work until now may still write it.
    """

    __slots__ = ("_owner",)

    def __init__(self, arena: Arena, address: int, nbytes: int, owner: Any, producers: Iterable[Stream]) -> None:
        self._owner = owner
        self._users = {}
        for stream in producers:
            with stream.lock:
                self._users[stream] = stream.issued
                stream.mark()
        self.address = address
        self.nbytes = nbytes
        self.device = arena.device
        self._arena = arena

    def __del__(self) -> None:
        arena = getattr(self, "_arena", None)
        if arena is not None:
            arena._lent.append((self._owner, self._users))


class _Range:
    """Free memory, and the streams whose earlier work may still use it, each with the number of its mark."""

    __slots__ = ("address", "nbytes", "users")

    def __init__(self, address: int, nbytes: int, users: dict[Stream, int]) -> None:
        self.address = address
        self.nbytes = nbytes
        self.users = users


class Arena:
    """Pooled memory of one device.

    A block that is given back can be had again at once on the stream that used it, since work runs in order there;
    on another stream only after an event, which the other stream is then told to wait for. Streams that run ahead do
    not wait for the last work of another one: copies of one batch would then wait for the kernels of the one before.

    Parameters
    ----------
    device
        Whose memory.
    slab
        Bytes taken from the device at a time; 0 takes each block on its own, so that a memory checker sees its ends.
    lock
        The device's own lock, if its streams and events take one.
    """

    def __init__(self, device: Device, slab: int = _SLAB, lock: threading.RLock | None = None) -> None:
        self.device = device
        self.slab = slab
        self.in_use = 0
        self.peak = 0
        self.held = 0
        self.limit: int | None = None
        self._slabs: dict[int, int] = {}
        self._free: list[_Range] = []
        self._cuts: list[tuple[int, int]] = []  # where blocks begin and how long they are, for the emulated device
        # Any thread may drop a reference at any moment; the memory is put back at the next allocation.
        self._returned: deque[tuple[int, int, dict[Stream, int]]] = deque()
        self._unissued: list[tuple[int, int, dict[Stream, int]]] = []
        self._lent: deque[tuple[Any, dict[Stream, int]]] = deque()
        self._unfinished: list[tuple[Any, list[Event]]] = []
        self._lock = lock or threading.RLock()

    def allocate(self, nbytes: int, stream: Stream, *, fresh: bool = False) -> Block:
        """A block for work of a stream; its contents are undefined.

        With `fresh` it is memory that nothing has used before, so that it can be written out of the stream's order.

        Raises
        ------
        OutOfDeviceMemory
            If there is not so much, even after unused memory was given back.
        """
        size = max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
        with self._lock:
            self._drain()
            if not self.slab:
                address = self.device.take(max(nbytes, 1))
                self._slabs[address] = size = max(nbytes, 1)
                self.held += size
            else:
                address = self._cut(size, stream, fresh)
            if self.device.kind == "emulated":
                self._note_cut(address, size)
            self.in_use += size
            self.peak = max(self.peak, self.in_use)
        return Block(self, address, size, stream)

    def reserve(self, nbytes: int) -> None:
        """Take memory from the device beforehand, so that this much is held in all.

        Raises
        ------
        OutOfDeviceMemory
            If there is not so much.
        """
        with self._lock:
            if self.slab and self.held < nbytes:
                self._grow(nbytes - self.held)

    def trim(self) -> int:
        """Give memory back to the device that nothing uses; returns the number of bytes."""
        given = 0
        with self._lock:
            self._drain()
            for event in [event for _, events in self._unfinished for event in events]:
                event.synchronize()
            self._let_go()
            for found in list(self._free):
                issued = all(number < user.issued for user, number in found.users.items())
                if issued and self._slabs.get(found.address) == found.nbytes:
                    for stream, number in found.users.items():
                        self.event_of(stream, number).synchronize()
                    self._free.remove(found)
                    del self._slabs[found.address]
                    self.device.give(found.address)
                    given += found.nbytes
            self.held -= given
        return given

    def _cut(self, size: int, stream: Stream, fresh: bool) -> int:
        found = None if fresh else self._best(size, stream, stream.ahead)
        if found is None:
            try:
                found = self._grow(size)
            except OutOfDeviceMemory:
                found = self._best(size, stream, False) if stream.ahead and not fresh else None
                if found is None:
                    raise
        for user, number in found.users.items():
            if user is not stream:
                stream.wait(self.event_of(user, number))
        address = found.address
        if found.nbytes == size:
            self._free.remove(found)
        else:
            found.address += size
            found.nbytes -= size
        return address

    def _best(self, size: int, stream: Stream, ahead: bool) -> _Range | None:
        """The smallest range that fits, preferring those without waiting; none whose users' work is not issued.

        With `ahead`, none in use by the last work of another stream that has not run.
        """
        chosen: tuple[bool, int] | None = None
        best = None
        for found in self._free:
            if found.nbytes < size:
                continue
            others = [(user, number) for user, number in found.users.items() if user is not stream]
            if any(number >= user.issued for user, number in others):
                continue
            for user, number in others:
                event = user.marked(number)
                if event is not None and event.done():
                    del found.users[user]
            if ahead and any(user is not stream and number >= user.issued - 1 for user, number in found.users.items()):
                continue
            rank = (any(user is not stream for user in found.users), found.nbytes)
            if chosen is None or rank < chosen:
                chosen, best = rank, found
        return best

    @staticmethod
    def event_of(user: Stream, number: int) -> Event:
        """The end of a stream's work that was put together as number `number`."""
        event = user.marked(number)
        return user.record() if event is None else event

    def _grow(self, size: int) -> _Range:
        # Large outputs get slabs of their own size; a slab grows with what is held, so that there are few of them.
        want = max(size, min(self.slab, max(self.held, 1 << 20)))
        want = -(-want // (2 << 20)) * (2 << 20) if want >= 2 << 20 else want
        for attempt, amount in enumerate((want, size, size)):
            if self.limit is not None and self.held + amount > self.limit and attempt < 2:
                self.trim()
                continue
            try:
                if self.limit is not None and self.held + amount > self.limit:
                    raise OutOfDeviceMemory(f"{amount} bytes more than the cap of {self.limit}")
                address = self.device.take(amount)
                break
            except OutOfDeviceMemory:
                if attempt == 2:
                    raise
                self.trim()
                self.device.relieve()
        self._slabs[address] = amount
        self.held += amount
        found = _Range(address, amount, {})
        self._free.append(found)
        return found

    def blocks(self) -> list[tuple[int, int]]:
        """Addresses and sizes of the blocks as they were last cut, in order; kept for the emulated device."""
        with self._lock:
            return list(self._cuts)

    def _note_cut(self, address: int, size: int) -> None:
        first = bisect.bisect_left(self._cuts, (address, 0))
        if first and sum(self._cuts[first - 1]) > address:
            first -= 1
        last = first
        while last < len(self._cuts) and self._cuts[last][0] < address + size:
            last += 1
        self._cuts[first:last] = [(address, size)]

    def _drain(self) -> None:
        self._returned.extend(self._unissued)
        self._unissued = []
        while self._returned:
            self._put_back(*self._returned.popleft())
        self._let_go()

    def _let_go(self) -> None:
        """Drop owners of other libraries' memory where all work that uses it has run."""
        for _ in range(len(self._lent)):
            owner, users = self._lent.popleft()
            if any(number >= user.issued and not user.foreign for user, number in users.items()):
                self._lent.append((owner, users))
                continue
            self._unfinished.append((owner, [self.event_of(user, number) for user, number in users.items()]))
        self._unfinished = [row for row in self._unfinished if not all(event.done() for event in row[1])]

    def _put_back(self, address: int, size: int, users: dict[Stream, int]) -> None:
        if not self.slab and any(number >= user.issued for user, number in users.items()):
            self._unissued.append((address, size, users))
            return
        self.in_use -= size
        for user in [user for user in users if user.foreign]:  # its earlier work may use the memory
            users[user] = user.issued
            user.mark()
        if not self.slab:
            for user, number in users.items():
                self.event_of(user, number).synchronize()
            del self._slabs[address]
            self.held -= size
            self.device.give(address)
            return
        freed = _Range(address, size, dict(users))
        for other in list(self._free):
            before = other.address + other.nbytes == freed.address and freed.address not in self._slabs
            after = freed.address + freed.nbytes == other.address and other.address not in self._slabs
            if before or after:
                self._free.remove(other)
                both = dict(other.users)
                for user, number in freed.users.items():
                    both[user] = max(number, both.get(user, -1))
                freed = _Range(min(other.address, freed.address), other.nbytes + freed.nbytes, both)
        self._free.append(freed)
