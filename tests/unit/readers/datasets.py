"""Small datasets of pictures, arrays, sound and video, in the form of each reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dali_lab import fn, tfrecord
from dali_lab.schema import samples
from tests.unit.readers.records import datum, example, write, write_lmdb, write_recordio, write_tar


class Dataset(NamedTuple):
    """A dataset: the reader of it, as a function that takes more arguments and gives the first output."""

    read: Callable[..., Any]
    encoded: bool


def pictures(count: int) -> list[bytes]:
    """Pictures that all differ, as PNG files."""
    import cv2

    found = []
    for index in range(count):
        noise = np.random.default_rng(index).integers(0, 255, (12 + index % 3, 16, 3), np.uint8)
        found.append(cv2.imencode(".png", noise)[1].tobytes())
    return found


def file(folder: Path, contents: Sequence[bytes]) -> Dataset:
    for index, content in enumerate(contents):
        path = folder / "ab"[index % 2] / f"{index:04d}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return Dataset(lambda **more: fn.readers.file(file_root=str(folder), **more)[0], True)


def records(folder: Path, contents: Sequence[bytes]) -> Dataset:
    path, index = write(folder / "a.rec", [example({"image": [content]}) for content in contents])
    features = {"image": tfrecord.FixedLenFeature([], tfrecord.string, "")}
    return Dataset(
        lambda **more: fn.readers.tfrecord(path=path, index_path=index, features=features, **more)["image"], True
    )


def archive(folder: Path, contents: Sequence[bytes]) -> Dataset:
    entries = (((f"{i:04d}.png", content), (f"{i:04d}.cls", b"%d" % i)) for i, content in enumerate(contents))
    path = write_tar(folder / "a.tar", [entry for pair in entries for entry in pair])
    return Dataset(lambda **more: fn.readers.webdataset(paths=[path], ext=["png", "cls"], **more)[0], True)


def coco(folder: Path, contents: Sequence[bytes]) -> Dataset:
    names = [f"{index:04d}.png" for index in range(len(contents))]
    for name, content in zip(names, contents, strict=True):
        (folder / name).write_bytes(content)
    images = [{"id": i, "file_name": name, "width": 16, "height": 12} for i, name in enumerate(names)]
    boxes = [{"id": i, "image_id": i, "category_id": 1, "bbox": [1, 1, 4, 4], "iscrowd": 0} for i in range(len(names))]
    text = json.dumps({"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cup"}]})
    (folder / "all.json").write_text(text)
    arguments = {"file_root": str(folder), "annotations_file": str(folder / "all.json")}
    return Dataset(lambda **more: fn.readers.coco(**arguments, **more)[0], True)


def recordio(folder: Path, contents: Sequence[bytes]) -> Dataset:
    arguments = write_recordio(folder / "rec", [(content, float(index % 2)) for index, content in enumerate(contents)])
    return Dataset(lambda **more: fn.readers.mxnet(**arguments, **more)[0], True)


def lmdb(folder: Path, contents: Sequence[bytes]) -> Dataset:
    path = write_lmdb(
        folder / "db", [datum(data=content, label=i % 2, encoded=True) for i, content in enumerate(contents)]
    )
    return Dataset(lambda **more: fn.readers.caffe(path=path, **more)[0], True)


def arrays(folder: Path, contents: Sequence[bytes]) -> Dataset:
    for index, content in enumerate(contents):
        np.save(folder / f"{index:04d}.npy", np.frombuffer(content[:60], np.uint8))
    return Dataset(lambda **more: fn.readers.numpy(file_root=str(folder), file_filter="*.npy", **more), False)


def sounds(folder: Path, contents: Sequence[bytes]) -> Dataset:
    import soundfile

    lines = []
    for index, content in enumerate(contents):
        path = folder / f"{index:04d}.wav"
        soundfile.write(path, np.frombuffer(content[:400], np.uint8) / 256, 8000)
        lines.append(json.dumps({"audio_filepath": str(path), "text": str(index), "duration": 0.05}))
    (folder / "all.json").write_text("\n".join(lines))
    arguments = {"manifest_filepaths": str(folder / "all.json"), "read_sample_rate": False, "read_text": False}
    return Dataset(lambda **more: fn.readers.nemo_asr(**arguments, **more), False)


def videos(folder: Path, contents: Sequence[bytes]) -> Dataset:
    names = []
    for index in range(-(-len(contents) // 4)):
        names.append(str(folder / f"{index:04d}.webm"))
        samples.video(codec="libvpx", container="webm", count=8, seed=index).tofile(names[-1])
    return Dataset(lambda **more: fn.experimental.readers.video(filenames=names, sequence_length=2, **more), False)


def frames(folder: Path, contents: Sequence[bytes]) -> Dataset:
    (folder / "stream").mkdir()
    for index, content in enumerate(contents):
        (folder / "stream" / f"{index:04d}.png").write_bytes(content)
    return Dataset(lambda **more: fn.readers.sequence(file_root=str(folder), sequence_length=1, **more), False)


ALL: dict[str, Callable[[Path, Sequence[bytes]], Dataset]] = {
    "file": file,
    "tfrecord": records,
    "webdataset": archive,
    "coco": coco,
    "mxnet": recordio,
    "caffe": lmdb,
    "numpy": arrays,
    "nemo_asr": sounds,
    "video": videos,
    "sequence": frames,
}
