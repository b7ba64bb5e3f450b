"""A GPU through CuPy: raw memory, non-blocking streams, events, and kernels that NVRTC compiled."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dali_lab.device.interface import Bytes, Device, Event, FilePart, Stream
from dali_lab.device.memory import Arena
from dali_lab.kernels.cuda import nvrtc
from dali_lab.kernels.cuda.kernel import Variant
from dali_lab.model.errors import DeviceError, OutOfDeviceMemory
from dali_lab.model.extras import installed
from dali_lab.model.lifetime import after_fork

if TYPE_CHECKING:
    from dali_lab.model.batch import Batch

_TO_DEVICE, _TO_HOST, _WITHIN = 1, 2, 3
_INSUFFICIENT_DRIVER, _NO_DEVICE, _OUT_OF_MEMORY, _NOT_INITIALIZED = 35, 100, 2, 3


class _Handle:
    """A stream of another library, in the protocol that CuPy takes."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._pointer


class CudaEvent(Event):
    """A CUDA event."""

    def __init__(self, device: CudaDevice, timing: bool) -> None:
        with device:
            self.event = device.cupy.cuda.Event(disable_timing=not timing)

    def done(self) -> bool:
        return bool(self.event.done)

    def synchronize(self) -> None:
        self.event.synchronize()

    def seconds_since(self, earlier: Event) -> float:
        assert isinstance(earlier, CudaEvent)
        from cupy.cuda import get_elapsed_time

        return float(get_elapsed_time(earlier.event, self.event)) / 1000


class CudaStream(Stream):
    """A CUDA stream that does not wait for the default one."""

    device: CudaDevice

    def __init__(self, device: CudaDevice, name: str) -> None:
        super().__init__(device, name)
        with device:
            self.stream = device.cupy.cuda.Stream(non_blocking=True)

    @property
    def pointer(self) -> int:
        return int(self.stream.ptr)

    def upload(self, address: int, data: Bytes) -> None:
        self._copy(address, data.ctypes.data, data.nbytes, _TO_DEVICE)

    def download(self, data: Bytes, address: int) -> None:
        self._copy(data.ctypes.data, address, data.nbytes, _TO_HOST)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        self._copy(target, source, nbytes, _WITHIN)

    def launch(
        self, variant: Variant, blocks: tuple[int, int], threads: int, table: int, param: npt.NDArray[Any]
    ) -> None:
        with self.device:
            entry = self.device.function(variant)
            entry((blocks[0], blocks[1], 1), (threads, 1, 1), (table, param), stream=self.stream)

    @classmethod
    def external(cls, device: CudaDevice, pointer: int) -> CudaStream:
        """The stream of another library, by its handle."""
        stream = cls.__new__(cls)
        Stream.__init__(stream, device, f"external {pointer:#x}")
        known = device.cupy.cuda.Stream
        with device:
            stream.stream = known.from_external(_Handle(pointer)) if pointer else known.null
        stream.foreign = True
        stream.issued = 1  # its work is never marked: the whole stream is waited for
        return stream

    def record(self, *, timing: bool = False) -> CudaEvent:
        event = CudaEvent(self.device, timing)
        with self.device:
            try:
                event.event.record(self.stream)
            except RuntimeError:  # CuPy's own kind of it
                if not self.foreign:
                    raise
                # Its owner destroyed it, and its last work may still run: only the device as a whole can be asked.
                self.device.runtime.deviceSynchronize()
                event.event.record(self.device.stream("transfer").stream)
        return event

    def wait(self, event: Event) -> None:
        assert isinstance(event, CudaEvent)
        with self.device:
            self.stream.wait_event(event.event)

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        with self.device:
            self.device.runtime.memcpyAsync(target, source, nbytes, kind, self.pointer)


class CudaDevice(Device):
    """A GPU; as a context, the current one of the thread.

    Parameters
    ----------
    index
        Number of the device.

    Raises
    ------
    DeviceError
        With the cause and the remedy.
    """

    kind = "cuda"

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index
        self._streams: dict[str, CudaStream] = {}
        self._external: dict[int, CudaStream] = {}
        self._functions: dict[Variant, Any] = {}
        self._streams_lock = threading.Lock()
        self._functions_lock = threading.Lock()
        self._before = threading.local()
        self.cupy = load_cupy()
        self.runtime = self.cupy.cuda.runtime
        count = device_count(self.cupy)
        if not 0 <= index < count:
            there = "is 1 GPU, number 0" if count == 1 else f"are {count} GPUs, numbers 0 to {count - 1}"
            raise DeviceError(f"there is no GPU {index}: there {there}; set device_id, or CUDA_VISIBLE_DEVICES")
        major, minor = (int(self.runtime.deviceGetAttribute(which, index)) for which in (75, 76))
        if (major, minor) < (7, 5):
            raise DeviceError(f"GPU {index} has compute capability {major}.{minor}; 7.5 is the least that is supported")
        nvrtc.suit_driver(int(self.runtime.driverGetVersion()) // 1000)
        self.architecture = nvrtc.target(major, minor)
        try:
            total = self.memory()[1]
        except RuntimeError as error:  # CuPy's own kind of it: busy, exclusive to another process, full
            _refuse_fork(error)
            raise DeviceError(
                f"GPU {index} cannot be used: {error}. If other programs have its memory, or have it for themselves"
                " (nvidia-smi shows them), end them or choose another one by device_id"
            ) from error
        self.decodes = _decodes(self)
        self.reads_files = installed("kvikio")
        self.arena = Arena(self)
        limit = os.environ.get("DALI_LAB_GPU_MEMORY")
        if limit:
            self.arena.limit = memory_size(limit, total)

    def __repr__(self) -> str:
        return f"<GPU {self.index}>"

    def __enter__(self) -> CudaDevice:  # noqa: PYI034 (contexts nest, and are left in the order of their entry)
        stack = self._before.__dict__.setdefault("stack", [])
        before = self.runtime.getDevice()
        stack.append(before)
        if before != self.index:
            self.runtime.setDevice(self.index)
        return self

    def __exit__(self, *error: object) -> None:
        before = self._before.stack.pop()
        if before != self.index:
            self.runtime.setDevice(before)

    def stream(self, name: str) -> CudaStream:
        with self._streams_lock:
            if name not in self._streams:
                self._streams[name] = CudaStream(self, name)
            return self._streams[name]

    def external(self, pointer: int) -> CudaStream:
        with self._streams_lock:
            if pointer not in self._external:
                self._external[pointer] = CudaStream.external(self, pointer)
            return self._external[pointer]

    def function(self, variant: Variant) -> Any:
        """The entry point of a kernel, compiled and loaded on first use; threads compile different ones at once."""
        found = self._functions.get(variant)
        if found is not None:
            return found
        code = nvrtc.cubin(variant, self.architecture)
        with self._functions_lock:
            if variant not in self._functions:
                module = self.cupy.cuda.function.Module()
                try:
                    try:
                        module.load(code)
                    except RuntimeError:  # what was on disk may be damaged
                        again = nvrtc.compiled_again(variant, self.architecture)
                        if again == code:
                            raise
                        module.load(again)
                except RuntimeError as error:  # CuPy's own kind of it
                    driver = _version(int(self.runtime.driverGetVersion()))
                    raise DeviceError(
                        f"the driver (CUDA {driver}) cannot load {variant.label}, compiled by NVRTC {nvrtc.version()}"
                        f" for {self.architecture}: {error}. Update the driver, or install the NVRTC of its version"
                    ) from error
                self._functions[variant] = module.get_function("entry")
            return self._functions[variant]

    def take(self, nbytes: int) -> int:
        with self:
            try:
                return int(self.runtime.malloc(nbytes))
            except self.runtime.CUDARuntimeError as error:
                if error.status != _OUT_OF_MEMORY:
                    raise DeviceError(f"{self}: {error}") from error
                free, total = self.runtime.memGetInfo()
                raise OutOfDeviceMemory(
                    f"{nbytes >> 20} MiB do not fit: {free >> 20} of {total >> 20} MiB of {self} are free"
                ) from error

    def give(self, address: int) -> None:
        with self:
            self.runtime.free(address)

    def pinned(self, nbytes: int) -> Bytes:
        with self:
            try:
                return np.frombuffer(self.cupy.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)
            except self.runtime.CUDARuntimeError as error:
                if error.status != _OUT_OF_MEMORY:
                    raise DeviceError(f"{self}: {error}") from error
                return np.empty(nbytes, np.uint8)  # the system pins no more; copies wait, and are right

    def memory(self) -> tuple[int, int]:
        with self:
            free, total = self.runtime.memGetInfo()
            return int(free), int(total)

    def has(self, address: int) -> bool:
        with self:
            return int(self.runtime.pointerGetAttributes(address).device) == self.index

    def arrays(self, batch: Batch) -> list[Any]:
        kind = batch.kind
        cuda = self.cupy.cuda
        arrays = []
        for address, shape, size in zip(batch.addresses.tolist(), batch.shapes.tolist(), batch.sizes, strict=True):
            memory = cuda.UnownedMemory(address, max(1, int(size) * kind.itemsize), batch, self.index)
            arrays.append(self.cupy.ndarray(tuple(shape), kind, cuda.MemoryPointer(memory, 0)))
        return arrays

    @contextmanager
    def current(self, stream: Stream) -> Iterator[None]:
        assert isinstance(stream, CudaStream)
        with self, stream.stream:
            yield

    def read_files(self, stream: Stream, parts: Sequence[FilePart]) -> None:
        """By KvikIO: GPUDirect Storage where the driver and the file system have it, else through its own buffers."""
        import kvikio

        assert isinstance(stream, CudaStream)
        stream.record().synchronize()  # KvikIO reads at once: work that still uses this memory comes first
        reads: list[tuple[FilePart, Any]] = []
        failures: list[OSError] = []
        with contextlib.ExitStack() as files, self:
            opened = {path: files.enter_context(kvikio.CuFile(path, "r")) for path in {part.path for part in parts}}
            for part in parts:
                with _kept(failures, part):
                    memory = self._bytes(part.address, part.nbytes)
                    reads.append((part, opened[part.path].pread(memory, part.nbytes, part.offset)))
            for part, read in reads:  # all of them, also after a failure: they write to memory that is given back then
                with _kept(failures, part):
                    if read.get() != part.nbytes:
                        raise EOFError("the file ends there")
        if failures:
            raise failures[0]

    def _bytes(self, address: int, nbytes: int) -> Any:
        """Device memory as an array of bytes."""
        memory = self.cupy.cuda.UnownedMemory(address, nbytes, self, self.index)
        return self.cupy.ndarray((nbytes,), self.cupy.uint8, self.cupy.cuda.MemoryPointer(memory, 0))

    def relieve(self) -> None:
        with self:
            self.cupy.get_default_memory_pool().free_all_blocks()
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_initialized():
                torch.cuda.empty_cache()


@contextlib.contextmanager
def _kept(failures: list[OSError], part: FilePart) -> Iterator[None]:
    """Keep what KvikIO raises about a part of a file, with its name: KvikIO names neither file nor place."""
    try:
        yield
    except (RuntimeError, OSError, EOFError) as error:
        last = part.offset + part.nbytes
        failure = OSError(f"bytes {part.offset} to {last} of {part.path} cannot be read: {error}")
        failure.__cause__ = error
        failures.append(failure)


def _decodes(device: CudaDevice) -> bool:
    from dali_lab.codecs.backends.nvimgcodec_gpu import gpu_decoder

    return gpu_decoder(device, False) is not None


def load_cupy() -> Any:
    """CuPy.

    Raises
    ------
    DeviceError
        If it is not there or cannot be loaded, with what to do.
    """
    try:
        import cupy
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise DeviceError(f"CuPy cannot be loaded ({error}): pip install --force-reinstall cupy-cuda13x") from error
        hint = "pip install 'dali-lab[gpu]'"
        raise DeviceError(f"there is no GPU here, or CuPy is not installed ({hint})") from None
    except (ImportError, OSError) as error:
        raise DeviceError(
            f"CuPy cannot be loaded ({error}): install the build for your CUDA version, such as cupy-cuda13x or"
            " cupy-cuda12x, and only one of them"
        ) from error
    return cupy


def device_count(cupy: Any) -> int:
    """Number of GPUs.

    Raises
    ------
    DeviceError
        If there is no driver, an old one, or no GPU.
    """
    runtime = cupy.cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except RuntimeError as error:  # CuPy's own kind of it
        status = getattr(error, "status", None)
        if status == _NO_DEVICE:
            raise DeviceError("there is no GPU here, or CUDA_VISIBLE_DEVICES hides it") from error
        _refuse_fork(error)
        if status != _INSUFFICIENT_DRIVER:
            raise DeviceError(f"the GPU cannot be used: {error}") from error
        driver, wanted = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
        if not driver:
            raise DeviceError("there is no GPU here: no NVIDIA driver is installed") from error
        raise DeviceError(
            f"the NVIDIA driver is too old: it knows CUDA {_version(driver)} and CuPy was built for {_version(wanted)};"
            f" update the driver, or install cupy-cuda{driver // 1000}x"
        ) from error


def _refuse_fork(error: RuntimeError) -> None:
    """Tell a forked process what its first error means; it is a later one where what it asks is known already."""
    if getattr(error, "status", None) == _NOT_INITIALIZED:
        raise DeviceError(
            "the GPU cannot be used in a process that was forked from one that used it: start processes by 'spawn'"
        ) from error


def memory_size(text: str, total: int) -> int:
    """Bytes from ``"8GiB"``, ``"500MiB"``, a number of bytes, or a share such as ``"0.5"`` or ``"50%"``."""
    units = {"GiB": 1 << 30, "MiB": 1 << 20, "GB": 10**9, "MB": 10**6, "%": total / 100}
    for unit, scale in units.items():
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * scale)
    number = float(text)
    return int(number * total) if number <= 1 else int(number)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


_devices: dict[int, CudaDevice] = {}
_devices_lock = threading.Lock()
_abandoned: list[Any] = []


def cuda_device(index: int) -> CudaDevice:
    """The GPU of a number, the same object for all threads.

    Raises
    ------
    DeviceError
        With the cause and the remedy.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        raise DeviceError("there is no GPU here: CUDA_VISIBLE_DEVICES hides all")
    with _devices_lock:
        if index not in _devices:
            _devices[index] = CudaDevice(index)
        return _devices[index]


@after_fork
def _after_fork() -> None:
    """Abandon the parent's GPU objects in a forked child, which can neither use nor destroy them."""
    global _devices_lock
    _abandoned.append(dict(_devices))
    _devices.clear()
    _devices_lock = threading.Lock()
