"""A name for everything outside of a graph that its results depend on: the package's text and its libraries."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
import sys
from pathlib import Path

_FOLDERS = ("codecs", "kernels", "model", "operators", "schema")
_LIBRARIES = (
    "numpy", "numba", "opencv-python-headless", "opencv-python", "imagecodecs", "nvidia-nvimgcodec-cu12",
    "nvidia-nvimgcodec-cu13", "simplejpeg", "pillow", "av", "soundfile", "scipy", "astropy",
)  # fmt: skip


@functools.cache
def numerics() -> str:
    """A text that changes whenever results might: with a line of the package, a library, or the kind of machine."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[2]
    for folder in _FOLDERS:
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(path.read_bytes())
    parts = [sys.platform, platform.machine(), digest.hexdigest()[:32]]
    for name in _LIBRARIES:
        try:
            parts.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(parts)
