"""The working folder of a kernel that a document started, as a place of modules.

Kernels look for modules in their working folder first: the ``numpy.py`` of a folder from elsewhere would run as soon as
a graph in it is opened. Nothing is imported from there until the person runs a cell or allows a function.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

FOLDER = ""
"""The working folder's entry in ``sys.path``."""
_held = False


def hold(shell: Any) -> None:
    """Keep the working folder out, which the caller removed from ``sys.path``, until the person runs a cell."""
    global _held
    _held = True

    def give_back(*_: object) -> None:
        global _held
        _held = False
        shell.events.unregister("pre_run_cell", give_back)
        sys.path[:] = [FOLDER, *filter(None, sys.path)]

    shell.events.register("pre_run_cell", give_back)


def lend() -> None:
    """Let modules of the working folder be imported that are nowhere else: the person allowed a function."""
    if _held and FOLDER not in sys.path:
        sys.path.append(FOLDER)


def find(module: str) -> ModuleSpec | None:
    """A module of the working folder while it is held."""
    return PathFinder.find_spec(module, [FOLDER]) if _held else None
