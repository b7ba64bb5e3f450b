"""The cache folder: for files that can be made again, and unsaved work."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder ``dali-lab`` in the user's cache, which ``XDG_CACHE_HOME`` may name; it need not be there yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dali-lab"
