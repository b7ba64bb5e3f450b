"""The messages of NVIDIA DALI's serialized form, declared at run time for the protobuf library.

Field numbers and types are those of NVIDIA DALI 2.4 (package ``dali_proto``, proto2). Required fields are optional
here, so that files of older versions can be read; the writer always sets them. The field ``dali_lab`` is this
package's own: JSON for what the form has no field for, ignored by NVIDIA DALI.
"""

from __future__ import annotations

import functools
from typing import Any

from dali_lab.io.protobuf import message_classes

_INT32, _INT64, _FLOAT, _BOOL, _STRING, _BYTES = "INT32", "INT64", "FLOAT", "BOOL", "STRING", "BYTES"

# name: (number, type, repeated, default)
_MESSAGES: dict[str, dict[str, tuple[int, str, bool, Any]]] = {
    "Argument": {
        "name": (1, _STRING, False, None),
        "type": (2, _STRING, False, None),
        "floats": (3, _FLOAT, True, None),
        "ints": (4, _INT64, True, None),
        "strings": (5, _BYTES, True, None),
        "bools": (6, _BOOL, True, None),
        "extra_args": (7, "Argument", True, None),
        "is_vector": (8, _BOOL, False, False),
    },
    "InputOutput": {
        "name": (1, _STRING, False, None),
        "device": (2, _STRING, False, None),
        "is_argument_input": (3, _BOOL, False, False),
        "arg_name": (4, _STRING, False, None),
        "dtype": (5, _INT32, False, -1),
        "ndim": (6, _INT32, False, -1),
        "layout": (7, _STRING, False, ""),
    },
    "OpDef": {
        "name": (1, _STRING, False, None),
        "input": (2, "InputOutput", True, None),
        "output": (3, "InputOutput", True, None),
        "args": (4, "Argument", True, None),
        "inst_name": (5, _STRING, False, None),
        "logical_id": (6, _INT32, False, -1),
    },
    "PipelineDef": {
        "num_threads": (1, _INT64, False, 4),
        "batch_size": (2, _INT32, False, None),
        "unused_3": (3, _BOOL, False, True),
        "unused_4": (4, _BOOL, False, True),
        "op": (5, "OpDef", True, None),
        "external_inputs": (6, _STRING, True, None),
        "pipe_outputs": (7, "InputOutput", True, None),
        "device_id": (8, _INT32, False, 0),
        "seed": (9, _INT64, False, -1),
        "enable_checkpointing": (10, _BOOL, False, False),
        "executor_type": (11, _INT32, False, 0),
        "executor_flags": (12, _INT64, False, 0),
        "prefetch_queue_depth_cpu": (13, _INT32, False, 2),
        "prefetch_queue_depth_gpu": (14, _INT32, False, 2),
        "bytes_per_sample_hint": (15, _INT64, False, 0),
        "dali_lab": (15001, _BYTES, False, None),
    },
    "OpCheckpoint": {
        "operator_name": (1, _STRING, False, None),
        "operator_state": (2, _BYTES, False, None),
    },
    "ExternalContextCheckpoint": {
        "pipeline_data": (1, _BYTES, False, None),
        "iterator_data": (2, _BYTES, False, None),
    },
    "Checkpoint": {
        "cpts": (1, "OpCheckpoint", True, None),
        "external_ctx_cpt": (2, "ExternalContextCheckpoint", False, None),
        "dali_lab": (15001, _BYTES, False, None),
    },
    "LoaderState": {
        "rng": (1, _BYTES, False, None),
        "current_epoch": (2, _INT32, False, 0),
        "age": (3, _INT32, False, 0),
    },
    "ReaderState": {
        "loader_state": (1, "LoaderState", False, None),
    },
}


@functools.cache
def messages() -> Any:
    """The message classes by their names, such as ``PipelineDef`` and ``Checkpoint``."""
    return message_classes("dali_proto", _MESSAGES)
