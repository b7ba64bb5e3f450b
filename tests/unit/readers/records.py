"""Files of records of TensorFlow, written byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


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
