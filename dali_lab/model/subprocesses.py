"""Starts Python for modules of the package itself, which nothing in the working folder takes the place of."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE_FOLDER = Path(__file__).parents[2]


def own_module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of the package, with the environment of :func:`environment`.

    ``-P`` keeps the working folder out of the places that modules are imported from: a project from elsewhere may have
    a ``numpy.py`` in it.
    """
    return [sys.executable, "-P", "-m", name, *arguments]


def environment() -> dict[str, str]:
    """Variables of this process, by which another one finds the package wherever this one found it."""
    paths = [str(_PACKAGE_FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
