"""Pipes, devices and files larger than memory in the places of files: an error that names them, at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dali_lab import Pipeline, fn, tfrecord
from dali_lab.formats import load
from dali_lab.model.errors import DaliLabError

FEATURES = {"a": tfrecord.FixedLenFeature([], tfrecord.int64, 0)}
READERS: dict[str, Callable[[str], Any]] = {
    "file": lambda path: fn.readers.file(files=[path]),
    "numpy": lambda path: fn.readers.numpy(files=[path]),
    "fits": lambda path: fn.experimental.readers.fits(files=[path]),
    "webdataset": lambda path: fn.readers.webdataset(paths=path, ext="cls"),
    "tfrecord": lambda path: fn.readers.tfrecord(path=path, index_path=path, features=FEATURES)["a"],
    "coco": lambda path: fn.readers.coco(file_root="/", annotations_file=path),
    "nemo": lambda path: fn.readers.nemo_asr(manifest_filepaths=[path]),
    "video": lambda path: fn.experimental.readers.video(filenames=[path], sequence_length=2),
}


def read(reader: str, path: str) -> None:
    pipeline = Pipeline(1, 1, None)
    with pipeline:
        found = READERS[reader](path)
        pipeline.set_outputs(*(found if isinstance(found, (list, tuple)) else [found]))
    pipeline.build()
    pipeline.run()


@pytest.mark.filterwarnings("ignore:.*cannot be opened.*:UserWarning")
@pytest.mark.parametrize("reader", READERS)
def test_readers_do_not_wait_for_pipes_nor_read_what_has_no_end(reader: str, tmp_path: Path) -> None:
    os.mkfifo(pipe := str(tmp_path / "pipe"))
    with open(huge := str(tmp_path / "huge"), "wb") as file:
        file.truncate(1 << 42)

    for path in (pipe, "/dev/zero", huge):
        with pytest.raises(DaliLabError, match=os.path.basename(path)):
            read(reader, path)


@pytest.mark.parametrize("kind", ["pipe", "huge", "damaged"])
def test_graphs_do_neither_and_errors_name_the_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "damaged":
        path.write_bytes(b"\xff" * 99)
    else:
        path.touch()
        os.truncate(path, 1 << 42)
    for reading in (load, lambda name: Pipeline.deserialize(filename=name)):
        with pytest.raises(DaliLabError, match=kind):
            reading(str(path))


@pytest.mark.filterwarnings("ignore:.*left out:UserWarning")
def test_a_folder_without_a_good_video_names_a_bad_one(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / "class" / name).write_bytes(b"no video")
    pipeline = Pipeline(1, 1, None)
    with pipeline:
        pipeline.set_outputs(*fn.experimental.readers.video(file_root=str(tmp_path), sequence_length=2))
    with pytest.raises(DaliLabError, match=r"a\.mp4.*and 1 more; no video is left"):
        pipeline.build()


def test_an_open_pipe_is_read(tmp_path: Path) -> None:
    """As a shell's ``<(…)`` gives one."""
    (tmp_path / "a.bin").write_bytes(b"content")
    reading, writing = os.pipe()
    text = f"{tmp_path / 'a.bin'} 3\n".encode()
    writer = threading.Timer(0.05, lambda: (os.write(writing, text), os.close(writing)))
    writer.start()
    pipeline = Pipeline(1, 1, None)
    with pipeline:
        pipeline.set_outputs(*fn.readers.file(file_root="/", file_list=f"/dev/fd/{reading}"))
    pipeline.build()
    assert int(pipeline.run()[1].as_array()[0, 0]) == 3
    writer.join()
    os.close(reading)
