"""Readers look for their data when a pipeline is built, unless they are told to wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from dali_lab import Pipeline, fn
from dali_lab.errors import ArgumentError


def pipeline(root: Path, lazy: bool) -> Pipeline:
    (root / "a").mkdir(exist_ok=True)
    for name in ("1.jpg", "2.jpg"):
        (root / "a" / name).write_bytes(b"")
    made = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with made:
        made.set_outputs(*fn.readers.file(file_root=str(root), num_shards=3, lazy_init=lazy, name="files"))
    return made


def test_building_finds_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"files.*num_shards.*samples: 2, .* shards: 3"):
        pipeline(tmp_path, lazy=False).build()


def test_the_first_batch_does_where_it_is_to_wait(tmp_path: Path) -> None:
    made = pipeline(tmp_path, lazy=True)
    made.build()
    with pytest.raises(ArgumentError, match=r"samples: 2, .* shards: 3"):
        made.run()
