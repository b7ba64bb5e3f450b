"""Shards of a packed dataset: tar archives or TFRecord files with their indexes, whole or not there."""

from __future__ import annotations

import contextlib
import functools
import os
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from dali_lab.io.protobuf import message_classes
from dali_lab.packing.components import Component

_BLOCK = 512
_ENDINGS = {"webdataset": "tar", "tfrecord": "tfrecord"}
FORMS = tuple(_ENDINGS)
"""Forms of shards."""


def shard_path(folder: Path, number: int, form: str) -> Path:
    """Path of a shard; its index has the ending ``.idx``."""
    return folder / f"shard-{number:06d}.{_ENDINGS[form]}"


class ShardWriter:
    """Writes one shard under another name, which :meth:`finish` changes once all of it is on the disk.

    Parameters
    ----------
    path
        Where the shard will be.
    form
        One of :data:`FORMS`.

    Attributes
    ----------
    samples
        Samples that were written.

    Raises
    ------
    OSError
        If it cannot be written.
    """

    def __init__(self, path: Path, form: str) -> None:
        self._path = path
        self._write = {"webdataset": self._add_files, "tfrecord": self._add_record}[form]
        self._part = path.with_name(f".{path.name}.part")
        self._file: IO[bytes] = open(self._part, "wb")  # noqa: SIM115  (closed by finish and drop)
        self._tar = form == "webdataset"
        self._index: list[str] = []
        self.samples = 0

    def add(self, number: int, contents: Mapping[Component, bytes]) -> None:
        """Add a sample: the content of each of its components."""
        self._write(number, contents)
        self.samples += 1

    def _add_files(self, number: int, contents: Mapping[Component, bytes]) -> None:
        words = []
        for component, content in contents.items():
            entry = tarfile.TarInfo(f"{number:09d}.{component.extension(content)}")
            entry.size, entry.mode = len(content), 0o644
            self._file.write(entry.tobuf(tarfile.USTAR_FORMAT))
            words += [component.extension(content), str(self._file.tell()), str(len(content)), entry.name]
            self._file.write(content)
            self._file.write(b"\0" * (-len(content) % _BLOCK))
        self._index.append(" ".join(words))

    def _add_record(self, number: int, contents: Mapping[Component, bytes]) -> None:
        from dali_lab.kernels.cpu.crc32c import masked_crc32c

        example = _example_class()()
        for component, content in contents.items():
            entry = example.features.feature.add(key=component.name)
            component.set_feature(entry.value, content)
        record = example.SerializeToString()
        length = struct.pack("<Q", len(record))
        start = self._file.tell()
        self._file.write(length + struct.pack("<I", masked_crc32c(length)) + record)
        self._file.write(struct.pack("<I", masked_crc32c(record)))
        self._index.append(f"{start} {self._file.tell() - start}")

    def finish(self) -> int:
        """Bring the shard and its index to the disk, and give it its name; its bytes."""
        if self._tar:
            self._file.write(b"\0" * (2 * _BLOCK))
        nbytes = self._file.tell()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        lines = [f"v1.2 {self.samples}", *self._index] if self._tar else self._index
        index = self._path.with_suffix(".idx")
        part = index.with_name(f".{index.name}.part")
        part.write_text("".join(f"{line}\n" for line in lines), newline="\n")
        os.replace(part, index)
        os.replace(self._part, self._path)
        return nbytes

    def drop(self) -> None:
        """Leave nothing behind of a shard that is not finished."""
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._part.unlink()


@functools.cache
def _example_class() -> Any:
    """TensorFlow's ``Example``; source: ``tensorflow/core/example/example.proto`` and ``feature.proto``."""
    return message_classes(
        "dali_lab_example",
        {
            "BytesList": {"value": (1, "BYTES", True, None)},
            "FloatList": {"value": (1, "FLOAT", True, None)},
            "Int64List": {"value": (1, "INT64", True, None)},
            "Feature": {
                "bytes_list": (1, "BytesList", False, None),
                "float_list": (2, "FloatList", False, None),
                "int64_list": (3, "Int64List", False, None),
            },
            "Entry": {"key": (1, "STRING", False, None), "value": (2, "Feature", False, None)},
            "Features": {"feature": (1, "Entry", True, None)},
            "Example": {"features": (1, "Features", False, None)},
        },
    ).Example
