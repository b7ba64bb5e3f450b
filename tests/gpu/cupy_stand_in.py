"""A stand-in for the part of CuPy that :mod:`dali_lab.device.cuda` uses, over CPU memory, with CuPy 14's signatures.

Work is done as soon as it is given to a stream. Types of arguments are checked as strictly as CuPy's compiled code
does, and kernels run as they do on the emulated device; so it shows that the calls are right, not that a GPU works.
"""

# ruff: noqa: N802 (names are CuPy's)
from __future__ import annotations

import ctypes
import time
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np

from dali_lab.kernels.cuda import host
from dali_lab.kernels.cuda.kernel import Variant

CAPACITY = 1 << 30
OUT_OF_MEMORY, INVALID_HANDLE = 2, 400
MAJOR, MINOR = 75, 76
TO_DEVICE, TO_HOST, WITHIN = 1, 2, 3


class CUDARuntimeError(RuntimeError):
    """As CuPy raises."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


class Runtime:
    """``cupy.cuda.runtime`` of a machine with one GPU."""

    CUDARuntimeError = CUDARuntimeError

    def __init__(self) -> None:
        self.memory: dict[int, np.ndarray] = {}
        self.pinned: list[np.ndarray] = []
        self.most_pinned = CAPACITY
        self.synchronized = 0

    def _free(self) -> int:
        return CAPACITY - sum(block.nbytes for block in self.memory.values())

    def getDeviceCount(self) -> int:
        return 1

    def deviceGetAttribute(self, attribute: int, device: int) -> int:
        return {MAJOR: 9, MINOR: 0}[attribute]

    def getDevice(self) -> int:
        return 0

    def setDevice(self, device: int) -> None:
        assert device == 0

    def deviceSynchronize(self) -> None:
        self.synchronized += 1

    def driverGetVersion(self) -> int:
        return 13000

    def memGetInfo(self) -> tuple[int, int]:
        return self._free(), CAPACITY

    def malloc(self, size: int) -> int:
        assert type(size) is int and size > 0
        if size > self._free():
            raise CUDARuntimeError(OUT_OF_MEMORY)
        block = np.full(size + 256, 0xCB, np.uint8)
        address = block.ctypes.data + (-block.ctypes.data % 256)
        self.memory[address] = block
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def _pins_no_more(self) -> bool:
        return sum(block.nbytes for block in self.pinned) >= self.most_pinned

    def hostAlloc(self, size: int) -> np.ndarray:
        assert type(size) is int and size > 0
        if self._pins_no_more():
            raise CUDARuntimeError(OUT_OF_MEMORY)
        self.pinned.append(np.zeros(size, np.uint8))
        return self.pinned[-1]

    def pointerGetAttributes(self, address: int) -> SimpleNamespace:
        assert type(address) is int
        return SimpleNamespace(device=0, devicePointer=address, hostPointer=0, type=2)

    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        assert all(type(value) is int for value in (target, source, size, kind, stream))
        if kind != WITHIN:
            host_side = source if kind == TO_DEVICE else target
            held = ((block.ctypes.data, block.nbytes) for block in self.pinned)
            # Where the system pins no more, CUDA copies from and to other memory.
            assert self._pins_no_more() or any(
                start <= host_side <= host_side + size <= start + length for start, length in held
            ), "not pinned"
        ctypes.memmove(target, source, size)


class Event:
    """``cupy.cuda.Event``."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.timing = not disable_timing
        self.time: float | None = None

    @property
    def done(self) -> bool:
        return self.time is not None

    def record(self, stream: Stream) -> None:
        assert isinstance(stream, Stream)
        if stream.ptr in Stream.destroyed:
            raise CUDARuntimeError(INVALID_HANDLE)
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        assert self.time is not None, "an event that was never recorded"


class Stream:
    """``cupy.cuda.Stream``."""

    null: Stream
    destroyed: ClassVar[set[int]] = set()
    _last = 100

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        Stream._last += 1
        self.ptr = 0 if null else Stream._last

    @classmethod
    def from_external(cls, stream: Any) -> Stream:
        version, pointer = stream.__cuda_stream__()
        assert version == 0 and type(pointer) is int
        made = cls()
        made.ptr = pointer
        return made

    def wait_event(self, event: Event) -> None:
        assert event.done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None


Stream.null = Stream(null=True)


def get_elapsed_time(first: Event, last: Event) -> float:
    """``cupy.cuda.get_elapsed_time``, in milliseconds."""
    assert first.timing and last.timing and first.time is not None and last.time is not None
    return (last.time - first.time) * 1000


class Memory:
    """``cupy.cuda.UnownedMemory``."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        assert type(ptr) is int and type(size) is int and device_id == 0
        self.ptr, self.owner = ptr, owner


class Pointer:
    """``cupy.cuda.MemoryPointer``."""

    def __init__(self, memory: Memory, offset: int) -> None:
        self.memory, self.ptr = memory, memory.ptr + offset


class Array:
    """``cupy.ndarray``; `values` is the same memory for NumPy."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, memory: Pointer) -> None:
        count = int(np.prod(shape))
        bytes_of = (ctypes.c_uint8 * max(1, count * np.dtype(dtype).itemsize)).from_address(memory.ptr)
        self.values = np.frombuffer(bytes_of, dtype, count).reshape(shape)
        self.memory = memory

    def __dlpack__(self, *, stream: int, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        assert stream == -1, "the consumer's stream is ordered already"
        if copy is True or dl_device not in (None, (2, 0)):
            raise BufferError("as CuPy's")
        return self.values.__dlpack__()


class Module:
    """``cupy.cuda.function.Module``; what it loads is the number of a variant."""

    variants: dict[bytes, Variant]

    def load(self, cubin: bytes) -> None:
        assert type(cubin) is bytes
        self._variant = Module.variants[cubin]

    def get_function(self, name: str) -> Any:
        assert name == "entry"
        variant = self._variant

        def launch(grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], stream: Stream) -> None:
            table, param = args
            assert type(table) is int and isinstance(stream, Stream)
            assert isinstance(param, np.ndarray) and param.size == 1 and param.dtype == variant.kernel.param
            assert all(type(extent) is int and extent > 0 for extent in (*grid, *block))
            size = int(param["count"][0]) * variant.kernel.sample.itemsize
            rows = np.frombuffer((ctypes.c_uint8 * size).from_address(table), variant.kernel.sample).copy()
            host.call(variant, rows, param, min(grid[0], 2), min(grid[1], 2), 64)

        return launch


def module() -> ModuleType:
    """A module to stand for ``cupy``."""
    Module.variants = {}
    runtime = Runtime()
    cuda = SimpleNamespace(
        runtime=runtime,
        Event=Event,
        Stream=Stream,
        get_current_stream=lambda: Stream.null,
        UnownedMemory=Memory,
        MemoryPointer=Pointer,
        get_elapsed_time=get_elapsed_time,
        alloc_pinned_memory=lambda size: memoryview(runtime.hostAlloc(size)),
        function=SimpleNamespace(Module=Module),
    )
    made = ModuleType("cupy")
    made.__dict__.update(
        cuda=cuda,
        ndarray=Array,
        uint8=np.uint8,
        get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None),
    )
    return made
