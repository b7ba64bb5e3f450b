"""The interface between the executor and a device: events, streams, memory, launches."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from dali_lab.device.memory import Arena, Block
    from dali_lab.kernels.cuda.kernel import Variant
    from dali_lab.model.batch import Batch

Bytes = npt.NDArray[np.uint8]


class Event(ABC):
    """A point in the work of a stream."""

    @abstractmethod
    def done(self) -> bool:
        """Whether all work before it has run."""

    @abstractmethod
    def synchronize(self) -> None:
        """Let the calling thread wait for it."""

    @abstractmethod
    def seconds_since(self, earlier: Event) -> float:
        """Time between two events that were recorded with ``timing=True``; both must be done."""


class Stream(ABC):
    """Work that runs in order, beside that of other streams.

    All calls return at once. Work of another stream is waited for by :meth:`wait` alone.

    Attributes
    ----------
    lock
        Held while work is put together for the stream and issued; see :class:`~dali_lab.device.launcher.Launcher`.
    issued
        Number of times that work was issued.
    foreign
        It belongs to another library, so that its work is not known.
    descriptors
        Device memory for descriptors, used again each time: the stream keeps the order.
    ahead
        It runs ahead of other streams: it does not reuse memory that their latest work still uses.
    """

    foreign = False
    ahead = False

    def __init__(self, device: Device, name: str) -> None:
        self.device = device
        self.name = name
        self.lock = threading.RLock()
        self.issued = 0
        self.descriptors: list[Block] = []
        self._marks: dict[int, Event] = {}

    @property
    @abstractmethod
    def pointer(self) -> int:
        """The stream's handle, for other libraries."""

    @abstractmethod
    def upload(self, address: int, data: Bytes) -> None:
        """Copy pinned host memory to the device; it must stay unchanged until this has run."""

    @abstractmethod
    def download(self, data: Bytes, address: int) -> None:
        """Copy device memory to host memory, which may be read once this has run."""

    @abstractmethod
    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy within the device."""

    @abstractmethod
    def launch(
        self, variant: Variant, blocks: tuple[int, int], threads: int, table: int, param: npt.NDArray[Any]
    ) -> None:
        """Run a kernel over the table of samples at an address, with a parameter structure by value."""

    @abstractmethod
    def record(self, *, timing: bool = False) -> Event:
        """An event after all work so far."""

    @abstractmethod
    def wait(self, event: Event) -> None:
        """Let later work of this stream run after an event of any stream."""

    def synchronize(self) -> None:
        """Let the calling thread wait for all work so far."""
        self.record().synchronize()

    def mark(self) -> Event:
        """Record the end of the work put together since the last mark; memory that is given back refers to it."""
        event = self.record()
        self._marks[self.issued] = event
        self.issued += 1
        for number in [n for n in list(self._marks) if n < self.issued - 64]:
            self._marks.pop(number, None)  # streams of other libraries are marked by several threads
        return event

    def marked(self, number: int) -> Event | None:
        """The event of a mark; `None` if it lies far back, so that the stream as a whole must be waited for."""
        return self._marks.get(number)


class FilePart(NamedTuple):
    """Bytes of a file, and where they go in device memory."""

    path: str
    offset: int
    address: int
    nbytes: int


class Device(ABC):
    """One device.

    Attributes
    ----------
    kind
        ``"cuda"`` or ``"emulated"``.
    index
        Its number.
    arena
        Where all of its memory comes from.
    decodes
        Whether nodes placed on "mixed" are run with the device; else they run on the CPU.
    reads_files
        Whether :meth:`read_files` is there.
    """

    kind: str
    index: int
    arena: Arena
    decodes: bool = True
    reads_files: bool = False

    def __init__(self) -> None:
        self.slots: list[tuple[Event, Bytes]] = []
        self.slots_lock = threading.Lock()

    @abstractmethod
    def stream(self, name: str) -> Stream:
        """The stream of a name, made when first asked for."""

    @abstractmethod
    def external(self, pointer: int) -> Stream:
        """The stream of another library, by its handle; 0 is the default one."""

    @abstractmethod
    def take(self, nbytes: int) -> int:
        """Raw memory: its address, aligned to 256 bytes.

        Raises
        ------
        OutOfDeviceMemory
            If there is not so much.
        """

    @abstractmethod
    def give(self, address: int) -> None:
        """Give back raw memory that no work uses any more."""

    @abstractmethod
    def pinned(self, nbytes: int) -> Bytes:
        """Host memory that can be copied to and from without waiting."""

    @abstractmethod
    def memory(self) -> tuple[int, int]:
        """Bytes free and in total."""

    def has(self, address: int) -> bool:
        """Whether memory that another library has is this device's own, and not another one's."""
        return True

    @abstractmethod
    def arrays(self, batch: Batch) -> list[Any]:
        """The samples of a batch as arrays of the library that works on the device; for :meth:`host_work`."""

    def current(self, stream: Stream) -> AbstractContextManager[Any]:
        """A context in which that library uses a stream."""
        return nullcontext()

    def host_work(self, stream: Stream, work: Callable[[], None]) -> Callable[[], None]:
        """The function to call when Python work on the stream has its turn."""
        return work

    def read_files(self, stream: Stream, parts: Sequence[FilePart]) -> None:
        """Read parts of files into device memory when the stream has its turn.

        Raises
        ------
        OSError
            If a file cannot be read, or ends before its part; at once or when the stream is waited for.
        """
        raise NotImplementedError(f"{self.kind} devices do not read files")

    def relieve(self) -> None:  # noqa: B027 (most devices have nothing to do)
        """Ask other libraries of this process to give their unused device memory back."""

    def poison(self, stream: Stream, address: int, nbytes: int) -> None:  # noqa: B027
        """Called for new memory; an emulated device overwrites it with garbage."""
