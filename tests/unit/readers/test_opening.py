"""Readers look for their data when a pipeline is built, unless they are told to wait."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dali_lab import Pipeline, fn, formats
from dali_lab.errors import ArgumentError, DaliLabError, FormatError


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


@pytest.mark.parametrize(
    ("reader", "arguments"),
    [
        ("file", {"file_root": "nowhere"}),
        ("file", {"files": ["nowhere"]}),
        ("numpy", {"files": ["nowhere"]}),
        ("caffe", {"path": "nowhere"}),
        ("coco", {"file_root": ".", "annotations_file": "nowhere"}),
        ("nemo_asr", {"manifest_filepaths": "nowhere"}),
        ("video", {"filenames": ["nowhere"], "sequence_length": 1}),
        ("webdataset", {"paths": "nowhere", "ext": "jpg"}),
    ],
)
def test_where_relative_paths_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, arguments: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    made = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with made:
        read = getattr(fn.readers, reader)(**arguments)
        made.set_outputs(*(read if isinstance(read, list) else [read]))
    with pytest.raises(
        DaliLabError, match=rf"does not exist \(relative paths start in '{re.escape(str(tmp_path))}'\)"
    ) as caught:
        made.run()
    assert "nowhere" in str(caught.value)
    assert "not a video" not in str(caught.value)


def test_where_the_path_of_a_graph_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=re.escape(f"does not exist (relative paths start in '{tmp_path}')")):
        formats.load("nowhere.json")
    with pytest.raises(FormatError, match=r"does not exist\n"):
        formats.load(tmp_path / "nowhere.json")
