"""Operators outside of pipelines: they are called on tensors and batches, and give tensors and batches.

>>> import dali_lab.dynamic as ndd
>>> pictures = ndd.imread(paths)
>>> small = ndd.resize(pictures, size=(224, 224))
>>> brighter = small * ndd.random.uniform(range=(0.8, 1.2), batch_size=small.batch_size)

Every operator of ``fn`` is there under the same name with the same arguments; readers are classes with
:meth:`~dali_lab.dynamic.reader.Reader.next_epoch`. Small calls run on the calling thread, large
batches on the executor that runs pipelines; in :attr:`EvalMode.deferred` calls wait until results are needed, and then
run as one graph.
"""

from __future__ import annotations

import sys
from typing import Any

from dali_lab.dynamic import (
    capture,
    checkpoint,
    functions,  # noqa: F401  (fills the namespace)
    math,
    random,
)
from dali_lab.dynamic.batch import Batch, as_batch, batch
from dali_lab.dynamic.dtypes import (
    DataType,
    DType,
    ImageType,
    InterpType,
    bfloat16,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    type_id,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dali_lab.dynamic.dtypes import bool_ as bool  # noqa: A004  (NVIDIA DALI's name)
from dali_lab.dynamic.external import ExternalSource
from dali_lab.dynamic.images import imread
from dali_lab.dynamic.modes import EvalContext, EvalMode, ThreadPool, get_num_threads, set_num_threads
from dali_lab.dynamic.namespace import namespace
from dali_lab.dynamic.places import Device, device
from dali_lab.dynamic.streams import (
    Stream,
    get_current_stream,
    get_default_stream,
    set_current_stream,
    set_default_stream,
    stream,
)
from dali_lab.dynamic.tensor import Tensor, as_tensor, tensor


def __getattr__(name: str) -> Any:
    return namespace.attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return namespace.names(sys.modules[__name__])


__all__ = [
    "Batch", "DType", "DataType", "Device", "EvalContext", "EvalMode", "ExternalSource", "ImageType", "InterpType",
    "Stream", "Tensor", "ThreadPool", "as_batch", "as_tensor", "batch", "bfloat16", "bool", "capture", "checkpoint",
    "device", "dtype", "float16", "float32", "float64", "get_current_stream", "get_default_stream", "get_num_threads",
    "imread", "int8", "int16", "int32", "int64", "math", "random", "readers", "set_current_stream",
    "set_default_stream", "set_num_threads", "stream", "tensor", "type_id", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
