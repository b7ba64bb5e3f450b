"""Files of records, as TensorFlow, MXNet, Caffe and archives have them."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, content: bytes) -> bytes:
    """A field of a length."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(values: Sequence[Any], packed: bool) -> bytes:
    """A ``Feature``, with numbers in one field or each in its own."""
    if values and isinstance(values[0], bytes):
        return field(1, b"".join(field(1, value) for value in values))
    if values and isinstance(values[0], float):
        numbers = [struct.pack("<f", value) for value in values]
        return field(2, field(1, b"".join(numbers)) if packed else b"".join(b"\x0d" + number for number in numbers))
    numbers = list(map(varint, values))
    return field(3, field(1, b"".join(numbers)) if packed else b"".join(b"\x08" + number for number in numbers))


def example(features: Mapping[str, Sequence[Any]], packed: bool = True) -> bytes:
    entries = [field(1, name.encode()) + field(2, feature(values, packed)) for name, values in features.items()]
    return field(1, b"".join(field(1, entry) for entry in entries))


def write(path: Path, examples: Sequence[bytes]) -> tuple[str, str]:
    """A file of records and its index."""
    index = []
    with open(path, "wb") as file:
        for content in examples:
            start = file.tell()
            file.write(struct.pack("<QI", len(content), 1) + content + struct.pack("<I", 2))
            index.append(f"{start} {file.tell() - start}\n")
    path.with_suffix(".idx").write_text("".join(index))
    return str(path), str(path.with_suffix(".idx"))


RECORDIO_MAGIC = struct.pack("<I", 0xCED7230A)
Item = tuple[bytes, float | Sequence[float]]


def recordio(picture: bytes, label: float | Sequence[float]) -> bytes:
    """A record as MXNet writes it: cut where the magic number stands in it at a multiple of four bytes."""
    if isinstance(label, Sequence):
        body = struct.pack("<IfQQ", len(label), 0, 1, 2) + struct.pack(f"<{len(label)}f", *label) + picture
    else:
        body = struct.pack("<IfQQ", 0, label, 1, 2) + picture
    cuts = [at for at in range(0, len(body) - 3, 4) if body[at : at + 4] == RECORDIO_MAGIC]
    parts = [body[start:end] for start, end in zip([0, *(at + 4 for at in cuts)], [*cuts, len(body)], strict=True)]
    out = b""
    for number, part in enumerate(parts):
        place = 0 if len(parts) == 1 else 1 if number == 0 else 3 if number == len(parts) - 1 else 2
        out += RECORDIO_MAGIC + struct.pack("<I", place << 29 | len(part)) + part + bytes(-len(part) % 4)
    return out


def write_recordio(folder: Path, items: Iterable[Item], files: int = 1) -> dict[str, Any]:
    """Files with these records and their index; the arguments to read them."""
    folder.mkdir()
    records = [recordio(*item) for item in items]
    starts = np.cumsum([0, *map(len, records)])
    lines = [f"{index}\t{start}\n" for index, start in enumerate(starts[:-1])]
    (folder / "all.idx").write_text("".join(reversed(lines)))
    paths = []
    for number in range(files):
        first, last = len(records) * number // files, len(records) * (number + 1) // files
        paths.append(str(folder / f"{number}.rec"))
        Path(paths[-1]).write_bytes(b"".join(records[first:last]))
    return {"path": paths, "index_path": str(folder / "all.idx")}


def write_lmdb(folder: Path, records: Sequence[bytes], keys: str = "{:08d}") -> str:
    """An LMDB file with these records, in a folder."""
    import lmdb

    folder.mkdir()
    with lmdb.open(str(folder), map_size=1 << 26) as file, file.begin(write=True) as transaction:
        for index, record in enumerate(records):
            transaction.put(keys.format(index).encode(), record)
    return str(folder)


def datum(**fields: Any) -> bytes:
    from dali_lab.operators.readers.lmdb.messages import caffe_messages

    return bytes(caffe_messages().Datum(**fields).SerializeToString())


def write_tar(path: Path, entries: Sequence[tuple[str, bytes | None]], form: int = tarfile.GNU_FORMAT) -> str:
    """An archive; entries without content are folders."""
    with tarfile.open(path, "w", format=form) as archive:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            if data is None:
                entry.type = tarfile.DIRTYPE
            entry.size = len(data or b"")
            archive.addfile(entry, io.BytesIO(data or b""))
    return str(path)
