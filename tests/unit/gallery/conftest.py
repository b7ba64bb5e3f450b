"""A folder of small pictures, and the gallery's sample files in a cache of their own."""

from __future__ import annotations

import functools
from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.gallery import Entry, Gallery, load_gallery
from dali_lab.gallery.graphs import ENTRY_FILE
from dali_lab.gallery.places import built_in_folder

READY = sorted(file.parent.name for file in built_in_folder().glob(f"*/{ENTRY_FILE}"))
"""Names of the entries; the entries themselves take seconds, which collecting has no use for."""


@functools.cache
def built_in() -> Gallery:
    """The gallery, loaded once for the tests of a process."""
    return load_gallery()


@pytest.fixture
def entry(request: pytest.FixtureRequest) -> Entry:
    """The entry of a name."""
    return built_in()[request.param]


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures of soft blobs in two folders."""
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(5)
    for label in ("coarse", "fine"):
        (folder / label).mkdir()
        for index in range(3):
            small = random.integers(0, 256, (12, 15, 3), dtype=np.uint8)
            picture = cv2.resize(small, (280, 220), interpolation=cv2.INTER_CUBIC)
            assert cv2.imwrite(str(folder / label / f"{index}.jpg"), picture)
    return folder
