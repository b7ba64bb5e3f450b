"""Files that change while an epoch is read: cut short, replaced, taken away. None ends the process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import fn, tfrecord
from dali_lab.model.errors import SampleError
from dali_lab.operators.readers import large_files
from tests.files import held_files
from tests.unit.readers import records
from tests.unit.readers.records import datum, write_lmdb, write_recordio, write_tar
from tests.waiting import wait_until

COUNT = 40


def tfrecords(folder: Path) -> Any:
    path, index = records.write(folder / "a.rec", [records.example({"s": [b"%04d" % i * 500]}) for i in range(COUNT)])
    features = {"s": tfrecord.FixedLenFeature([], tfrecord.string, "")}
    return lambda: fn.readers.tfrecord(path=path, index_path=index, features=features)["s"]


def archive(folder: Path) -> Any:
    path = write_tar(folder / "a.tar", [(f"{i:04}.cls", b"%04d" % i * 500) for i in range(COUNT)])
    return lambda: fn.readers.webdataset(paths=path, ext="cls")


def recordio(folder: Path) -> Any:
    arguments = write_recordio(folder / "records", [(b"%04d" % i * 500, float(i)) for i in range(COUNT)])
    return lambda: fn.readers.mxnet(**arguments)[0]


def arrays(folder: Path) -> Any:
    for i in range(COUNT):
        np.save(folder / f"{i:04}.npy", np.frombuffer(b"%04d" % i * 500 * 64, np.uint8))
    return lambda: fn.readers.numpy(file_root=str(folder))


def lmdb(folder: Path) -> Any:
    pytest.importorskip("lmdb")
    path = write_lmdb(folder / "lmdb", [datum(data=b"%04d" % i * 500, label=i) for i in range(COUNT)])
    return lambda: fn.readers.caffe(path=path)[0]


KINDS = [tfrecords, archive, recordio, arrays, lmdb]


def pipeline_of(make: Callable[[], Any], batch_size: int = 4) -> dali_lab.Pipeline:
    pipeline = dali_lab.Pipeline(batch_size, 2, None, prefetch_queue_depth=1)
    with pipeline:
        pipeline.set_outputs(make())
    return pipeline


def first_bytes(pipeline: dali_lab.Pipeline) -> list[bytes]:
    return [np.array(sample)[:4].tobytes() for sample in pipeline.run()[0]]


def errors_of(pipeline: dali_lab.Pipeline, batches: int) -> list[SampleError]:
    """The errors of the next batches; every one is taken, whatever became of those before it."""
    errors = []
    for _ in range(batches):
        try:
            pipeline.run()
        except SampleError as error:
            errors.append(error)
    return errors


def the_large_file(folder: Path) -> Path:
    return max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_short_is_the_error_of_its_samples(tmp_path: Path, kind: Callable[[Path], Any]) -> None:
    make = kind(tmp_path)
    pipeline = pipeline_of(make)
    assert first_bytes(pipeline) == [b"0000", b"0001", b"0002", b"0003"]
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.stat().st_size > 20_000:
            os.truncate(path, 10_000)
    errors = errors_of(pipeline, COUNT // 4)
    assert len(errors) >= COUNT // 4 - 5
    # Arrays are named within their folder.
    assert all(str(error.source).startswith((str(tmp_path), "00")) for error in errors)


@pytest.mark.parametrize("kind", [tfrecords, archive, recordio, lmdb])
def test_a_replaced_file_is_read_as_it_was(tmp_path: Path, kind: Callable[[Path], Any]) -> None:
    if os.name != "posix":
        pytest.skip("open files cannot be replaced")
    pipeline = pipeline_of(kind(tmp_path))
    assert first_bytes(pipeline)[0] == b"0000"
    path = the_large_file(tmp_path)
    (tmp_path / "other").write_bytes(bytes(path.stat().st_size))
    os.replace(tmp_path / "other", path)
    for batch in range(1, 8):
        assert first_bytes(pipeline)[0] == b"%04d" % (4 * batch)


def test_a_replaced_file_is_an_error_when_it_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "_MOST_OPEN", 1)
    paths = [write_tar(tmp_path / f"{n}.tar", [(f"{i}.cls", b"%d%d" % (n, i)) for i in range(2)]) for n in range(3)]
    pipeline = pipeline_of(lambda: fn.readers.webdataset(paths=paths, ext="cls"))
    assert first_bytes(pipeline) == [b"00", b"01", b"10", b"11"]
    os.utime(paths[0], ns=(1, 1))
    errors = errors_of(pipeline, 6)
    assert len(errors) >= 2
    assert all("replaced or changed" in str(error) and str(error.source).startswith(paths[0]) for error in errors)


def test_more_files_than_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "_MOST_OPEN", 3)
    paths = [write_tar(tmp_path / f"{n}.tar", [("a.cls", b"%04d" % n)]) for n in range(10)]
    pipeline = pipeline_of(lambda: fn.readers.webdataset(paths=paths, ext="cls"), 10)
    for _ in range(3):
        assert first_bytes(pipeline) == [b"%04d" % n for n in range(10)]
        wait_until(lambda: len(held_files(tmp_path)) <= 3, "more files stay open")
