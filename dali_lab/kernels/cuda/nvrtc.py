"""Kernels compiled for GPUs by NVRTC, which needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dali_lab.kernels.cuda import cache
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import Variant

OPTIONS = ("--std=c++17", "-fmad=false", "-default-device")


class NvrtcMissing(CompileError):
    """NVRTC is not installed."""


_driver: int | None = None


def suit_driver(major: int) -> None:
    """Keep to NVRTC of the driver's CUDA version or an older one: a driver cannot load what a newer one makes.

    Where there is only a newer one it is taken all the same, and what the driver says to it is told.
    """
    global _driver
    _driver = major


def library() -> ctypes.CDLL:
    """NVRTC, from its wheel or from the system.

    Raises
    ------
    NvrtcMissing
        If it is nowhere.
    """
    return _library(_driver)


@functools.lru_cache(maxsize=4)
def _library(driver: int | None) -> ctypes.CDLL:
    wheels = sorted(_wheels(), reverse=True)
    names = [*((major, str(path)) for major, path in wheels), (13, "libnvrtc.so.13"), (12, "libnvrtc.so.12")]
    fitting = [name for major, name in names if driver is None or major <= driver]
    newer = [name for major, name in reversed(names) if driver is not None and major > driver]
    for name in (*fitting, *newer, "libnvrtc.so"):
        try:
            # NVRTC 13.0 does not look beside itself for its second library, but takes one that is loaded.
            for second in Path(name).parent.glob("libnvrtc-builtins.so.*") if "/" in name else ():
                ctypes.CDLL(str(second))
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NvrtcMissing("NVRTC compiles the GPU kernels and is not installed: pip install nvidia-cuda-nvrtc")


def _wheels() -> Iterator[tuple[int, Path]]:
    """NVRTC's libraries in wheels, each with its major version.

    They are looked for in all folders of packages: a wheel may make ``nvidia`` a package of one of them alone.
    """
    for folder in dict.fromkeys(sys.path):
        for pattern in ("cu[0-9]*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            for path in Path(folder or ".").joinpath("nvidia").glob(pattern):
                number = path.name.removeprefix("libnvrtc.so.").split(".")[0]
                if number.isdecimal():
                    yield int(number), path


def available() -> bool:
    """Whether NVRTC is there."""
    try:
        library()
    except NvrtcMissing:
        return False
    return True


def version() -> str:
    """NVRTC's version, such as ``"13.0"``."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def target(major: int, minor: int) -> str:
    """The architecture to compile for.

    Machine code runs on later members of its generation: ``"sm_90"`` for the device's own architecture or the last
    before it that NVRTC knows. For a generation that it does not know it is ``"compute_90"``, say, the last one that
    it knows, whose code the driver translates.

    Raises
    ------
    CompileError
        If NVRTC knows newer ones only.
    """
    count = ctypes.c_int()
    _check(library().nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    known = (ctypes.c_int * count.value)()
    _check(library().nvrtcGetSupportedArchs(known))
    before = [number for number in known if number <= 10 * major + minor]
    if not before:
        raise CompileError(
            f"NVRTC {version()} no longer knows compute capability {major}.{minor}: install an older nvidia-cuda-nvrtc"
        )
    last = max(before)
    return f"{'sm' if last // 10 == major else 'compute'}_{last}"


@dataclass(frozen=True)
class Compiled:
    """A kernel for one architecture.

    Attributes
    ----------
    code
        Machine code, or PTX where the architecture is a virtual one.
    log
        The compiler's messages.
    """

    code: bytes
    log: str

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return max((int(n) for n in re.findall(r"Used (\d+) registers", self.log)), default=0)

    @property
    def spills(self) -> int:
        """Bytes that did not fit into registers."""
        return sum(int(n) for n in re.findall(r"(\d+) bytes spill", self.log))


def compile_text(text: str, architecture: str, label: str, options: Sequence[str] = ()) -> Compiled:
    """Compile C++ text for an architecture such as ``"sm_90"``, or ``"compute_90"`` for PTX; nothing is cached.

    Raises
    ------
    CompileError
        With the compiler's words.
    """
    return _compiled(text, architecture, label, (*_without_offsets(_driver), *options))


@functools.lru_cache(maxsize=4)
def _without_offsets(driver: int | None) -> tuple[str, ...]:
    """An option for NVRTC up to 13.0 or so, which cannot tell where a field lies: layouts are then not asserted.

    The compiler of the host and newer ones assert them.
    """
    try:
        _compiled('struct S { int a; }; static_assert(__builtin_offsetof(S, a) == 0, "");', "sm_80", "offset", ())
    except CompileError:
        return ("-Dstatic_assert(condition,message)=",)
    return ()


def _compiled(text: str, architecture: str, label: str, options: Sequence[str]) -> Compiled:
    nvrtc = library()
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), f"{label}.cu".encode(), 0, None, None))
    try:
        given = [option.encode() for option in (*OPTIONS, f"--gpu-architecture={architecture}", *options)]
        failed = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        words = log.decode(errors="replace").rstrip("\0")
        if failed:
            raise CompileError(f"{label} does not compile for {architecture}:\n{words[:4000]}")
        if architecture.startswith("compute_"):
            return Compiled(_text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program), words)
        return Compiled(_text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), words)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def cubin(variant: Variant, architecture: str) -> bytes:
    """Code of a variant for an architecture (see :func:`target`), from disk where it is there.

    Raises
    ------
    CompileError
        If it does not compile, or NVRTC is missing.
    """
    try:
        return _kept(variant, architecture).read_bytes()
    except OSError:
        return compiled_again(variant, architecture)


def compiled_again(variant: Variant, architecture: str) -> bytes:
    """Compile as :func:`cubin` does, and replace the file on disk."""
    made = compile_text(variant.device_source(), architecture, variant.label)
    cache.store(_kept(variant, architecture), made.code)
    return made.code


def _kept(variant: Variant, architecture: str) -> Path:
    return cache.place(".cubin", variant.device_source(), architecture, version(), *OPTIONS)


def _text(size_of: Any, get: Any, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(get(program, buffer))
    return buffer.raw


def _check(code: int) -> None:
    if code:
        library().nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CompileError(f"NVRTC: {library().nvrtcGetErrorString(code).decode()}")
