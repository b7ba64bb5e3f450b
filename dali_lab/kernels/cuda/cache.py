"""Compiled kernels on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from dali_lab.model.cache_folder import cache_folder


def folder() -> Path:
    """The folder of compiled kernels: ``DALI_LAB_KERNELS``, or a folder in the user's cache."""
    given = os.environ.get("DALI_LAB_KERNELS")
    if given:
        return Path(given)
    return cache_folder() / "cuda-kernels"


def place(suffix: str, *parts: str) -> Path:
    """The file for something made from these parts: source, options, architecture, version."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    return folder() / f"{digest}{suffix}"


def store(path: Path, data: bytes) -> None:
    """Write a file atomically, also beside other writers; without the cache where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        return
