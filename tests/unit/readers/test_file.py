"""The file reader: the same files, labels, order and names as NVIDIA DALI, and errors that name the culprit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn

dali = pytest.importorskip("nvidia.dali")
import nvidia.dali.fn  # noqa: E402, F401


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three folders of small files whose content is their name."""
    folder = tmp_path_factory.mktemp("files")
    for label, count in (("apple", 5), ("Berry", 4), ("cherry", 8)):
        (folder / label).mkdir()
        for index in range(count):
            (folder / label / f"{label}{index}.jpg").write_bytes(f"{label} {index}".encode())
    (folder / "apple" / "notes.txt").write_text("no picture")
    (folder / "apple" / "UPPER.JPG").write_bytes(b"upper")
    return folder


def read(engine: Any, batch_size: int, batches: int, **arguments: Any) -> list[list[tuple[bytes, int]]]:
    """Contents and labels of some batches."""
    pipeline = engine.Pipeline(batch_size, 2, None, seed=5)
    with pipeline:
        pipeline.set_outputs(*engine.fn.readers.file(**arguments))
    pipeline.build()
    rows = []
    for _ in range(batches):
        encoded, labels = pipeline.run()
        rows.append([(np.array(encoded.at(i)).tobytes(), int(np.array(labels.at(i))[0])) for i in range(len(encoded))])
    return rows


ORDERS: list[dict[str, Any]] = [
    {},
    {"random_shuffle": True},
    {"random_shuffle": True, "initial_fill": 3},
    {"shuffle_after_epoch": True},
    {"num_shards": 3, "shard_id": 1},
    {"num_shards": 3, "shard_id": 2, "stick_to_shard": True, "random_shuffle": True, "initial_fill": 4},
    {"num_shards": 2, "pad_last_batch": True},
    {"file_filters": ["*.JPG"], "case_sensitive_filter": True},
    {"dir_filters": ["*rry"]},
]


@pytest.mark.parametrize("arguments", ORDERS, ids=str)
def test_three_epochs_in_the_order_of_dali(root: Path, arguments: dict[str, Any]) -> None:
    ours = read(dali_lab, 4, 14, file_root=str(root), **arguments)
    theirs = read(dali, 4, 14, file_root=str(root), **arguments)
    assert ours == theirs


def test_file_list_and_files(root: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("apple/apple0.jpg 7\ncherry/cherry1.jpg 9\n")
    for arguments in (
        {"file_root": str(root), "file_list": str(listed)},
        {"files": [str(root / "apple/apple1.jpg"), str(root / "Berry/Berry0.jpg")], "labels": [3, 1]},
        {"file_root": str(root), "files": ["apple/apple1.jpg", "Berry/Berry0.jpg"]},
    ):
        assert read(dali_lab, 2, 2, **arguments) == read(dali, 2, 2, **arguments)


def test_a_file_that_vanishes_is_named_and_the_next_batch_comes(root: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{index}.bin" for index in range(4)]
    for path in paths:
        path.write_bytes(path.name.encode())
    with Pipeline(2, 1, None, prefetch_queue_depth=1) as pipeline:
        pipeline.set_outputs(*fn.readers.file(files=[str(path) for path in paths]))
    pipeline.build()
    pipeline.run()
    paths[3].unlink()
    with pytest.raises(dali_lab.DaliLabError, match=r"3\.bin"):
        pipeline.run()
    first, _ = pipeline.run()
    assert first.at(0).tobytes() == b"0.bin"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "file_root"),
        ({"file_root": "/no/such/folder"}, "/no/such/folder"),
        ({"files": ["a", "b"], "labels": [1]}, "labels"),
        ({"files": ["a", "b"], "shard_id": 3}, "shard_id"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=words):
        read(dali_lab, 1, 1, **arguments)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(dali_lab.DaliLabError, match=str(tmp_path)):
        read(dali_lab, 1, 1, file_root=str(tmp_path))


def test_empty_files_and_a_file_that_became_a_folder(tmp_path: Path) -> None:
    for index in range(3):
        (tmp_path / f"{index}.bin").write_bytes(bytes(index * 100_000))
    files = [str(tmp_path / f"{index}.bin") for index in range(3)]
    with dali_lab.Pipeline(3, 1, None, prefetch_queue_depth=1) as pipeline:
        pipeline.set_outputs(fn.readers.file(files=files)[0])
    (batch,) = pipeline.run()
    assert [len(batch.at(index)) for index in range(3)] == [0, 100_000, 200_000]
    (tmp_path / "1.bin").unlink()
    (tmp_path / "1.bin").mkdir()
    with pytest.raises(dali_lab.DaliLabError, match=r"(?s)it is a folder.*1\.bin"):
        [pipeline.run() for _ in range(3)]  # as many as may be in flight
