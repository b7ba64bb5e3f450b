"""Messages of protocol buffers, declared in Python tables and made by the protobuf library at run time."""

from __future__ import annotations

from collections.abc import Mapping
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
