"""Parts of kernels compiled to LLVM code only, which the kernels that call them take in.

Numba makes machine code of each function, also of those that nothing but compiled code calls, and optimises a part of a
part of a part with each that it is linked into: more than a fifth of the time that kernels take to compile. The classes
used here are Numba's own, so :mod:`~dali_lab.kernels.cpu.machine.linking` does without where one is missing.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class PartCompiler(CompilerBase):
    """Numba's pipeline, with a library that keeps LLVM code."""

    def define_pipelines(self) -> list[Any]:
        """The passes; Numba calls this when the function to be compiled is known."""
        state: Any = self.state
        if state.library is None:
            library: Any = _PartLibrary
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]  # type: ignore[no-untyped-call]


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
