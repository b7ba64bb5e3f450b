"""Kernels compiled for GPUs by NVRTC, which needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dali_lab.kernels.cuda import cache
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import Variant

OPTIONS = ("--std=c++17", "-fmad=false", "-default-device")


class NvrtcMissing(CompileError):
    """NVRTC is not installed."""


@functools.lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """NVRTC, from its wheel or from the system.

    Raises
    ------
    NvrtcMissing
        If it is nowhere.
    """
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    found = importlib.util.find_spec("nvidia")
    for place in (found.submodule_search_locations or []) if found else []:
        for pattern in ("cu13/lib/libnvrtc.so.*", "cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            names[:0] = [str(path) for path in sorted(Path(place).glob(pattern)) if "alt" not in path.name]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NvrtcMissing("NVRTC compiles the GPU kernels and is not installed: pip install nvidia-cuda-nvrtc")


def available() -> bool:
    """Whether NVRTC is there."""
    try:
        library()
    except NvrtcMissing:
        return False
    return True


@functools.lru_cache(maxsize=1)
def version() -> str:
    """NVRTC's version, such as ``"13.0"``."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


@functools.lru_cache(maxsize=16)
def target(major: int, minor: int) -> str:
    """The architecture to compile for, such as ``"sm_90"``: the device's own, or the last before it that NVRTC knows.

    Raises
    ------
    CompileError
        If NVRTC knows none of the device's generation.
    """
    count = ctypes.c_int()
    _check(library().nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    known = (ctypes.c_int * count.value)()
    _check(library().nvrtcGetSupportedArchs(known))
    fitting = [number for number in known if number // 10 == major and number % 10 <= minor]
    if not fitting:
        raise CompileError(
            f"NVRTC {version()} does not know compute capability {major}.{minor}: install a newer nvidia-cuda-nvrtc"
        )
    return f"sm_{max(fitting)}"


@dataclass(frozen=True)
class Compiled:
    """A kernel for one architecture.

    Attributes
    ----------
    cubin
        Machine code.
    log
        What the compiler said.
    """

    cubin: bytes
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
    """Compile C++ text for an architecture such as ``"sm_90"``; nothing is cached.

    Raises
    ------
    CompileError
        With the compiler's words.
    """
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
        return Compiled(_text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), words)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def cubin(variant: Variant, architecture: str) -> bytes:
    """Machine code of a variant, from disk where it is there.

    Raises
    ------
    CompileError
        If it does not compile, or NVRTC is missing.
    """
    text = variant.device_source()
    path = cache.place(".cubin", text, architecture, version(), *OPTIONS)
    try:
        return path.read_bytes()
    except OSError:
        made = compile_text(text, architecture, variant.label)
        cache.store(path, made.cubin)
        return made.cubin


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
