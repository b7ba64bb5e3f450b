"""Kernels compiled by another process, while their caller does the same work some slower way.

Compiling the largest kernels takes seconds. Where another way has the same result, a pipeline begins with it::

    if background.ready(kernel, *arguments):
        kernel(*arguments)
    else:
        another_way(*arguments)

For kernels that do little, their Python text is another way: :func:`call`.

The other process writes to the cache on disk. When this process ends, it finishes what it was given and goes too.
``DALI_LAB_COMPILE=at-once`` has every kernel compiled when it is first called, as has :func:`at_once`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import config

from dali_lab.kernels.cpu.machine.loading import is_there, shared, signature_of
from dali_lab.kernels.cpu.memory import as_python
from dali_lab.model.lifetime import after_fork
from dali_lab.model.subprocesses import environment, own_module

Kind = str | tuple[str, Any]
Variant = tuple[Any, ...]
"""A kernel, and the kinds of its arguments."""

_ready: set[Variant] = set()
_as_python = functools.cache(as_python)
_lock = threading.Lock()
_compiler: _Compiler | None = None
_at_once = 0
_detours = 0


def ready(kernel: Any, *arguments: object) -> bool:
    """Whether a call need not wait for the compiler; if not, the kernel is being compiled from now on.

    Parameters
    ----------
    kernel
        The kernel to be called.
    arguments
        Contiguous arrays that can be written to, numbers of Python or NumPy, and tuples of numbers.
    """
    variant = (kernel, *map(_kind, arguments))
    return variant in _ready or _look(variant, arguments)


def call(kernel: Any, *arguments: object, meanwhile: Callable[..., Any] | None = None) -> Any:
    """Call a kernel, or as long as it is not ready another function of the same arguments.

    Parameters
    ----------
    meanwhile
        Another function with the same result, to the bit; by default the kernel's Python text.
    """
    if ready(kernel, *arguments):
        return kernel(*arguments)
    with np.errstate(all="ignore"):
        return (meanwhile or _as_python(kernel))(*arguments)


def either(kernel: Any, meanwhile: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is :func:`call` of a kernel and what takes its place."""
    function = functools.partial(call, kernel, meanwhile=meanwhile)
    return functools.update_wrapper(function, getattr(kernel, "py_func", kernel))


def detours() -> int:
    """Number of calls so far that took the slower way."""
    return _detours


def busy() -> bool:
    """Whether something is being compiled in the background."""
    return _compiler is not None


def finish() -> None:
    """Wait until everything that is being compiled is ready."""
    compiler = _compiler
    if compiler is not None:
        compiler.finish()


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Have every kernel compiled when it is first called."""
    global _at_once
    with _lock:
        _at_once += 1
    try:
        yield
    finally:
        with _lock:
            _at_once -= 1


def _look(variant: Variant, arguments: tuple[Any, ...]) -> bool:
    global _compiler, _detours
    if _at_once or os.environ.get("DALI_LAB_COMPILE") == "at-once":
        return True
    with _lock:
        if variant in _ready:
            return True
        if _compiler is not None and variant in _compiler.asked:
            _detours += 1
            return False
        if not _is_there(variant[0], signature_of(arguments)):
            if _compiler is None:
                _compiler = _Compiler.start()
            if _compiler is not None and _compiler.ask(variant):
                _detours += 1
                return False
        _ready.add(variant)
    return True


def _is_there(kernel: Any, signature: tuple[Any, ...]) -> bool:
    """Whether a kernel need not be compiled, or another process could not do it."""
    if getattr(config, "DISABLE_JIT", False) or not shared(kernel):
        return True
    return is_there(kernel, signature)


def _kind(value: object) -> Kind:
    """The name of a number's type, that of an array's elements and the number of its dimensions, or a tuple's kinds."""
    if isinstance(value, tuple):
        return "tuple", tuple(map(_kind, value))
    return (value.dtype.char, value.ndim) if isinstance(value, np.ndarray) else type(value).__name__


def _stand_in(kind: Kind) -> Any:
    """A value of a kind."""
    if kind[0] == "tuple":
        return tuple(map(_stand_in, kind[1]))
    return np.dtype(kind).type(0) if isinstance(kind, str) else np.empty((0,) * kind[1], kind[0])


class _Compiler:
    """The process that compiles, seen from here. It ends when it has nothing left to do.

    Attributes
    ----------
    asked
        Kernels that it was given and has not finished, in turn.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.asked: list[Variant] = []
        self._process = process
        self._changed = threading.Condition(_lock)
        threading.Thread(target=self._listen, name="dali-lab-compiler", daemon=True).start()

    @classmethod
    def start(cls) -> _Compiler | None:
        """Start the process, if that is possible."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                own_module(__name__), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0,
                env=environment(), start_new_session=True,
            )  # fmt: skip
        except OSError:
            return None
        return cls(process)

    def ask(self, variant: Variant) -> bool:
        """Have a kernel compiled; whether the process could be told."""
        kernel, *kinds = variant
        assert self._process.stdin is not None
        request = json.dumps([kernel.py_func.__module__, kernel.py_func.__name__, kinds]) + "\n"
        try:
            self._process.stdin.write(request.encode())
        except (OSError, ValueError):
            return False
        self.asked.append(variant)
        return True

    def finish(self) -> None:
        """Wait until it has nothing left to do."""
        with self._changed:
            self._changed.wait_for(lambda: not self.asked)

    def let_go(self) -> None:
        """Close this end of the pipe to it."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            self._done(1)
        # It ended: what it leaves is compiled here.
        self._done(len(self.asked))
        self._process.stdout.close()
        self._process.wait()

    def _done(self, count: int) -> None:
        global _compiler
        with self._changed:
            _ready.update(self.asked[:count])
            del self.asked[:count]
            if not self.asked:
                self.let_go()
                if _compiler is self:
                    _compiler = None
            self._changed.notify_all()


@after_fork
def _after_fork() -> None:
    """A child has no thread that listens, and looks by itself."""
    global _compiler, _lock
    if _compiler is not None:
        _compiler.let_go()
    _compiler = None
    _lock = threading.Lock()


def _main() -> None:
    """Compile what the lines on the standard input say; nobody may be left to hear of it."""
    import importlib

    for line in sys.stdin:
        module, name, kinds = json.loads(line)
        kernel = getattr(importlib.import_module(module), name)
        kernel.compile(signature_of(_stand_in(kind) for kind in kinds))
        with contextlib.suppress(OSError):
            os.write(1, b"done\n")


if __name__ == "__main__":
    _main()
