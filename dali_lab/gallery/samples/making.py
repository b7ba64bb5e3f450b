"""Makes a folder of samples once, so that another process never sees half of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from dali_lab.model.cache_folder import cache_folder


def made(name: str, write: Callable[[Path], None]) -> Path:
    """The folder `name` in the user's cache, filled by `write` if it is not there yet."""
    target = cache_folder() / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{name}-"))
    try:
        write(building)
        # Another process may have made it meanwhile; then its folder is as good as ours.
        with contextlib.suppress(OSError):
            os.rename(building, target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target
