"""A cache of compiled kernels that loads them without what Numba gets ready for compiling.

Before Numba looks into its cache it imports all that compiled code might call, and other packages' additions to it:
0.3 s of each start, which loading does not need. There is no public way around that: the classes and names used here
are Numba's own, so :mod:`~dali_lab.kernels.cpu.machine.loading` takes Numba's cache as it is where one is missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import types
from numba.core import caching, config, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import OmittedArg
from numba.core.runtime.nrt import rtsys
from numba.core.typing.typeof import Purpose, typeof
from numba.np import numpy_support

from dali_lab.kernels.cpu.machine.turns import locked

_config: Any = config


def attached(dispatcher: Any) -> Any:
    """Let a compiled function look for its machine code in the folder that Numba is told of now."""
    general, general_type, compile_variant = dispatcher._compile_for_args, dispatcher.typeof_pyval, dispatcher.compile
    dispatcher._cache = _Cache(dispatcher.py_func)  # type: ignore[no-untyped-call]

    def compile_once(signature: Any) -> Any:
        arguments = tuple(sigutils.normalize_signature(signature)[0])  # type: ignore[no-untyped-call]
        if arguments in dispatcher.overloads or is_on_disk(dispatcher, arguments) or not is_shared(dispatcher):
            return compile_variant(signature)
        with locked(dispatcher._cache.lock_file, f"{dispatcher._cache.index_path} {arguments}"):
            return compile_variant(signature)  # another process may have left it on disk meanwhile

    def compile_for_arguments(*arguments: object, **named: object) -> Any:
        if not named and not any(isinstance(value, OmittedArg) for value in arguments):
            with contextlib.suppress(ValueError):  # what has no type is told by Numba
                signature = tuple(map(dispatcher.typeof_pyval, arguments))
                if signature in dispatcher.overloads or is_on_disk(dispatcher, signature):
                    return dispatcher.compile(signature)
        return general(*arguments, **named)

    dispatcher.compile = compile_once
    dispatcher._compile_for_args = compile_for_arguments
    dispatcher.typeof_pyval = lambda value: type_of(value) if type(value) is np.ndarray else general_type(value)
    return dispatcher


def type_of(value: object) -> Any:
    """The type of a value; Numba's own function imports masked arrays for that, to see whether an array is one.

    An array that cannot be written to has the type of one that can, or each kernel that only reads it would be compiled
    twice.
    """
    if type(value) is not np.ndarray:
        return typeof(value, Purpose.argument)  # type: ignore[no-untyped-call]
    dtype, layout = numpy_support.from_dtype(value.dtype), numpy_support.map_layout(value)
    return types.Array(dtype, value.ndim, layout)


def is_on_disk(kernel: Any, signature: tuple[Any, ...]) -> bool:
    """Whether the cache of a kernel has it."""
    cache = kernel._cache
    if not isinstance(cache, _Cache):
        return False
    with global_compiler_lock:
        return cache.has(signature, kernel.targetctx)


def is_shared(kernel: Any) -> bool:
    """Whether what another process compiles is found by this one."""
    cache = getattr(kernel, "_cache", None)
    return isinstance(cache, _Cache) and cache.is_writable()


@global_compiler_lock  # type: ignore[untyped-decorator]
def prepare_compiler() -> None:
    """Import Numba's part for arrays without its look for SciPy's linear algebra, which takes 0.2 s.

    Code that needs linear algebra looks again when it is compiled.
    """
    from numba.np import linalg

    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath, arrayobj  # noqa: F401
    finally:
        linalg.ensure_blas = look


@cache
def _text_digest(file: str) -> str:
    """A name for the text of a source file."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]


class _Place:
    """The place of a kernel's entries in the cache: a locator, in Numba's words.

    Entries are named by the text of the kernel's file, not by its path or time: all environments in which the same
    version is installed share what one of them compiled.
    """

    def __init__(self, file: str, line: int) -> None:
        self._py_file = file
        self._line = line
        self._folder = os.path.join(_config.CACHE_DIR, Path(file).parent.name)

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Place:
        return cls(os.path.abspath(file), function.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return self._folder

    def ensure_cache_path(self) -> None:
        os.makedirs(self._folder, exist_ok=True)

    def get_source_stamp(self) -> Any:
        return _text_digest(self._py_file)

    def get_disambiguator(self) -> str:
        return f"{self._line}-{_text_digest(self._py_file)}"


class _Results(caching.CompileResultCacheImpl):
    _locator_classes = [_Place]  # noqa: RUF012  (as Numba has it)


class _Cache(caching.FunctionCache):
    _impl_class = _Results

    def has(self, signature: Any, context: Any) -> bool:
        """Whether there is an entry; in a damaged index there is none."""
        with contextlib.suppress(Exception):
            found = self._cache_file._load_index()  # type: ignore[no-untyped-call]
            return self._index_key(signature, context.codegen()) in found  # type: ignore[no-untyped-call]
        return False

    def is_writable(self) -> bool:
        """Whether entries can be added."""
        return os.access(Path(self.cache_path).parent, os.W_OK)

    @property
    def lock_file(self) -> str:
        """The file by which processes take turns."""
        return os.path.join(self.cache_path, "lock")

    @property
    def index_path(self) -> str:
        """The file that lists the kernel's entries."""
        path: str = self._cache_file._index_path
        return path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load an entry with no more than its code needs, or get ready to compile."""
        rtsys.initialize(context)
        # An entry that was damaged, or written by other versions of what it is made of, is none.
        with contextlib.suppress(Exception):
            found = self._load_overload(signature, context)  # type: ignore[no-untyped-call]
            # Where files cannot be locked, two processes that add variants of a kernel at once may write to one file.
            if found is not None and found.signature.args == tuple(signature):
                return found
        prepare_compiler()
        context.refresh()
        return None

    def save_overload(self, signature: object, data: object) -> None:
        """Keep what was compiled, if the folder can be written to."""
        with contextlib.suppress(OSError), locked(self.lock_file, self.index_path):
            try:
                super().save_overload(signature, data)  # type: ignore[no-untyped-call]
            except OSError:
                raise
            except Exception:  # the index is damaged
                self.flush()  # type: ignore[no-untyped-call]
                super().save_overload(signature, data)  # type: ignore[no-untyped-call]
