"""Parts of kernels compiled to LLVM code only, which the kernels that call them take in.

Numba makes machine code of each function, also of those that nothing but compiled code calls, and optimises a part of a
part of a part with each that it is linked into: more than a fifth of the time that kernels take to compile. The classes
used here are Numba's own, so :mod:`~dali_lab.kernels.cpu.machine.linking` does without where one is missing.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags


class _HashedFlags(Flags):
    """Flags that are compared by what is set in them; Numba compares all of them at each call that it resolves."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(frozenset(self._values))  # of the names: some values have no hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HashedFlags) and bool(self._values == other._values)


class KernelCompiler(CompilerBase):
    """Numba's pipeline, with flags that are quick to compare."""

    def define_pipelines(self) -> list[Any]:
        """The passes; Numba calls this when the function to be compiled is known."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]  # type: ignore[no-untyped-call]

    def _compile_core(self) -> Any:
        state: Any = self.state
        state.flags = _HashedFlags(state.flags)  # type: ignore[no-untyped-call]
        return super()._compile_core()  # type: ignore[no-untyped-call]


class PartCompiler(KernelCompiler):
    """The same, with a library that keeps LLVM code."""

    def define_pipelines(self) -> list[Any]:
        """The passes; Numba calls this when the function to be compiled is known."""
        state: Any = self.state
        if state.library is None:
            library: Any = _PartLibrary
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class _PartLibrary(JITCodeLibrary):
    """LLVM code of one part, each function simplified by itself; it is inlined and optimised in the kernel."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment

    def get_pointer_to_function(self, name: str) -> int:
        """0, as for any name that a library does not define: parts have no entry for Python."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


class _NoEnvironment:
    """Numba tells machine code here where Python's objects are; parts print nothing, and raise constants only."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        pass
