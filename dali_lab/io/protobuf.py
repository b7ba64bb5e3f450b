"""Messages of protocol buffers, declared in Python tables and made by the protobuf library at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

Fields = Mapping[str, tuple[int, str, bool, Any]]


def message_classes(package: str, table: Mapping[str, Fields]) -> Any:
    """The message classes of a package, as attributes of one object.

    Parameters
    ----------
    package
        Name of the package; its syntax is proto2.
    table
        For each message its fields by name: number, type, whether it is repeated, and default or `None`. A type is
        one of protobuf's in capital letters, such as ``"INT32"``, or the name of another message of the table.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name=f"dali_lab/{package}.proto", package=package, syntax="proto2")
    for name, fields in table.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated, default) in fields.items():
            entry = message.field.add(name=field, number=number)
            entry.label = entry.LABEL_REPEATED if repeated else entry.LABEL_OPTIONAL
            if kind in table:
                entry.type, entry.type_name = entry.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                entry.type = getattr(entry, f"TYPE_{kind}")
            if default is not None:
                entry.default_value = str(default).lower() if kind == "BOOL" else str(default)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return SimpleNamespace(
        **{name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in table}
    )


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of fields."""


def fields(data: bytes) -> Iterator[tuple[int, int]]:
    """Number and wire type of each field of a message, in order; the library is not needed for it.

    Raises
    ------
    ValueError
        Where the bytes are no message, or end inside a field.
    """
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            place = _varint(data, place)[1]
        elif kind == BYTES:
            length, place = _varint(data, place)
            place += length
        elif kind in (FIXED64, FIXED32):
            place += 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"there is no wire type {kind}")
        if not number or place > len(data):
            raise ValueError("a field has no number, or ends too early")
        yield number, kind


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        value |= (data[place] & 127) << shift
        place += 1
        if data[place - 1] < 128:
            return value, place
    raise ValueError("a number ends too early, or is too long")
