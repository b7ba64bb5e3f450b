"""NVIDIA DALI's serialized pipelines and checkpoints."""

from __future__ import annotations

from typing import Any

from dali_lab.formats.disk import PathLike
from dali_lab.formats.exported import left_out_of_dali
from dali_lab.formats.registry import Arguments, Format, register
from dali_lab.graph.graph import Graph
from dali_lab.io.protobuf import BYTES, VARINT, fields

_WIRE_TYPES = {number: BYTES if 5 <= number <= 7 else VARINT for number in range(1, 15)}
"""Wire types of a ``PipelineDef``'s fields."""
_OPERATORS = (5, 6)
"""Fields for its operators and external inputs."""


def detect(data: bytes, name: str) -> bool:
    """Whether these are the fields of a ``PipelineDef``, with an operator or an external input among them."""
    try:
        found = set(fields(data))
    except ValueError:
        return False
    return all(_WIRE_TYPES.get(number, kind) == kind for number, kind in found) and any(
        (number, BYTES) in found for number in _OPERATORS
    )


# Imported when they are called: they need the protobuf library.


def loads(data: bytes, name: str | None = None, arguments: Arguments | None = None, file: PathLike = "") -> Graph:
    """The graph of a serialized pipeline, with names for people."""
    from dali_lab.formats.dali import writer

    return writer.loads(data, friendly=True)


def dumps(graph: Graph, **options: Any) -> bytes:
    """A serialized pipeline."""
    from dali_lab.formats.dali import writer

    return writer.dumps(graph, **options)


_TITLE, _ENDINGS = "NVIDIA DALI's serialized pipeline", (".dali", ".pb", ".serialized")
register(Format("dali-serialized", _TITLE, _ENDINGS, dumps, loads, detect, left_out_of_dali, binary=True))
