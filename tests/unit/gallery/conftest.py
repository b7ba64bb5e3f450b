"""A folder of small pictures, and the gallery's sample files in a cache of their own."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from dali_lab.gallery import load_gallery

GALLERY = load_gallery()


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
