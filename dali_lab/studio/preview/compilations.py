"""Counts kernel compilations: times measured during one are too long and are discarded."""

from __future__ import annotations

import sys

_compiled = 0
_listening = False


def compilations() -> int:
    """Kernels compiled since the first call, or bypassed while they compile in the background; -1 without Numba."""
    global _listening
    if not _listening and "numba" in sys.modules:
        import numba  # noqa: F401  (waits if another thread is importing it, which importing a part of it would not)
        from numba.core import event

        class Counter(event.Listener):
            def on_start(self, event: object) -> None:
                global _compiled
                _compiled += 1

            def on_end(self, event: object) -> None:
                pass

        event.register("numba:compile", Counter())  # type: ignore[no-untyped-call]
        _listening = True
    background = sys.modules.get("dali_lab.kernels.cpu.background")
    return _compiled + (background.detours() if background is not None else 0) if _listening else -1


def compiling() -> bool:
    """Whether kernels are being compiled in the background."""
    background = sys.modules.get("dali_lab.kernels.cpu.background")
    return background is not None and background.busy()
