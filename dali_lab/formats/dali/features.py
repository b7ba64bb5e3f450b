"""Features of records as NVIDIA DALI's serialized form writes them.

That form has no field for the rows of a feature of any length. They are in the one for shapes, which NVIDIA DALI reads
only where there is a shape; so it takes such a feature for a plain list, as it does with what it writes itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dali_lab.formats.dali.messages import messages
from dali_lab.model import features as tfrecord

KIND = "TFRecord"
_FIELDS = {
    tfrecord.int64: ("int64", "ints"),
    tfrecord.string: ("string", "strings"),
    tfrecord.float32: ("float", "floats"),
}


def write(name: str, features: Sequence[tfrecord.Feature]) -> Any:
    """An ``Argument`` message."""
    message = messages().Argument(name=name, type=KIND, is_vector=True)
    for index, feature in enumerate(features):
        element = message.extra_args.add(name=f"element {index}", type=KIND, is_vector=False)
        element.extra_args.add(name="type", type="int64", is_vector=False).ints.append(feature.type)
        element.extra_args.add(name="has_shape", type="bool", is_vector=False).bools.append(feature.fixed)
        shape = element.extra_args.add(name="shape", is_vector=False)
        if feature.shape:
            shape.type = "int64"
            shape.ints.extend(feature.shape)
        kind, field = _FIELDS[feature.type]
        default: Any = feature.default
        default = default.encode("utf-8", "surrogateescape") if isinstance(default, str) else default
        getattr(element.extra_args.add(name="default_value", type=kind, is_vector=False), field).append(default)
    return message


def read(message: Any) -> tuple[tfrecord.Feature, ...] | None:
    """The features of an ``Argument`` message, or `None` if it holds something else."""
    return tuple(map(_feature, message.extra_args)) if message.type == KIND and message.is_vector else None


def _feature(element: Any) -> tfrecord.Feature:
    parts = {part.name: part for part in element.extra_args}
    kind = parts["type"].ints[0]
    default = getattr(parts["default_value"], _FIELDS[kind][1])[0]
    if kind == tfrecord.string:
        default = default.decode("utf-8", "surrogateescape")
    elif kind == tfrecord.float32:
        default = shortest(default)
    fixed = parts["has_shape"].bools[0]
    return tfrecord.Feature(tuple(parts["shape"].ints), kind, default, fixed)


def shortest(value: float) -> float:
    """The shortest decimal that stands for the same 32-bit float: 0.1 for 0.10000000149011612."""
    with np.errstate(over="ignore"):
        return float(str(np.float32(value)))
