"""The messages that Caffe and Caffe2 store, declared for the protobuf library."""

from __future__ import annotations

import functools
from typing import Any

from dali_lab.io.protobuf import Fields, message_classes

FLOAT, INT32, BYTE, STRING, INT64 = 1, 2, 3, 4, 10
"""Types of data in a ``TensorProto``."""

_CAFFE: dict[str, Fields] = {
    "Datum": {
        "channels": (1, "INT32", False, None),
        "height": (2, "INT32", False, None),
        "width": (3, "INT32", False, None),
        "data": (4, "BYTES", False, None),
        "label": (5, "INT32", False, None),
        "float_data": (6, "FLOAT", True, None),
        "encoded": (7, "BOOL", False, None),
    }
}

_CAFFE2: dict[str, Fields] = {
    "TensorProto": {
        "dims": (1, "INT64", True, None),
        "data_type": (2, "INT32", False, FLOAT),
        "float_data": (3, "FLOAT", True, None),
        "int32_data": (4, "INT32", True, None),
        "byte_data": (5, "BYTES", False, None),
        "string_data": (6, "BYTES", True, None),
        "int64_data": (10, "INT64", True, None),
    },
    "TensorProtos": {"protos": (1, "TensorProto", True, None)},
}


@functools.cache
def caffe_messages() -> Any:
    """``Datum``."""
    return message_classes("caffe", _CAFFE)


@functools.cache
def caffe2_messages() -> Any:
    """``TensorProto`` and ``TensorProtos``."""
    return message_classes("caffe2", _CAFFE2)
