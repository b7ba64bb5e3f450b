"""An emulated device in host memory, which runs work as late as it may and detects races.

Its addresses are those of host memory plus a number that makes them invalid there: code of the CPU that touches a
batch of the device fails at once. Memory is spoilt when it is handed out. A stream runs its work only when somebody
waits for it, and for each piece of work it is checked that everything else which used that memory comes before it.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Bytes, Device, Event, FilePart, Stream
from dali_lab.device.memory import ALIGNMENT, Arena
from dali_lab.kernels.cuda import host
from dali_lab.kernels.cuda.kernel import Variant
from dali_lab.model.errors import DeviceError, OutOfDeviceMemory

if TYPE_CHECKING:
    from dali_lab.model.batch import Batch

TAG = 1 << 56
_POISON = 0xCB
_ACROSS, _THREADS = 2, 64
"""A small grid: each thread takes several elements, as those of large pictures do on a GPU."""
_HANDLES = 1 << 32
"""Handles of the device's own streams begin here; smaller ones are those of streams of other libraries."""


class RaceError(DeviceError):
    """Two streams use the same memory and nothing puts them in order."""


class EmulatedEvent(Event):
    """A point in the queue of an emulated stream."""

    def __init__(self, stream: EmulatedStream, clock: dict[EmulatedStream, int], timing: bool) -> None:
        self.stream = stream
        self.clock = clock
        self.timing = timing
        self.time: float | None = None

    def done(self) -> bool:
        with self.stream.device.lock:
            if self.time is not None:
                self.stream.device.merge(self.stream.device.host_clock, self.clock)
            return self.time is not None

    def synchronize(self) -> None:
        device = self.stream.device
        with device.lock:
            self.stream.run_until(self)
            device.merge(device.host_clock, self.clock)

    def seconds_since(self, earlier: Event) -> float:
        assert isinstance(earlier, EmulatedEvent)
        if not (self.timing and earlier.timing):
            raise DeviceError("times are taken by events that were recorded with timing=True")
        if self.time is None or earlier.time is None:
            raise DeviceError("the events are not done yet")
        return self.time - earlier.time


class EmulatedStream(Stream):
    """A queue that is worked off when somebody waits for it."""

    device: EmulatedDevice

    def __init__(self, device: EmulatedDevice, name: str) -> None:
        super().__init__(device, name)
        self.clock: dict[EmulatedStream, int] = {}
        self.queue: deque[tuple[Callable[[], None] | None, EmulatedEvent | None]] = deque()

    def __repr__(self) -> str:
        return f"<stream {self.name}>"

    @property
    def pointer(self) -> int:
        return _HANDLES + list(self.device._streams.values()).index(self)

    def upload(self, address: int, data: Bytes) -> None:
        self._put("an upload", lambda: self.device.host(address, data.nbytes).__setitem__(..., data), writes=[address])

    def download(self, data: Bytes, address: int) -> None:
        self._put("a download", lambda: data.__setitem__(..., self.device.host(address, data.nbytes)), reads=[address])

    def copy(self, target: int, source: int, nbytes: int) -> None:
        def move() -> None:
            self.device.host(target, nbytes)[...] = self.device.host(source, nbytes)

        self._put("a copy", move, writes=[target], reads=[source])

    def launch(
        self, variant: Variant, blocks: tuple[int, int], threads: int, table: int, param: npt.NDArray[Any]
    ) -> None:
        host.function(variant)
        kernel = variant.kernel
        count = int(param["count"][0])
        size = kernel.sample.itemsize * count

        def rows() -> npt.NDArray[Any]:
            return self.device.host(table, size).copy().view(kernel.sample)

        def run() -> None:
            samples = rows()
            writes: list[int] = []
            reads = [table]
            for field, written in kernel.addresses:
                column = samples[field]
                used = np.unique(column[column >= TAG]).tolist()
                (writes if written else reads).extend(used)
                column[column >= TAG] -= np.uint64(TAG)
            host_param = param.copy()
            for field, written in kernel.parameters:
                address = int(host_param[field][0])
                if address >= TAG:
                    (writes if written else reads).append(address)
                    host_param[field] = address - TAG
            self.device.check(self, at, variant.label, writes, reads, blocks_then)
            host.call(
                variant, samples, host_param, min(blocks[0], _ACROSS), min(blocks[1], max(1, count - 1)), _THREADS
            )

        with self.device.lock:
            blocks_then = self.device.arena.blocks()
            at = self._noted(variant.label)
            self.queue.append((run, None))

    def record(self, *, timing: bool = False) -> EmulatedEvent:
        with self.device.lock:
            self._tick()
            event = EmulatedEvent(self, dict(self.clock), timing)
            self.queue.append((None, event))
            return event

    def wait(self, event: Event) -> None:
        assert isinstance(event, EmulatedEvent)
        with self.device.lock:
            self.device.merge(self.clock, event.clock)
            self.queue.append((lambda: event.stream.run_until(event), None))

    def spoil(self, address: int, nbytes: int) -> None:
        """Write nonsense over memory that begins its life."""
        self._put("new memory", lambda: self.device.host(address, nbytes).fill(_POISON), writes=[address])

    def read_file(self, part: FilePart) -> None:
        """Read bytes of a file into memory."""

        def read() -> None:
            with open(part.path, "rb") as file:
                file.seek(part.offset)
                data = file.read(part.nbytes)
            if len(data) != part.nbytes:
                raise OSError(f"{part.path} ends before byte {part.offset + part.nbytes}")
            self.device.host(part.address, part.nbytes)[...] = np.frombuffer(data, np.uint8)

        self._put("a file", read, writes=[part.address])

    def put_work(self, work: Callable[[], None]) -> None:
        """Run a Python function in its turn; what memory it uses is not checked."""
        self._put("work of the user", work)

    def run_until(self, event: EmulatedEvent) -> None:
        """Do all work up to an event."""
        while event.time is None:
            if not self.queue:
                raise DeviceError("an event was waited for that was never recorded")
            self._step()

    def _step(self) -> None:
        work, event = self.queue.popleft()
        if work is not None:
            work()
        if event is not None:
            event.time = time.perf_counter()

    def _tick(self) -> dict[EmulatedStream, int]:
        """The vector clock of the next piece of work: all work known to come before it, itself included."""
        self.device.merge(self.clock, self.device.host_clock)
        self.clock[self] = self.clock.get(self, 0) + 1
        return dict(self.clock)

    def _noted(self, what: str) -> dict[EmulatedStream, int]:
        """Count a piece of work, and put it into the trace."""
        known = self._tick()
        if self.device.trace is not None:
            self.device.trace.append(Traced(self, what, known[self], known))
        return known

    def _put(
        self, what: str, work: Callable[[], None], writes: list[int] | None = None, reads: list[int] | None = None
    ) -> None:
        with self.device.lock:
            at = self._noted(what)
            blocks_then = self.device.arena.blocks()

            def run() -> None:
                self.device.check(self, at, what, writes or [], reads or [], blocks_then)
                work()

            self.queue.append((run, None))


class _Use:
    """A use of a block by a piece of work."""

    __slots__ = ("number", "start", "stop", "stream", "what", "written")

    def __init__(self, start: int, stop: int, stream: EmulatedStream, number: int, written: bool, what: str) -> None:
        self.start, self.stop = start, stop
        self.stream, self.number = stream, number
        self.written, self.what = written, what


@dataclass(frozen=True)
class Traced:
    """A piece of work in a trace.

    Attributes
    ----------
    stream, what
        Where it runs, and what it is, such as a kernel's name.
    number
        Which piece of work of its stream it is.
    known
        For each stream the number of its last piece of work that is sure to have run before.
    """

    stream: EmulatedStream
    what: str
    number: int
    known: Mapping[EmulatedStream, int]

    def after(self, other: Traced) -> bool:
        """Whether it waits for another piece of work; two that do not wait for each other overlap on a GPU."""
        return self.known.get(other.stream, 0) >= other.number


class EmulatedDevice(Device):
    """Host memory and lazy streams.

    Parameters
    ----------
    index
        Number of the device.
    capacity
        Bytes that it has.
    exact
        Take each sample's memory on its own, for AddressSanitizer.

    Attributes
    ----------
    trace
        A list that takes note of the work that streams are given; `None` for no trace.
    """

    kind = "emulated"

    def __init__(self, index: int = 0, capacity: int = 4 << 30, exact: bool = False) -> None:
        super().__init__()
        self.index = index
        self.capacity = capacity
        self.taken = 0
        self.lock = threading.RLock()
        self.host_clock: dict[EmulatedStream, int] = {}
        self.trace: list[Traced] | None = None
        self.arena = Arena(self, 0, self.lock) if exact else Arena(self, lock=self.lock)
        self._memory: dict[int, tuple[npt.NDArray[np.uint8], int]] = {}
        self._starts: list[int] = []
        self._streams: dict[str, EmulatedStream] = {}
        self._uses: list[_Use] = []

    def __repr__(self) -> str:
        return f"<emulated device {self.index}>"

    def stream(self, name: str) -> EmulatedStream:
        with self.lock:
            if name not in self._streams:
                self._streams[name] = EmulatedStream(self, name)
            return self._streams[name]

    def external(self, pointer: int) -> EmulatedStream:
        if pointer >= _HANDLES:
            return list(self._streams.values())[pointer - _HANDLES]
        stream = self.stream(f"external {pointer:#x}")
        with self.lock:
            if not stream.foreign:
                stream.foreign = True
                stream.issued = 1  # as of all that is not known, its work is waited for as a whole
        return stream

    def take(self, nbytes: int) -> int:
        with self.lock:
            if self.taken + nbytes > self.capacity:
                raise OutOfDeviceMemory(
                    f"{nbytes} bytes do not fit: {self.taken} of {self.capacity} bytes of {self} are in use"
                )
            # Without slack where each sample is on its own: its end is the end of the allocation.
            slack = ALIGNMENT if self.arena.slab else 0
            buffer = np.empty(nbytes + slack, np.uint8)
            buffer.fill(_POISON)
            skip = -buffer.ctypes.data % ALIGNMENT if slack else 0
            address = buffer.ctypes.data + skip + TAG
            self._memory[address] = (buffer[skip : skip + nbytes], nbytes)
            bisect.insort(self._starts, address)
            self.taken += nbytes
            return address

    def give(self, address: int) -> None:
        with self.lock:
            _, nbytes = self._memory.pop(address)
            self._starts.remove(address)
            self.taken -= nbytes
            self._uses = [use for use in self._uses if not address <= use.start < address + nbytes]

    def pinned(self, nbytes: int) -> Bytes:
        return np.empty(nbytes, np.uint8)

    def memory(self) -> tuple[int, int]:
        return self.capacity - self.taken, self.capacity

    def arrays(self, batch: Batch) -> list[Any]:
        kind = batch.kind
        sizes = (batch.sizes * batch.itemsize).tolist()
        shapes = [tuple(shape) for shape in batch.shapes.tolist()]
        return [
            self.host(address, size).view(kind).reshape(shape) if size else np.empty(shape, kind)
            for address, size, shape in zip(batch.addresses.tolist(), sizes, shapes, strict=True)
        ]

    def read_files(self, stream: Stream, parts: Sequence[FilePart]) -> None:
        assert isinstance(stream, EmulatedStream)
        for part in parts:
            stream.read_file(part)

    def host_work(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        assert isinstance(stream, EmulatedStream)
        return lambda: stream.put_work(work)

    def poison(self, stream: Stream, address: int, nbytes: int) -> None:
        assert isinstance(stream, EmulatedStream)
        stream.spoil(address, nbytes)

    def host(self, address: int, nbytes: int) -> Bytes:
        """The host memory behind an address.

        Raises
        ------
        DeviceError
            If it is not the device's, or not as long.
        """
        place = bisect.bisect_right(self._starts, address) - 1
        if place >= 0:
            start = self._starts[place]
            buffer, size = self._memory[start]
            if address + nbytes <= start + size:
                return buffer[address - start : address - start + nbytes]
        raise DeviceError(f"{nbytes} bytes at {address:#x} are not memory of {self}")

    def merge(self, into: dict[EmulatedStream, int], other: dict[EmulatedStream, int]) -> None:
        """Merge another vector clock into the first."""
        for stream, number in other.items():
            into[stream] = max(number, into.get(stream, 0))

    def check(
        self,
        stream: EmulatedStream,
        known: dict[EmulatedStream, int],
        what: str,
        writes: list[int],
        reads: list[int],
        cuts: list[tuple[int, int]],
    ) -> None:
        """Note which memory work uses, and that what used it before is known to come before.

        `cuts` are the blocks as they were when the work was given to the stream.

        Raises
        ------
        RaceError
            If it is not.
        """
        blocks = {_block_of(cuts, address): True for address in writes}
        for address in reads:
            blocks.setdefault(_block_of(cuts, address), False)
        number = known[stream]
        for (start, stop), written in blocks.items():
            kept = []
            for use in self._uses:
                if use.stop <= start or stop <= use.start or not (written or use.written):
                    kept.append(use)
                elif known.get(use.stream, 0) < use.number:
                    raise RaceError(
                        f"{what} on {stream} {'writes' if written else 'reads'} memory that {use.what} on {use.stream}"
                        f" {'writes' if use.written else 'reads'}, and no event puts them in order"
                    )
                elif not written or use.start < start or stop < use.stop:
                    kept.append(use)
            same = (start, stop, stream, written)
            kept = [use for use in kept if (use.start, use.stop, use.stream, use.written) != same]
            kept.append(_Use(start, stop, stream, number, written, what))
            self._uses = kept


def _block_of(cuts: list[tuple[int, int]], address: int) -> tuple[int, int]:
    """Start and end of the block around an address."""
    place = bisect.bisect_right(cuts, (address, 1 << 62)) - 1
    start, size = cuts[place] if place >= 0 else (address, 1)
    return (start, start + size) if address < start + size else (address, address + 1)
